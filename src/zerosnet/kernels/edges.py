"""The parts of a network that have no kernel of their own: stem, stage changes, head. Plain torch, replica-major."""

import torch
from torch import Tensor
from torch.nn import functional as F

from zerosnet.kernels import patches as px
from zerosnet.kernels.reference import activate, planes
from zerosnet.kernels.values import EPS


class Stem:
    """y_0 = conv3x3(images)."""

    def __init__(self, images: Tensor, weight: Tensor, replicas: int, dtype: torch.dtype) -> None:
        x = images.unflatten(1, (replicas, -1)).permute(1, 0, 3, 4, 2).to(dtype)
        self.patches = px.patches(x, 1)
        self.matrix = px.patch_matrix(weight, replicas)
        self.result = px.product(self.patches, self.matrix)

    def weight_gradient(self, gradient: Tensor) -> Tensor:
        return px.from_patch_matrix(px.outer_sum(self.patches, gradient))

    def image_gradient(self, gradient: Tensor) -> Tensor:
        """(B, K in, H, W)."""
        return planes(px.spread_patches(gradient, self.matrix, 1))


class StridedConvolution:
    """z = conv3x3(relu(bn(y))) with stride 2: f's first convolution at a stage change."""

    def __init__(self, y: Tensor, norm: Tensor, weight: Tensor, replicas: int) -> None:
        self.activated = activate(y, norm)
        self.patches = px.patches(self.activated, 2)
        self.matrix = px.patch_matrix(weight, replicas)
        self.result = px.product(self.patches, self.matrix)

    def weight_gradient(self, gradient: Tensor) -> Tensor:
        return px.from_patch_matrix(px.outer_sum(self.patches, gradient))

    def input_gradient(self, gradient: Tensor) -> Tensor:
        """Behind the ReLU: the gradient of bn(y)."""
        return px.spread_patches(gradient, self.matrix, 2) * (self.activated > 0)


class PointConvolution:
    """A projection of a state at a stage change: conv1x1 with stride 2."""

    def __init__(self, y: Tensor, weight: Tensor, replicas: int) -> None:
        self.shape = y.shape
        self.pixels = y[:, :, ::2, ::2].contiguous()
        self.matrix = px.point_matrix(weight, replicas)
        self.result = px.product(self.pixels, self.matrix)

    def weight_gradient(self, gradient: Tensor) -> Tensor:
        return px.from_point_matrix(px.outer_sum(self.pixels, gradient))

    def input_gradient(self, gradient: Tensor) -> Tensor:
        result = gradient.new_zeros(self.shape)
        result[:, :, ::2, ::2] = px.product(gradient, self.matrix.transpose(1, 2))
        return result


def head(y: Tensor, norm: tuple[Tensor, Tensor], table: Tensor | None, fc: tuple[Tensor, Tensor]) -> Tensor:
    """Logits (K, B, classes) of the last state (K, B, H, W, C): BN-ReLU, average pool, linear.

    Batch norm by the statistics of y itself, or in evaluation by a table.
    """
    replicas, channels = y.shape[0], y.shape[-1]
    weight, bias = (t.view(replicas, 1, 1, 1, channels) for t in norm)
    if table is None:
        var, mean = torch.var_mean(y, (1, 2, 3), correction=0, keepdim=True)
        rstd = (var + EPS).rsqrt()
    else:
        mean, rstd = (table[:, i, None, None, None] for i in (2, 3))
    pooled = F.relu(torch.addcmul(bias, (y - mean) * rstd, weight)).mean((2, 3))
    matrix, offset = (t.view(replicas, -1, *t.shape[1:]) for t in fc)
    return torch.baddbmm(offset[:, None], pooled, matrix.transpose(1, 2))
