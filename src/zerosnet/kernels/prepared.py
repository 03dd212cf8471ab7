"""A network as its kernels need it (parameters, norms, weights, head), and the way through the branch of a block."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import cast

import torch
from torch import Tensor

from zerosnet.kernels import patches as px
from zerosnet.kernels.chips import WIDTHS
from zerosnet.kernels.head import Head, Opened, Tape
from zerosnet.kernels.interface import (
    BackwardInner,
    BackwardOuter,
    ConvInner,
    Kernels,
    Norm,
    NormGradient,
    Slope,
)
from zerosnet.kernels.layouts import KernelWeights
from zerosnet.kernels.patches import PointConvolution, StridedConvolution
from zerosnet.models import Basic, BatchNorm, Block, CifarStem, Conv, Linear, Network


class PreparedNetwork(ABC):
    """What forward and backward passes of all kinds of stacks share.

    The network's own parameters and running statistics are used; nothing is copied but the packed weights.

    `kernels` makes the kernels of a width from (channels, width); a test double serves without a GPU.
    With `weights` False only gradients of images are computed. The gradients of the parameters are written into
    `gradients`, in their order and their layout in memory; None: into tensors of its own.
    """

    arithmetic: str
    """How it computes, in a few words for a record."""

    def __init__(
        self,
        network: Network,
        kernels: Callable[[int, int], Kernels],
        *,
        weights: bool = True,
        gradients: Sequence[Tensor] | None = None,
    ) -> None:
        self.network, self.replicas = network, network.replicas
        self.kernels = {channels: kernels(channels, width) for channels, width in WIDTHS}
        self.blocks = [cast(Block, block) for block in network.stack.blocks]
        self.slopes = [cast(Basic, block.f) for block in self.blocks]
        self.stem, self.bn = cast(CifarStem, network.stem).conv.weight, cast(BatchNorm, network.bn)
        self.norms = {
            module: Norm(module.weight, module.bias, module.running_mean, module.running_var, self._table(module))
            for module in network.modules()
            if isinstance(module, BatchNorm)
        }
        self.weights = weights
        wanted = list(network.parameters()) if weights else [p for norm in self.norms.values() for p in norm[:2]]
        places = [torch.zeros_like(p) for p in wanted] if gradients is None else gradients
        self.gradients: dict[Tensor, Tensor] = dict(zip(wanted, places, strict=True))
        self.norm_gradients = {
            module: NormGradient(
                norm.table, self.gradients[norm.weight], self.gradients[norm.bias], self._table(module)
            )
            for module, norm in self.norms.items()
        }
        fc = cast(Linear, network.fc)
        of_fc = (self.gradients[fc.weight], self.gradients[fc.bias]) if weights else None
        self.head = Head(fc, self.norm_gradients[self.bn], of_fc)
        self.is_trained = any(True for _ in network.coefficient_parameters())
        projections = [self.projections(block) for block in self.blocks]
        self.layouts = KernelWeights(self.blocks, projections, self.kernels, self.replicas)

    def projections(self, block: Block) -> list[Conv]:
        """List the convolutions that bring states to the shape of a block, in the order of the states."""
        return [cast(Conv, module) for module in block.projections.values()]

    @abstractmethod
    def forward(self, images: Tensor, *, training: bool, record: bool = True) -> Tape:
        """Compute all states for images (B, K C, 32, 32); in training also the batch statistics, running ones included.

        Parameters are those of the last `refresh`. Without `record` only the last block is kept: enough
        for the logits, at a fraction of the memory.
        """

    @abstractmethod
    def backward(self, tape: Tape) -> Tensor:
        """Go back from the gradient of the last state (see `Head`), and return that of the first.

        The parameters' gradients go into `gradients`. The tape is used up: what a block kept is freed behind it.
        """

    def warm_up(self) -> None:
        """Compile what will be needed, so that a machine that cannot is found out before any work is done."""
        for kernels in self.kernels.values():
            kernels.compile()

    def _table(self, module: BatchNorm) -> Tensor:
        return self.kernels[module.channels].table()

    @torch.no_grad()
    def refresh(self, *, training: bool) -> None:
        """Take in the parameters and, for evaluation, the running statistics as they are now."""
        self.layouts.refresh(beside=training and self.weights)
        if not training:
            for norm in self.norms.values():
                norm.write_running()

    @torch.no_grad()
    def image_gradient(self, first: Tensor) -> Tensor:
        """Compute the gradient of the images, (B, K C, H, W), from that of the first state."""
        matrix = px.patch_matrix(self.stem, self.replicas)
        return px.planes(px.fold_patches(px.product(first, matrix.transpose(1, 2)).to(matrix.dtype)))

    # -- the branch of a block -----------------------------------------------------------------------------------------

    def open_branch(self, n: int, y: Tensor, kernels: Kernels, training: bool) -> Opened:
        """Compute f's first convolution of y, and the statistics of the norm behind it.

        `kernels` are those of y, whose width a block may leave.
        """
        plan, f = self.blocks[n].plan, self.slopes[n]
        k, bn1, bn2 = self.kernels[plan.target.channels], self.norms[f.bn1], self.norms[f.bn2]
        if plan.source == plan.target:
            inner = k.activation()
            k.conv_inner(ConvInner(y, bn1.table, self.layouts.packed[f.conv1.weight], inner, bn2, training))
            return Opened(y, inner, None)
        strided = StridedConvolution(y, bn1.table, kernels)
        k.join()  # the weights of this stage were copied beside the last one
        inner = strided.convolve(self.layouts.matrices[f.conv1.weight])
        if training:
            k.statistics(inner, bn2)
        return Opened(y, inner, strided)

    def branch_gradient(self, n: int, opened: Opened, gradient: Tensor, coefficients: Tensor, training: bool) -> Slope:
        """Go back through f, from the gradient of beta f to the norm at its beginning."""
        f, k = self.slopes[n], self.kernels[self.blocks[n].plan.target.channels]
        bn1, bn2, dz = self.norm_gradients[f.bn1], self.norm_gradients[f.bn2], k.activation()
        packed, dw = self.layouts.packed[f.conv2.weight], self._place(f.conv2)
        k.backward_inner(BackwardInner(gradient, coefficients, opened.inner, packed, dz, bn2, dw, training))
        slope = Slope(dz, opened.inner, bn2.table)
        if opened.strided is None:
            dy, packed = k.activation(), self.layouts.packed[f.conv1.weight]
            k.backward_outer(BackwardOuter(slope, opened.y, packed, dy, bn1, self._place(f.conv1), training))
            return Slope(dy, opened.y, bn1.table)
        dz = k.norm_backward(slope)
        if (dw := self._place(f.conv1)) is not None:
            with k.beside(opened.strided.patches, dz):
                dw.copy_(opened.strided.weight_gradient(dz))
        return Slope(opened.strided.input_gradient(dz, bn1, training), opened.y, bn1.table)

    def project_back(self, convolution: PointConvolution, weight: Tensor, gradient: Tensor, kernels: Kernels) -> Tensor:
        """Go back through a projection, to the gradient at every second pixel; `kernels` are those of its result."""
        through = convolution.input_gradient(gradient)
        if self.weights:
            with kernels.beside(convolution.pixels, gradient):
                self.gradients[weight].copy_(convolution.weight_gradient(gradient))
        return through

    def _place(self, conv: Conv) -> Tensor | None:
        """Return the place of a weight's gradient, if it is wanted."""
        return self.gradients[conv.weight] if self.weights else None
