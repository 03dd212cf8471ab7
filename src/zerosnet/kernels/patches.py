"""The few convolutions that have no kernel of their own (stem, stage changes), as batched matrix products.

Activations are replica-major, (K, B, H, W, C): a convolution is then one product per replica, (pixels, patch) by
(patch, channels), with no change of layout.
"""

import torch
from torch import Tensor
from torch.nn import functional as F

from zerosnet.kernels.interface import Kernels, NormGradient

_PIECES = 64  # a long sum over pixels is cut into pieces, so that it fills the chip; they are added in fixed order


def planes(x: Tensor) -> Tensor:
    """Put channels before pixels: (K, B, H, W, C) to (B, K C, H, W)."""
    return x.permute(1, 0, 4, 2, 3).flatten(1, 2)


def patches(x: Tensor, stride: int) -> Tensor:
    """The 3x3 neighbourhoods of (K, B, H, W, C), zero-padded: (K, B, H/stride, W/stride, 9 C), taps outermost."""
    height, width = x.shape[2:4]
    padded = F.pad(x, (0, 0, 1, 1, 1, 1))
    taps = [padded[:, :, dy : dy + height : stride, dx : dx + width : stride] for dy in range(3) for dx in range(3)]
    return torch.cat(taps, -1)


def patch_matrix(weight: Tensor, replicas: int) -> Tensor:
    """A 3x3 weight (K out, in, 3, 3) as (K, 9 in, out), in the order of `patches`."""
    out, inputs = weight.shape[0] // replicas, weight.shape[1]
    return weight.reshape(replicas, out, inputs, 9).permute(0, 3, 2, 1).reshape(replicas, 9 * inputs, out)


def from_patch_matrix(matrix: Tensor) -> Tensor:
    """The inverse of `patch_matrix`."""
    replicas, rows, out = matrix.shape
    return matrix.view(replicas, 3, 3, rows // 9, out).permute(0, 4, 3, 1, 2).reshape(replicas * out, rows // 9, 3, 3)


def point_matrix(weight: Tensor, replicas: int) -> Tensor:
    """A 1x1 weight (K out, in, 1, 1) as (K, in, out)."""
    return weight.reshape(replicas, -1, weight.shape[1]).transpose(1, 2)


def from_point_matrix(matrix: Tensor) -> Tensor:
    """The inverse of `point_matrix`."""
    return matrix.transpose(1, 2).reshape(-1, matrix.shape[1], 1, 1)


def product(x: Tensor, matrix: Tensor) -> Tensor:
    """(K, B, H, W, P) by (K, P, Q) to (K, B, H, W, Q), in the type of x."""
    return torch.bmm(x.flatten(1, 3), matrix.to(x.dtype)).unflatten(1, x.shape[1:4])


def outer_sum(x: Tensor, gradient: Tensor) -> Tensor:
    """Sum over images and pixels of x^T gradient, (K, P, Q): the gradient of a `product`'s matrix."""
    replicas, pixels = x.shape[0], x.shape[1] * x.shape[2] * x.shape[3]
    pieces = next(n for n in range(min(_PIECES, pixels), 0, -1) if pixels % n == 0)
    left, right = (t.reshape(replicas * pieces, pixels // pieces, t.shape[-1]) for t in (x, gradient))
    parts = torch.bmm(left.transpose(1, 2), right)
    wide = torch.promote_types(parts.dtype, torch.float32)
    return parts.view(replicas, pieces, *parts.shape[1:]).sum(1, dtype=wide)


def fold_patches(columns: Tensor, stride: int = 1) -> Tensor:
    """The adjoint of `patches`: (K, B, H, W, 9 C) to (K, B, stride H, stride W, C)."""
    height, width = (stride * size for size in columns.shape[2:4])
    total = columns.new_zeros(*columns.shape[:2], height + 2, width + 2, columns.shape[-1] // 9)
    for tap, column in enumerate(columns.chunk(9, -1)):
        dy, dx = divmod(tap, 3)
        total[:, :, dy : dy + height : stride, dx : dx + width : stride] += column
    return total[:, :, 1:-1, 1:-1]


class StridedConvolution:
    """z = conv3x3(relu(bn(y))) with stride 2, f's first convolution, as a product with a `patch_matrix`."""

    def __init__(self, y: Tensor, norm: Tensor, kernels: Kernels) -> None:
        self.y, self.kernels = y, kernels
        self.patches = kernels.patches(y, norm)

    def convolve(self, matrix: Tensor) -> Tensor:
        self.matrix = matrix
        return product(self.patches, matrix)

    def weight_gradient(self, gradient: Tensor) -> Tensor:
        return from_patch_matrix(outer_sum(self.patches, gradient))

    def input_gradient(self, gradient: Tensor, norm: NormGradient, training: bool) -> Tensor:
        """Compute the gradient of bn(y), behind the ReLU."""
        columns = product(gradient, self.matrix.transpose(1, 2))
        return self.kernels.gather_patches(columns, self.y, norm, training)


class PointConvolution:
    """A projection of a state: conv1x1 with stride 2, as a product with a `point_matrix`."""

    def __init__(self, y: Tensor, matrix: Tensor, kernels: Kernels) -> None:
        self.pixels, self.matrix = kernels.take_even(y), matrix
        self.result = product(self.pixels, matrix)

    def weight_gradient(self, gradient: Tensor) -> Tensor:
        return from_point_matrix(outer_sum(self.pixels, gradient))

    def input_gradient(self, gradient: Tensor) -> Tensor:
        """Compute the gradient at the pixels it saw, every second one: (K, B, H/2, W/2, C)."""
        return product(gradient, self.matrix.transpose(1, 2))
