"""A stage change: f's strided convolution and the projections of the history, as batched matrix products."""

from torch import Tensor

from zerosnet.kernels import patches as px
from zerosnet.kernels.interface import Kernels
from zerosnet.kernels.norm_tables import NormGradient


class StridedConvolution:
    """z = conv3x3(relu(bn(y))) with stride 2, f's first convolution."""

    def __init__(self, y: Tensor, norm: Tensor, weight: Tensor, replicas: int, kernels: Kernels) -> None:
        self.y, self.kernels = y, kernels
        self.patches = kernels.patches(y, norm)
        self.matrix = px.patch_matrix(weight, replicas).to(y.dtype)
        self.result = px.product(self.patches, self.matrix)

    def weight_gradient(self, gradient: Tensor) -> Tensor:
        return px.from_patch_matrix(px.outer_sum(self.patches, gradient))

    def input_gradient(self, gradient: Tensor, norm: NormGradient, training: bool) -> Tensor:
        """Behind the ReLU: the gradient of bn(y)."""
        columns = px.product(gradient, self.matrix.transpose(1, 2))
        return self.kernels.gather_patches(columns, self.y, norm, training)


class PointConvolution:
    """A projection of a state: conv1x1 with stride 2."""

    def __init__(self, y: Tensor, weight: Tensor, replicas: int, kernels: Kernels) -> None:
        self.pixels = kernels.take_even(y)
        self.matrix = px.point_matrix(weight, replicas).to(y.dtype)
        self.result = px.product(self.pixels, self.matrix)

    def weight_gradient(self, gradient: Tensor) -> Tensor:
        return px.from_point_matrix(px.outer_sum(self.pixels, gradient))

    def input_gradient(self, gradient: Tensor) -> Tensor:
        """At the pixels that it saw: every second one, (K, B, H/2, W/2, C)."""
        return px.product(gradient, self.matrix.transpose(1, 2))
