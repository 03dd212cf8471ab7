"""Launch the CUDA kernels of one width: threads, shared memory and arguments of each."""

from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from zerosnet.kernels.compile import Program, program
from zerosnet.kernels.interface import (
    EPS,
    MAX_STEPS,
    MOMENTUM,
    BackwardInner,
    BackwardOuter,
    ConvInner,
    ConvStep,
    Norm,
    NormGradient,
    Packed,
    Slope,
    State,
    StateGradient,
)
from zerosnet.kernels.sizes import Sizes
from zerosnet.kernels.weight_gradients import WeightAdder

POINTWISE_THREADS = 256


@dataclass(frozen=True)
class CudaKernels:
    """The `Kernels` of a CUDA device: activations in bf16, tables and gradients of parameters in float32."""

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
    def _unused(self) -> Tensor:
        """An argument that a kernel does not read."""
        return torch.empty(16, dtype=torch.int8, device=self.device)

    @cached_property
    def _counters(self) -> Tensor:
        return torch.zeros(self.replicas, dtype=torch.int32, device=self.device)

    @cached_property
    def _weight_adder(self) -> WeightAdder:
        parts = self.replicas * self.sizes.backward_blocks * self.sizes.weights
        return WeightAdder(self._floats(WeightAdder.BUFFERS, parts))

    @cached_property
    def _packings(self) -> dict[tuple[int, ...], tuple[Tensor, Tensor, Tensor]]:
        return {}

    def compile(self) -> None:
        _ = self._program, self._sums, self._counters, self._unused

    def _floats(self, *shape: int) -> Tensor:
        return torch.empty(shape, device=self.device)

    @property
    def _shape(self) -> tuple[int, ...]:
        return (self.replicas, self.batch, self.width, self.width, self.channels)

    @cached_property
    def _last(self) -> list[str]:
        return [""]

    def _launch(
        self, name: str, grid: tuple[int, int], threads: int, shared: int, args: list[Any], early: bool = True
    ) -> None:
        """Launch a kernel of the main work, early unless it follows a wait for other streams or the packing of weights.

        Kernels read weights before they wait for the kernel ahead of them.
        """
        early = early and self._last[0] not in ("join", "pack_weights")
        self._last[0] = name
        self._program.launch(name, grid, threads, shared, args, early=early)

    def activation(self) -> Tensor:
        return torch.empty(self._shape, dtype=torch.bfloat16, device=self.device)

    def low(self) -> Tensor:
        return torch.empty(self._shape, dtype=torch.int8, device=self.device)

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
        self._launch("pack_weights", grid, POINTWISE_THREADS, 0, arguments, early=False)
        return [Packed(*pair) for pair in zip(forward, backward)]

    def conv_inner(self, call: ConvInner) -> None:
        out = State(call.out, self._unused)
        step = ConvStep(call.x, call.norm, call.weights, call.norm, (), out, call.following, call.training)
        self._forward("conv_inner", step)

    def conv_step(self, call: ConvStep) -> None:
        self._forward(f"conv_step_{len(call.history)}", call)

    def _forward(self, name: str, call: ConvStep) -> None:
        unused = [call.out] * (MAX_STEPS - len(call.history))
        parts = [part for state in (*call.history, *unused) for part in state]
        arguments: list[Any] = [call.x, call.norm, call.weights.forward, call.coefficients, *parts, *call.out]
        arguments += [self._sums, self._counters, *call.following, MOMENTUM, EPS, self.batch, int(call.training)]
        sizes = self.sizes
        grid, shared = (sizes.forward_blocks, self.replicas), sizes.step_shared if call.history else sizes.inner_shared
        self._launch(name, grid, sizes.forward_threads, shared, arguments)

    def backward_inner(self, call: BackwardInner) -> None:
        inputs = [call.gradient, call.gradient, call.norm.norm, call.coefficients]
        self._backward("conv_backward_inner", inputs, call)

    def backward_outer(self, call: BackwardOuter) -> None:
        self._backward("conv_backward_outer", [*call.slope, call.slope.table], call)

    def _backward(self, name: str, inputs: list[Tensor], call: BackwardInner | BackwardOuter) -> None:
        sizes, wanted = self.sizes, int(call.weight_gradient is not None)
        parts, waits = self._weight_adder.parts() if call.weight_gradient is not None else (self._sums, False)
        arguments: list[Any] = [*inputs, call.x, call.weights.backward, call.out, self._sums, self._counters, parts]
        arguments += [*call.norm, self.batch, int(call.training), wanted]
        grid = (sizes.backward_blocks, self.replicas)
        self._launch(name, grid, sizes.backward_threads, sizes.backward_shared, arguments, early=not waits)
        if call.weight_gradient is not None:
            with self._weight_adder.sums():
                self.add_weight_parts(parts, call.weight_gradient)

    def add_weight_parts(self, parts: Tensor, weight_gradient: Tensor) -> None:
        arguments = [parts, weight_gradient, self.replicas, self.sizes.backward_blocks, *_strides(weight_gradient)]
        grid = (-(-self.replicas * self.sizes.weights // POINTWISE_THREADS), 1)
        self._program.launch("add_weight_parts", grid, POINTWISE_THREADS, 0, arguments)

    def beside(self, *keep: Tensor) -> AbstractContextManager[None]:
        return self._weight_adder.beside(*keep)

    def join(self) -> None:
        if "_weight_adder" in self.__dict__:  # made when it is first needed
            self._weight_adder.join()
            self._last[0] = "join"

    def state_gradient(self, call: StateGradient) -> Tensor | None:
        slope, weights, terms, out, even, dots_with = call
        assert slope is None or dots_with is None or dots_with is slope.state, "the kernels read one state only"
        blocks = self._pointwise_blocks
        name = ("history" if slope is None else "state") + "_gradient" + ("" if dots_with is None else "_dots")
        dots = weights if dots_with is None else self._floats(self.replicas, blocks, MAX_STEPS)
        gradient, y, table = slope if slope is not None else (out, out if dots_with is None else dots_with, weights)
        unused = [out] * (MAX_STEPS - len(terms))
        through = [out if even is None else even, int(even is not None)]
        arguments = [gradient, y, table, weights, *terms, *unused, *through, out, dots, self.batch]
        grid = (blocks, self.replicas)
        self._launch(f"{name}_{len(terms)}", grid, POINTWISE_THREADS, 0, arguments)
        return None if dots_with is None else dots.sum(1)

    # -- stem, stage changes, head -------------------------------------------------------------------------------------

    def statistics(self, x: Tensor, norm: Norm) -> None:
        self._edge("channel_statistics", [x, self._sums, self._counters, *norm, MOMENTUM, EPS, self.batch])

    def norm_backward(self, slope: Slope) -> Tensor:
        out = self.activation()
        self.state_gradient(StateGradient(slope, slope.table, (), out))
        return out

    def patches(self, x: Tensor, norm: Tensor) -> Tensor:
        half = self.width // 2
        out = x.new_empty(self.replicas, self.batch, half, half, 9 * self.channels)
        self._edge("activated_patches", [x, norm, out, self.batch], blocks=self._pointwise_blocks)
        return out

    def gather_patches(self, columns: Tensor, x: Tensor, norm: NormGradient, training: bool) -> Tensor:
        out = self.activation()
        arguments = [columns, x, out, self._sums, self._counters, *norm, self.batch, int(training)]
        self._edge("gather_patches", arguments)
        return out

    def take_even(self, x: Tensor) -> Tensor:
        half = self.width // 2
        out = x.new_empty(self.replicas, self.batch, half, half, self.channels)
        self._edge("take_even", [x, out, self.batch], blocks=self._pointwise_blocks)
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
        arguments += [*self._image_layout(images, weight.shape[1]), *_strides(weight), int(training)]
        self._edge("stem_forward", arguments)
        return out

    def stem_weight_gradient(self, images: Tensor, gradient: Tensor) -> Tensor:
        channels, blocks = images.shape[1] // self.replicas, self._edge_blocks
        parts = self._floats(self.replicas, blocks, 16, 32)
        arguments = [images, gradient, parts, *self._image_layout(images, channels)]
        self._edge("stem_weight_gradient", arguments, shared=self.sizes.tile_bytes)
        return parts.sum(1)[..., : 9 * channels].reshape(-1, channels, 3, 3)

    def _image_layout(self, images: Tensor, channels: int) -> tuple[int, ...]:
        picture, plane, row, column = images.stride()
        replica = 0 if images.shape[1] == channels else channels * plane
        return (self.batch, channels, picture, replica, plane, row, column)

    def _edge(self, name: str, arguments: list[Any], *, blocks: int | None = None, shared: int = 0) -> None:
        grid = (blocks or self._edge_blocks, self.replicas)
        self._launch(name, grid, POINTWISE_THREADS, shared, arguments)

    @property
    def _pointwise_blocks(self) -> int:
        """Eight blocks per multiprocessor, as many threads as it holds."""
        return -(-8 * self.sizes.multiprocessors // self.replicas)

    @property
    def _edge_blocks(self) -> int:
        """Four blocks per multiprocessor, and no more than there are images: each takes a row of `_sums`."""
        return min(-(-4 * self.sizes.multiprocessors // self.replicas), self.batch)


def _strides(weight: Tensor) -> tuple[int, int]:
    """Distance of neighbouring input channels and of neighbouring taps of a weight, plain or channels_last."""
    outputs, inputs, row, tap = weight.stride()
    assert outputs == 9 * weight.shape[1] and row == 3 * tap
    return inputs, tap
