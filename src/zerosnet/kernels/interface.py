"""The interface of the kernels of one width: batch norms as tables per channel, and the arguments of each call."""

from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

MOMENTUM, EPS = 0.1, 1e-5


class Norm(NamedTuple):
    """A batch norm, and the (K, 4, C) table that kernels read: BN(z) = table[0] z + table[1], mean, 1 / deviation."""

    weight: Tensor
    bias: Tensor
    running_mean: Tensor
    running_var: Tensor
    table: Tensor

    def write(self, mean: Tensor, rstd: Tensor) -> None:
        """Fill the table from a mean and a reciprocal deviation, (K, C) each."""
        scale = self.weight.detach().view(mean.shape) * rstd
        rows = (scale, self.bias.detach().view(mean.shape) - mean * scale, mean, rstd)
        torch.stack([row.to(self.table.dtype) for row in rows], 1, out=self.table)

    def write_running(self) -> None:
        """Fill the table from the running statistics, as evaluation needs it."""
        shape = (self.table.shape[0], self.table.shape[2])
        self.write(self.running_mean.view(shape), (self.running_var.view(shape) + EPS).rsqrt())


class NormGradient(NamedTuple):
    """The backward pass of a batch norm: its forward table, places for its gradients, and the table it fills.

    The table (K, 4, C) means dz = table[0] dzhat + table[1] (z - table[2]) + table[3].
    """

    norm: Tensor
    weight: Tensor
    bias: Tensor
    table: Tensor


class Slope(NamedTuple):
    """The gradient that reaches a state through the branch f: batch norm's backward of dyhat at y."""

    gradient: Tensor
    state: Tensor
    table: Tensor


MAX_STEPS = 4


class State(NamedTuple):
    """A state y: `high` is y rounded, all that convolutions and statistics see, and `low` the rest.

    The CUDA kernels keep 24 bits: `high` in bf16 and `low` in int8, 256ths of the distance to the next bf16 number.
    """

    high: Tensor
    low: Tensor

    @property
    def value(self) -> Tensor:
        """The state as one tensor, in float32 if it has 24 bits."""
        if self.low.dtype != torch.int8:
            return self.high + self.low
        bits = (self.high.view(torch.int16).int() << 16) + (self.low.int() << 8)
        return bits.view(torch.float32)


class Packed(NamedTuple):
    """The weights of a 3x3 convolution in the layouts of the forward and the backward kernels."""

    forward: Tensor
    backward: Tensor


class ConvInner(NamedTuple):
    """Arguments of `Kernels.conv_inner`."""

    x: Tensor
    norm: Tensor
    weights: Packed
    out: Tensor
    following: Norm
    training: bool


class ConvStep(NamedTuple):
    """Arguments of `Kernels.conv_step`."""

    x: Tensor
    norm: Tensor
    weights: Packed
    coefficients: Tensor
    history: tuple[State, ...]
    out: State
    following: Norm
    training: bool


class BackwardInner(NamedTuple):
    """Arguments of `Kernels.backward_inner`; without a place for the weight gradient it is not computed."""

    gradient: Tensor
    coefficients: Tensor
    x: Tensor
    weights: Packed
    out: Tensor
    norm: NormGradient
    weight_gradient: Tensor | None
    training: bool


class BackwardOuter(NamedTuple):
    """Arguments of `Kernels.backward_outer`; without a place for the weight gradient it is not computed."""

    slope: Slope
    x: Tensor
    weights: Packed
    out: Tensor
    norm: NormGradient
    weight_gradient: Tensor | None
    training: bool


class StateGradient(NamedTuple):
    """Arguments of `Kernels.state_gradient`."""

    slope: Slope | None
    weights: Tensor
    """(K, 4), one column per term."""
    terms: tuple[Tensor, ...]
    out: Tensor
    even: Tensor | None = None
    """(K, B, W/2, W/2, C), added at every second pixel: the gradient that came through a projection."""
    dots_with: Tensor | None = None
    """A state (the slope's, if there is a slope) whose inner products with every term are wanted."""


class Kernels(Protocol):
    """The kernels of one width: C channels on W x W pixels, K replicas, batch B.

    Activations are (K, B, W, W, C), coefficients (K, 5): up to four alphas, then beta.
    """

    @property
    def channels(self) -> int: ...

    @property
    def width(self) -> int: ...

    def compile(self) -> None:
        """Make sure that the kernels can be launched.

        Raises:
            KernelsUnavailable: They cannot be compiled or loaded here.
        """

    def activation(self) -> Tensor: ...

    def low(self) -> Tensor:
        """Make room for the low part of a state."""

    def table(self) -> Tensor: ...

    def pack(self, weights: list[Tensor]) -> list[Packed]:
        """Copy float weights (K C, C, 3, 3), which must keep their addresses, into the kernels' layout."""

    def conv_inner(self, call: ConvInner) -> None:
        """Compute out = conv(relu(bn(x))); in training also fill the table of the batch norm that follows."""

    def conv_step(self, call: ConvStep) -> None:
        """Compute out = sum_i alpha_i history[i] + beta conv(relu(bn(x))); in training also the next norm's table."""

    def backward_inner(self, call: BackwardInner) -> None:
        """Go back through f's second convolution and the batch norm before it; beta * gradient is what enters.

        out = dzhat, the gradient behind the ReLU.
        """

    def backward_outer(self, call: BackwardOuter) -> None:
        """Go back through f's first convolution; batch norm's backward of `slope` is the gradient of its output."""

    def state_gradient(self, call: StateGradient) -> Tensor | None:
        """Compute out = bn_backward(slope) + sum_i weights[:, i] terms[i], the adjoint of the multistep sum.

        Returns:
            The inner products (K, 4) that `dots_with` asks for, or None.
        """

    def beside(self, *keep: Tensor) -> AbstractContextManager[None]:
        """Run weight gradients, which nothing waits for, beside the main work; `keep` is held until `join`."""

    def join(self) -> None:
        """Wait, on the device, for the work beside the main work."""

    # -- stem, stage changes, head -------------------------------------------------------------------------------------

    def statistics(self, x: Tensor, norm: Norm) -> None:
        """Fill table and running statistics of a batch norm from its input."""

    def norm_backward(self, slope: Slope) -> Tensor:
        """Compute dz = table[0] dzhat + table[1] (z - table[2]) + table[3]."""

    def patches(self, x: Tensor, norm: Tensor) -> Tensor:
        """Cut 3x3 neighbourhoods of relu(bn(x)) at every second pixel: (K, B, W/2, W/2, 9 C), taps outermost."""

    def gather_patches(self, columns: Tensor, x: Tensor, norm: NormGradient, training: bool) -> Tensor:
        """Apply the adjoint of `patches` up to bn(x), and fill batch norm's gradients."""

    def take_even(self, x: Tensor) -> Tensor:
        """Take every second pixel in both directions: (K, B, W/2, W/2, C)."""

    def pool(self, x: Tensor, norm: Tensor) -> Tensor:
        """Average relu(bn(x)) over the pixels: (K, B, C) in the type of the tables."""

    def pool_backward(self, gradient: Tensor, x: Tensor, norm: NormGradient, training: bool) -> Tensor:
        """Apply the adjoint of `pool` up to bn(x), and fill batch norm's gradients."""

    def stem(self, images: Tensor, weight: Tensor, following: Norm, training: bool) -> Tensor:
        """Convolve images (B, K in, W, W) by 3x3; in training also fill the table of the batch norm that follows.

        Images (B, in, W, W) are the same for all replicas.
        """

    def stem_weight_gradient(self, images: Tensor, gradient: Tensor) -> Tensor:
        """Compute the stem's weight gradient, (K C, in, 3, 3)."""
