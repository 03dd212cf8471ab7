"""The CUDA kernels of one width as functions of tensors: which threads, how much shared memory, which arguments."""

from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from zerosnet.kernels.compile import Program, program
from zerosnet.kernels.interface import EPS, MAX_STEPS, MOMENTUM, Norm, NormGradient, Packed, Slope, State
from zerosnet.kernels.sizes import Sizes
from zerosnet.kernels.weight_gradients import WeightAdder

POINTWISE_THREADS = 256


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
        return self._floats(self.replicas * self.sizes.sums * 2 * self.channels)

    @cached_property
    def _counters(self) -> Tensor:
        return torch.zeros(self.replicas, dtype=torch.int32, device=self.device)

    @cached_property
    def _weight_adder(self) -> WeightAdder:
        return WeightAdder(self._floats(2, self.replicas * self.sizes.backward_blocks * self.sizes.weights))

    @cached_property
    def _packings(self) -> dict[tuple[int, ...], tuple[Tensor, Tensor, Tensor]]:
        return {}

    def compile(self) -> None:
        _ = self._program, self._sums, self._counters

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
            layouts = torch.empty(
                2, len(weights), self.replicas * self.sizes.weights, dtype=torch.bfloat16, device=self.device
            )
            self._packings[pointers] = (addresses, layouts[0], layouts[1])
        addresses, forward, backward = self._packings[pointers]
        grid = (-(-self.replicas * self.sizes.weights // (8 * POINTWISE_THREADS)), len(weights))
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
        sizes = self.sizes
        grid, shared = (sizes.forward_blocks, self.replicas), sizes.step_shared if history else sizes.inner_shared
        self._program.launch(name, grid, sizes.forward_threads, shared, arguments)

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
        sizes, wanted = self.sizes, int(weight_gradient is not None)
        parts = self._weight_adder.parts() if weight_gradient is not None else self._sums
        arguments = [*inputs, out, self._sums, self._counters, parts, *norm, self.batch, int(training), wanted]
        grid = (sizes.backward_blocks, self.replicas)
        self._program.launch(name, grid, sizes.backward_threads, sizes.backward_shared, arguments)
        if weight_gradient is not None:
            with self._weight_adder.sums():
                self.add_weight_parts(parts, weight_gradient)

    def add_weight_parts(self, parts: Tensor, weight_gradient: Tensor) -> None:
        arguments = [parts, weight_gradient, self.replicas, self.sizes.backward_blocks, *_strides(weight_gradient)]
        grid = (-(-self.replicas * self.sizes.weights // POINTWISE_THREADS), 1)
        self._program.launch("add_weight_parts", grid, POINTWISE_THREADS, 0, arguments)

    def beside(self, *keep: Tensor) -> AbstractContextManager[None]:
        return self._weight_adder.beside(*keep)

    def join(self) -> None:
        if "_weight_adder" in self.__dict__:  # made when it is first needed
            self._weight_adder.join()

    def state_gradient(
        self,
        slope: Slope | None,
        weights: Tensor,
        terms: tuple[Tensor, ...],
        even: Tensor | None,
        out: Tensor,
        dots_with: Tensor | None,
    ) -> Tensor | None:
        assert slope is None or dots_with is None or dots_with is slope.state, "the kernels read one state only"
        blocks = -(-8 * self.sizes.multiprocessors // self.replicas)
        name = ("history" if slope is None else "state") + "_gradient" + ("" if dots_with is None else "_dots")
        dots = weights if dots_with is None else self._floats(self.replicas, blocks, MAX_STEPS)
        gradient, y, table = slope if slope is not None else (out, out if dots_with is None else dots_with, weights)
        unused = [out] * (MAX_STEPS - len(terms))
        through = [out if even is None else even, int(even is not None)]
        arguments = [gradient, y, table, weights, *terms, *unused, *through, out, dots, self.batch]
        self._program.launch(f"{name}_{len(terms)}", (blocks, self.replicas), POINTWISE_THREADS, 0, arguments)
        return None if dots_with is None else dots.sum(1)

    # -- what surrounds the blocks -------------------------------------------------------------------------------------

    def statistics(self, x: Tensor, norm: Norm) -> None:
        self._edge("channel_statistics", [x, self._sums, self._counters, *norm, MOMENTUM, EPS, self.batch])

    def norm_backward(self, slope: Slope) -> Tensor:
        out = self.activation()
        self.state_gradient(slope, slope.table, (), None, out, None)
        return out

    def patches(self, x: Tensor, norm: Tensor) -> Tensor:
        half = self.width // 2
        out = x.new_empty(self.replicas, self.batch, half, half, 9 * self.channels)
        self._edge("activated_patches", [x, norm, out, self.batch])
        return out

    def gather_patches(self, columns: Tensor, x: Tensor, norm: NormGradient, training: bool) -> Tensor:
        out = self.activation()
        arguments = [columns, x, out, self._sums, self._counters, *norm, self.batch, int(training)]
        self._edge("gather_patches", arguments)
        return out

    def take_even(self, x: Tensor) -> Tensor:
        half = self.width // 2
        out = x.new_empty(self.replicas, self.batch, half, half, self.channels)
        self._edge("take_even", [x, out, self.batch])
        return out

    def pool(self, x: Tensor, norm: Tensor) -> Tensor:
        out = self._floats(self.replicas, self.batch, self.channels)
        self._edge("pool", [x, norm, out, self.batch], blocks=self.batch)
        return out

    def pool_backward(self, gradient: Tensor, x: Tensor, norm: NormGradient, training: bool) -> Tensor:
        out = self.activation()
        arguments = [gradient.contiguous(), x, out, self._sums, self._counters, *norm, self.batch, int(training)]
        self._edge("pool_backward", arguments)
        return out

    def stem(self, images: Tensor, weight: Tensor, following: Norm, training: bool) -> Tensor:
        out = self.activation()
        arguments: list[Any] = [images, weight, out, self._sums, self._counters, *following, MOMENTUM, EPS]
        arguments += [*self._image_layout(images), *_strides(weight), int(training)]
        self._edge("stem_forward", arguments)
        return out

    def stem_weight_gradient(self, images: Tensor, gradient: Tensor) -> Tensor:
        channels, blocks = images.shape[1] // self.replicas, self._edge_blocks
        parts = self._floats(self.replicas, blocks, 16, 32)
        arguments = [images, gradient, parts, *self._image_layout(images)]
        self._edge("stem_weight_gradient", arguments, shared=self.sizes.tile_bytes)
        return parts.sum(1)[..., : 9 * channels].reshape(-1, channels, 3, 3)

    def _image_layout(self, images: Tensor) -> tuple[int, ...]:
        return (self.batch, images.shape[1] // self.replicas, *images.stride())

    def _edge(self, name: str, arguments: list[Any], *, blocks: int | None = None, shared: int = 0) -> None:
        grid = (blocks or self._edge_blocks, self.replicas)
        self._program.launch(name, grid, POINTWISE_THREADS, shared, arguments)

    @property
    def _edge_blocks(self) -> int:
        """Four a multiprocessor, and no more than there are images: the sums of a block take a row of `_sums`."""
        return min(-(-4 * self.sizes.multiprocessors // self.replicas), self.batch)


def _strides(weight: Tensor) -> tuple[int, int]:
    """Distance of neighbouring input channels and of neighbouring taps of a weight, plain or channels_last."""
    outputs, inputs, row, tap = weight.stride()
    assert outputs == 9 * weight.shape[1] and row == 3 * tap
    return inputs, tap
