"""The weights of a network as its kernels read them: packed, or as the matrices of batched products."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import cast

import torch
from torch import Tensor

from zerosnet.kernels.interface import Kernels, Packed
from zerosnet.kernels.patches import patch_matrix, point_matrix
from zerosnet.models import Basic, Block, Conv

ToMatrix = Callable[[Tensor, int], Tensor]
"""A function that makes the matrices of a product from a weight and the number of replicas."""


class KernelWeights:
    """Copies of the weights of a network's blocks and their projections, as they were at the last `refresh`.

    Attributes:
        packed: The 3x3 convolutions within a stage, in the kernels' layouts.
        matrices: The convolutions that change the stage, (K, patch, channels) in the type of the activations.
    """

    def __init__(
        self,
        blocks: Sequence[Block],
        projections: Sequence[Sequence[Conv]],
        kernels: Mapping[int, Kernels],
        replicas: int,
    ) -> None:
        self.kernels, self.replicas = kernels, replicas
        self.packed: dict[Tensor, Packed] = {}
        self.matrices: dict[Tensor, Tensor] = {}
        self._within: dict[int, list[Tensor]] = {channels: [] for channels in kernels}
        self._changing: dict[int, dict[Tensor, ToMatrix]] = {channels: {} for channels in kernels}
        for block, others in zip(blocks, projections):
            f, channels = cast(Basic, block.f), block.plan.target.channels
            changes = block.plan.source != block.plan.target
            self._within[channels] += [f.conv2.weight] if changes else [f.conv1.weight, f.conv2.weight]
            if changes:
                self._changing[channels][f.conv1.weight] = patch_matrix
                self._changing[channels].update((conv.weight, point_matrix) for conv in others)

    @torch.no_grad()
    def refresh(self, *, beside: bool) -> None:
        """Copy the weights as they are now.

        With `beside` those of later stages are copied beside the main work, for which their kernels' `join` waits.
        """
        for number, (channels, kernels) in enumerate(self.kernels.items()):
            changing = self._changing[channels]
            with kernels.beside(*changing) if beside and number > 0 else nullcontext():
                self.packed.update(zip(self._within[channels], kernels.pack(self._within[channels])))
                for weight, to_matrix in changing.items():
                    self._matrix_of(weight, to_matrix, kernels).copy_(to_matrix(weight, self.replicas))

    def _matrix_of(self, weight: Tensor, to_matrix: ToMatrix, kernels: Kernels) -> Tensor:
        """Return the matrix of a weight, with the layout in memory that `to_matrix` gives."""
        if weight not in self.matrices:
            dtype = kernels.activation().dtype
            self.matrices[weight] = torch.empty_like(to_matrix(weight, self.replicas), dtype=dtype)
        return self.matrices[weight]
