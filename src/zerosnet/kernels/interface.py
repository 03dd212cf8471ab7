"""What passes between the kernels, and the interface of one width: the CUDA kernels and their plain model share it."""

from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

from torch import Tensor

MOMENTUM, EPS = 0.1, 1e-5
MAX_STEPS = 4


class State(NamedTuple):
    """A state y in two halves, y = high + low; convolutions and statistics see the high half only."""

    high: Tensor
    low: Tensor


class Norm(NamedTuple):
    """A batch norm, and the (K, 4, C) table that kernels read: BN(z) = table[0] z + table[1], mean, 1 / deviation."""

    weight: Tensor
    bias: Tensor
    running_mean: Tensor
    running_var: Tensor
    table: Tensor


class NormGradient(NamedTuple):
    """A batch norm's backward: its forward table, and where its gradients and the next kernel's table go.

    The table (K, 4, C) says dz = table[0] dzhat + table[1] (z - table[2]) + table[3].
    """

    norm: Tensor
    weight: Tensor
    bias: Tensor
    table: Tensor


class Slope(NamedTuple):
    """What the branch through f adds to the gradient of a state: batch norm's backward of dyhat at y."""

    gradient: Tensor
    state: Tensor
    table: Tensor


class Packed(NamedTuple):
    """The weights of a 3x3 convolution as the forward and the backward kernels want them."""

    forward: Tensor
    backward: Tensor


class Kernels(Protocol):
    """The kernels of one width: C channels on W x W pixels, K replicas, batch B.

    Activations are (K, B, W, W, C), coefficients (K, 5): up to four alphas, then beta.
    """

    @property
    def channels(self) -> int: ...

    @property
    def width(self) -> int: ...

    def compile(self) -> None:
        """Make sure that the kernels can be launched; raises KernelsUnavailable where they cannot."""

    def activation(self) -> Tensor: ...

    def table(self) -> Tensor: ...

    def pack(self, weights: list[Tensor]) -> list[Packed]:
        """float weights (K C, C, 3, 3), which must stay where they are, in the kernels' layout."""

    def conv_inner(
        self, x: Tensor, norm: Tensor, weights: Packed, out: Tensor, following: Norm, training: bool
    ) -> None:
        """out = conv(relu(bn(x))); in training also the table of the batch norm that follows."""

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
        """out = sum_i alpha_i history[i] + beta conv(relu(bn(x))); in training also the next batch norm's table."""

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
        """Backward of f's second convolution and the batch norm before it; its output's gradient is beta * gradient.

        out = dzhat, the gradient behind the ReLU; weight_gradient None: not computed.
        """

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
        """Backward of f's first convolution; the gradient of its output is batch norm's backward of `slope`."""

    def state_gradient(
        self,
        slope: Slope | None,
        weights: Tensor,
        terms: tuple[Tensor, ...],
        even: Tensor | None,
        out: Tensor,
        dots_with: Tensor | None,
    ) -> Tensor | None:
        """out = bn_backward(slope) + sum_i weights[:, i] terms[i], the adjoint of the multistep sum.

        `even` (K, B, W/2, W/2, C) is added at every second pixel: what came through a projection.
        With a state in `dots_with` (the slope's, where there is one), its inner products (K, 4) with every term.
        """

    def beside(self, *keep: Tensor) -> AbstractContextManager[None]:
        """For gradients of weights, which nothing waits for: beside the main work, with `keep` held until `join`."""

    def join(self) -> None:
        """Wait, on the device, for what is under way beside the main work."""

    # -- what surrounds the blocks -------------------------------------------------------------------------------------

    def statistics(self, x: Tensor, norm: Norm) -> None:
        """Table and running statistics of a batch norm, from its input."""

    def norm_backward(self, slope: Slope) -> Tensor:
        """dz = table[0] dzhat + table[1] (z - table[2]) + table[3]."""

    def patches(self, x: Tensor, norm: Tensor) -> Tensor:
        """3x3 neighbourhoods of relu(bn(x)) at every second pixel: (K, B, W/2, W/2, 9 C), taps outermost."""

    def gather_patches(self, columns: Tensor, x: Tensor, norm: NormGradient, training: bool) -> Tensor:
        """The adjoint of `patches` up to bn(x), and batch norm's bookkeeping."""

    def take_even(self, x: Tensor) -> Tensor:
        """Every second pixel in both directions: (K, B, W/2, W/2, C)."""

    def pool(self, x: Tensor, norm: Tensor) -> Tensor:
        """Mean over the pixels of relu(bn(x)): (K, B, C) in the type of the tables."""

    def pool_backward(self, gradient: Tensor, x: Tensor, norm: NormGradient, training: bool) -> Tensor:
        """The adjoint of `pool` up to bn(x), and batch norm's bookkeeping."""

    def stem(self, images: Tensor, weight: Tensor, following: Norm, training: bool) -> Tensor:
        """3x3 convolution of images (B, K in, W, W); in training also the table of the batch norm that follows."""

    def stem_weight_gradient(self, images: Tensor, gradient: Tensor) -> Tensor:
        """(K C, in, 3, 3)."""
