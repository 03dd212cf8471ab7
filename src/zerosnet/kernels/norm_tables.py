"""Batch norms as tables of numbers per channel, which the kernels read and write."""

from typing import NamedTuple

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
