"""A plain model of the kernels in torch, on any device and in any precision.

Tests compare the CUDA kernels with it. On a machine without a GPU it stands in for them in all other tests.
"""

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from zerosnet.kernels import patches as px
from zerosnet.kernels.interface import (
    EPS,
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
from zerosnet.kernels.patches import planes


@dataclass(frozen=True)
class ReferenceKernels:
    """The `Kernels` of any device; weights are not packed, and the low part of a state is what rounding took away."""

    channels: int
    width: int
    replicas: int
    batch: int
    device: torch.device
    dtype: torch.dtype = torch.float64

    def compile(self) -> None:
        """There is nothing to compile."""

    def activation(self) -> Tensor:
        shape = (self.replicas, self.batch, self.width, self.width, self.channels)
        return torch.empty(shape, dtype=self.dtype, device=self.device)

    def low(self) -> Tensor:
        return self.activation()

    def table(self) -> Tensor:
        return torch.empty(self.replicas, 4, self.channels, dtype=self.dtype, device=self.device)

    def pack(self, weights: list[Tensor]) -> list[Packed]:
        return [Packed(weight, weight) for weight in weights]

    def conv_inner(self, call: ConvInner) -> None:
        call.out.copy_(self._convolve(activate(call.x, call.norm), call.weights.forward))
        if call.training:
            fill_table(call.following, call.out)

    def conv_step(self, call: ConvStep) -> None:
        y = per_replica(call.coefficients[:, 4]) * self._convolve(activate(call.x, call.norm), call.weights.forward)
        for i, state in enumerate(call.history):
            y = y + per_replica(call.coefficients[:, i]) * state.value
        call.out.high.copy_(y)
        call.out.low.copy_(y - call.out.high)
        if call.training:
            fill_table(call.following, call.out.high)

    def backward_inner(self, call: BackwardInner) -> None:
        self._backward(per_replica(call.coefficients[:, 4]) * call.gradient, call)

    def backward_outer(self, call: BackwardOuter) -> None:
        self._backward(norm_backward(call.slope), call)

    def state_gradient(self, call: StateGradient) -> Tensor | None:
        slope, weights, terms, out, even, dots_with = call
        assert slope is None or dots_with is None or dots_with is slope.state, "the kernels read one state only"
        total = torch.zeros_like(out) if slope is None else norm_backward(slope)
        for i, term in enumerate(terms):
            total = total + per_replica(weights[:, i]) * term
        if even is not None:
            total[:, :, ::2, ::2] += even
        out.copy_(total)
        if dots_with is None:
            return None
        dots = [(dots_with * term).sum((1, 2, 3, 4)) for term in terms]
        return torch.stack([*dots, *[weights.new_zeros(self.replicas)] * (4 - len(dots))], 1)

    def beside(self, *keep: Tensor) -> AbstractContextManager[None]:
        return nullcontext()

    def join(self) -> None:
        """Nothing runs beside the main work here."""

    def statistics(self, x: Tensor, norm: Norm) -> None:
        fill_table(norm, x)

    def norm_backward(self, slope: Slope) -> Tensor:
        return norm_backward(slope)

    def patches(self, x: Tensor, norm: Tensor) -> Tensor:
        return px.patches(activate(x, norm), 2)

    def gather_patches(self, columns: Tensor, x: Tensor, norm: NormGradient, training: bool) -> Tensor:
        return self._masked(px.fold_patches(columns, stride=2), x, norm, training)

    def take_even(self, x: Tensor) -> Tensor:
        return x[:, :, ::2, ::2].contiguous()

    def pool(self, x: Tensor, norm: Tensor) -> Tensor:
        return activate(x, norm).mean((2, 3))

    def pool_backward(self, gradient: Tensor, x: Tensor, norm: NormGradient, training: bool) -> Tensor:
        return self._masked(gradient[:, :, None, None] / self.width**2, x, norm, training)

    def stem(self, images: Tensor, weight: Tensor, following: Norm, training: bool) -> Tensor:
        images = images if images.shape[1] > weight.shape[1] else images.repeat(1, self.replicas, 1, 1)
        result = replica_major(F.conv2d(images, weight, padding=1, groups=self.replicas), self.replicas).contiguous()
        if training:
            fill_table(following, result)
        return result

    def stem_weight_gradient(self, images: Tensor, gradient: Tensor) -> Tensor:
        x = px.patches(images.unflatten(1, (self.replicas, -1)).permute(1, 0, 3, 4, 2), 1)
        return px.from_patch_matrix(px.outer_sum(x, gradient))

    def _masked(self, gradient: Tensor, x: Tensor, norm: NormGradient, training: bool) -> Tensor:
        dzhat = torch.where(activate(x, norm.norm) > 0, gradient, 0)
        fill_gradient_table(norm, dzhat, x, training)
        return dzhat

    def _convolve(self, x: Tensor, weight: Tensor) -> Tensor:
        return replica_major(F.conv2d(planes(x), weight.to(x.dtype), padding=1, groups=self.replicas), self.replicas)

    def _backward(self, gradient: Tensor, call: BackwardInner | BackwardOuter) -> None:
        x = call.x
        activated = planes(activate(x, call.norm.norm)).requires_grad_()
        weight = call.weights.backward.detach().to(x.dtype).requires_grad_()
        with torch.enable_grad():
            result = F.conv2d(activated, weight, padding=1, groups=self.replicas)
        da, dw = torch.autograd.grad(result, (activated, weight), planes(gradient))
        call.out.copy_(replica_major(torch.where(activated > 0, da, 0), self.replicas))
        if call.weight_gradient is not None:
            call.weight_gradient.copy_(dw)
        fill_gradient_table(call.norm, call.out, x, call.training)


def activate(x: Tensor, table: Tensor) -> Tensor:
    """relu(bn(x)) by a forward table."""
    scale, shift = (table[:, i, None, None, None] for i in (0, 1))
    return torch.addcmul(shift, x.to(table.dtype), scale).relu().to(x.dtype)


def norm_backward(slope: Slope) -> Tensor:
    """Batch norm's backward by a gradient table."""
    gain, rate, centre, offset = (slope.table[:, i, None, None, None] for i in range(4))
    return gain * slope.gradient + rate * (slope.state - centre) + offset


def fill_table(norm: Norm, x: Tensor) -> None:
    """Batch statistics of x (K, B, H, W, C) into the table and the running statistics."""
    var, mean = torch.var_mean(x.to(norm.table.dtype), (1, 2, 3), correction=0)
    count = x[0, ..., 0].numel()
    norm.running_mean.lerp_(mean.flatten().to(norm.running_mean.dtype), MOMENTUM)
    norm.running_var.lerp_((var * count / max(count - 1, 1)).flatten().to(norm.running_var.dtype), MOMENTUM)
    norm.write(mean, (var + EPS).rsqrt())


def fill_gradient_table(norm: NormGradient, dzhat: Tensor, z: Tensor, training: bool) -> None:
    """Gradients of a batch norm's parameters, and the table of its backward."""
    dtype = norm.table.dtype
    mean, rstd = norm.norm[:, 2], norm.norm[:, 3]
    total = dzhat.sum((1, 2, 3), dtype=dtype)
    xhat = (z.to(dtype) - mean[:, None, None, None]) * rstd[:, None, None, None]
    projection = (dzhat.to(dtype) * xhat).sum((1, 2, 3))
    norm.bias.copy_(total.flatten())
    norm.weight.copy_(projection.flatten())
    count, scale = z[0, ..., 0].numel(), norm.norm[:, 0]
    learns = float(training)
    rows = (scale, -learns * scale * rstd * projection / count, mean, -learns * scale * total / count)
    torch.stack(rows, 1, out=norm.table)


def per_replica(values: Tensor) -> Tensor:
    return values[:, None, None, None, None]


def replica_major(x: Tensor, replicas: int) -> Tensor:
    """Undo `planes`: (B, K C, H, W) to (K, B, H, W, C)."""
    return x.unflatten(1, (replicas, -1)).permute(1, 0, 3, 4, 2)


def split(y: Tensor) -> State:
    """Round a float32 tensor to the 24 bits that the CUDA kernels keep of a state."""
    high = y.bfloat16()
    rest = y.view(torch.int32) - (high.view(torch.int16).int() << 16) + 0x80
    return State(high, (rest.clamp(max=0x7FFF) >> 8).to(torch.int8))
