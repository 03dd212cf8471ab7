"""Networks that draw random numbers in evaluation mode."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from zerosnet.errors import InputError
from zerosnet.models import diagnose


class Chain(nn.Module):
    """y <- y + f(y) three times, with chance in how a block is used."""

    def __init__(self, step: Callable[[nn.Module, Tensor], Tensor]) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.stem, self.head, self.step = nn.Linear(5, 8), nn.Linear(8, 2), step
        self.blocks = nn.ModuleList(nn.Sequential(nn.LayerNorm(8), nn.Linear(8, 8), nn.GELU()) for _ in range(3))

    def forward(self, x: Tensor) -> Tensor:
        y = self.stem(x)
        for f in self.blocks:
            y = self.step(f, y)
        return self.head(y)


def skipped(f: nn.Module, y: Tensor) -> Tensor:
    return y if torch.rand(1) < 0.3 else y + f(y)


def masked(f: nn.Module, y: Tensor) -> Tensor:
    return y + (torch.rand(1) < 0.7) * f(y)


def noisy(f: nn.Module, y: Tensor) -> Tensor:
    return y + f(y + 0.1 * torch.randn_like(y))


@pytest.mark.parametrize("step", [skipped, masked])
def test_blocks_that_are_skipped_by_chance_are_noticed(step: Callable[[nn.Module, Tensor], Tensor]) -> None:
    with pytest.raises(InputError, match="does not run the same way twice, its blocks depend on random numbers"):
        diagnose(Chain(step), torch.randn(4, 5))


def test_noise_that_leaves_the_wiring_as_it_is_does_no_harm() -> None:
    found = diagnose(Chain(noisy), torch.ones(4, 5).cumsum(1))
    assert [block.name for block in found.blocks] == ["blocks.0", "blocks.1", "blocks.2"]
