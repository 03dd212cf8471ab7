"""The CUDA kernels of one width as functions of tensors: which threads, how much shared memory, which arguments."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from zerosnet.kernels.compile import Program, program
from zerosnet.kernels.values import EPS, MAX_STEPS, MOMENTUM, Norm, NormGradient, Packed, Slope, State

FORWARD_THREADS = 128
POINTWISE_THREADS = 256


@dataclass(frozen=True)
class Sizes:
    """How a width is laid out on a chip; see the comments of `source/`."""

    channels: int
    width: int
    replicas: int
    batch: int
    multiprocessors: int

    @property
    def tile_bytes(self) -> int:
        """One image with its halo of zeros in shared memory; rows are 8 pixels longer than the image's."""
        return (self.width + 2) * (self.width + 8) * self.channels * 2

    @property
    def weights(self) -> int:
        """Numbers of a 3x3 weight of one replica."""
        return 9 * self.channels**2

    @property
    def forward_shared(self) -> int:
        return self.tile_bytes + 2 * self.weights

    @property
    def backward_shared(self) -> int:
        return 2 * self.tile_bytes + 2 * self.weights

    @property
    def backward_threads(self) -> int:
        return 512 if self.channels == 64 else 256

    @property
    def forward_blocks(self) -> int:
        """Thread blocks a replica: one an image; where weights are many a block stays for several images."""
        resident = 2 if self.channels == 64 else 4
        return self.batch if self.channels == 16 else self._spread(resident)

    @property
    def backward_blocks(self) -> int:
        """Few and long-lived, since each of them stores a weight gradient of its own."""
        return self._spread(1 if self.channels == 64 else 2)

    def _spread(self, resident: int) -> int:
        """As many blocks as the chip holds, with the images shared out evenly."""
        most = max(resident * self.multiprocessors // self.replicas, 1)
        rounds = -(-self.batch // most)
        return -(-self.batch // rounds)


@dataclass(frozen=True)
class CudaKernels:
    """See `values.Kernels`: activations in bf16, tables and gradients of parameters in float32."""

    channels: int
    width: int
    replicas: int
    batch: int
    device: torch.device

    @cached_property
    def sizes(self) -> Sizes:
        multiprocessors = torch.cuda.get_device_properties(self.device).multi_processor_count
        return Sizes(self.channels, self.width, self.replicas, self.batch, multiprocessors)

    @cached_property
    def _program(self) -> Program:
        return program(self.channels, self.width, self.device.index or 0)

    @cached_property
    def _sums(self) -> Tensor:
        return self._floats(self.replicas * self.batch * 2 * self.channels)

    @cached_property
    def _counters(self) -> Tensor:
        return torch.zeros(self.replicas, dtype=torch.int32, device=self.device)

    @cached_property
    def _weight_parts(self) -> Tensor:
        return self._floats(self.replicas * self.sizes.backward_blocks * self.sizes.weights)

    @cached_property
    def _packings(self) -> dict[tuple[int, ...], tuple[Tensor, Tensor, Tensor]]:
        return {}

    def _floats(self, *shape: int) -> Tensor:
        return torch.empty(shape, device=self.device)

    def activation(self) -> Tensor:
        shape = (self.replicas, self.batch, self.width, self.width, self.channels)
        return torch.empty(shape, dtype=torch.bfloat16, device=self.device)

    def table(self) -> Tensor:
        return self._floats(self.replicas, 4, self.channels)

    def pack(self, weights: list[Tensor]) -> list[Packed]:
        if not weights:
            return []
        pointers = tuple(weight.data_ptr() for weight in weights)
        if pointers not in self._packings:
            addresses = torch.tensor(pointers, dtype=torch.int64).to(self.device)
            shape = (len(weights), self.replicas * self.sizes.weights)
            layouts = (torch.empty(shape, dtype=torch.bfloat16, device=self.device) for _ in range(2))
            self._packings[pointers] = (addresses, *layouts)
        addresses, forward, backward = self._packings[pointers]
        grid = (self._weight_grid, len(weights))
        arguments = [addresses, forward, backward, self.replicas, *_strides(weights[0])]
        self._program.launch("pack_weights", grid, POINTWISE_THREADS, 0, arguments)
        return [Packed(*pair) for pair in zip(forward, backward)]

    def conv_inner(
        self, x: Tensor, norm: Tensor, weights: Packed, out: Tensor, following: Norm, training: bool
    ) -> None:
        self._forward("conv_inner", x, norm, weights, norm, (), State(out, out), following, training)

    def conv_step(
        self,
        x: Tensor,
        norm: Tensor,
        weights: Packed,
        coefficients: Tensor,
        history: tuple[State, ...],
        out: State,
        following: Norm,
        training: bool,
    ) -> None:
        name = f"conv_step_{len(history)}"
        self._forward(name, x, norm, weights, coefficients, history, out, following, training)

    def _forward(
        self,
        name: str,
        x: Tensor,
        norm: Tensor,
        weights: Packed,
        coefficients: Tensor,
        history: tuple[State, ...],
        out: State,
        following: Norm,
        training: bool,
    ) -> None:
        unused = [out] * (MAX_STEPS - len(history))
        halves = [half for state in (*history, *unused) for half in state]
        arguments: list[Any] = [x, norm, weights.forward, coefficients, *halves, *out, self._sums, self._counters]
        arguments += [*following, MOMENTUM, EPS, self.batch, int(training)]
        grid = (self.sizes.forward_blocks, self.replicas)
        self._program.launch(name, grid, FORWARD_THREADS, self.sizes.forward_shared, arguments)

    def backward_inner(
        self,
        gradient: Tensor,
        coefficients: Tensor,
        x: Tensor,
        weights: Packed,
        out: Tensor,
        norm: NormGradient,
        weight_gradient: Tensor | None,
        training: bool,
    ) -> None:
        inputs = [gradient, gradient, norm.norm, coefficients, x, weights.backward]
        self._backward("conv_backward_inner", inputs, out, norm, weight_gradient, training)

    def backward_outer(
        self,
        slope: Slope,
        x: Tensor,
        weights: Packed,
        out: Tensor,
        norm: NormGradient,
        weight_gradient: Tensor | None,
        training: bool,
    ) -> None:
        inputs = [*slope, slope.table, x, weights.backward]
        self._backward("conv_backward_outer", inputs, out, norm, weight_gradient, training)

    def _backward(
        self,
        name: str,
        inputs: list[Tensor],
        out: Tensor,
        norm: NormGradient,
        weight_gradient: Tensor | None,
        training: bool,
    ) -> None:
        sizes, parts = self.sizes, self._weight_parts
        wanted = int(weight_gradient is not None)
        arguments = [*inputs, out, self._sums, self._counters, parts, *norm, self.batch, int(training), wanted]
        grid = (sizes.backward_blocks, self.replicas)
        self._program.launch(name, grid, sizes.backward_threads, sizes.backward_shared, arguments)
        if weight_gradient is not None:
            arguments = [parts, weight_gradient, self.replicas, sizes.backward_blocks, *_strides(weight_gradient)]
            self._program.launch("add_weight_parts", (self._weight_grid, 1), POINTWISE_THREADS, 0, arguments)

    def state_gradient(
        self, slope: Slope | None, weights: Tensor, terms: tuple[Tensor, ...], out: Tensor, dots_with: Tensor | None
    ) -> Tensor | None:
        blocks = -(-8 * self.sizes.multiprocessors // self.replicas)
        name = ("history" if slope is None else "state") + "_gradient" + ("" if dots_with is None else "_dots")
        dots = weights if dots_with is None else self._floats(self.replicas, blocks, MAX_STEPS)
        gradient, y, table = slope if slope is not None else (out, out if dots_with is None else dots_with, weights)
        unused = [out] * (MAX_STEPS - len(terms))
        arguments = [gradient, y, table, weights, *terms, *unused, out, dots, self.batch]
        self._program.launch(f"{name}_{len(terms)}", (blocks, self.replicas), POINTWISE_THREADS, 0, arguments)
        return None if dots_with is None else dots.sum(1)

    @property
    def _weight_grid(self) -> int:
        return -(-self.replicas * self.sizes.weights // POINTWISE_THREADS)


def _strides(weight: Tensor) -> tuple[int, int]:
    """Distance of neighbouring input channels and of neighbouring taps of a weight, plain or channels_last."""
    outputs, inputs, row, tap = weight.stride()
    assert outputs == 9 * weight.shape[1] and row == 3 * tap
    return inputs, tap
