"""A network whose sums are written by a test."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

WIDTH = 8
FULL = [[0.7, 0.2, 0.1], [0.1, 0.7, 0.2], [0.3, 0.3, 0.4]]


class Written(nn.Module):
    """Four branches, and a function that applies them to x in its own way."""

    def __init__(self, apply: Callable[["Written", Tensor], Tensor], matrix: list[list[float]] = FULL) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.f = nn.ModuleList(nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WIDTH)) for _ in range(4))
        self.head = nn.Linear(WIDTH, 3)
        self.own = apply
        self.register_buffer("matrix", torch.tensor(matrix))

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.own(self, x))


def tokens(length: int = 5) -> Tensor:
    return torch.randn(4, length, WIDTH, generator=torch.Generator().manual_seed(1))
