"""Residual blocks that are named, not found."""

import pytest
import torch
from torch import Tensor, nn

from zerosnet.errors import InputError
from zerosnet.models import create_model, diagnose


class Block(nn.Module):
    """y + f(y)."""

    def __init__(self) -> None:
        super().__init__()
        self.f = nn.Sequential(nn.LayerNorm(8), nn.Linear(8, 8), nn.GELU())

    def forward(self, y: Tensor) -> Tensor:
        return y + self.f(y)


def chain() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(5, 8), Block(), Block(), Block(), nn.Linear(8, 2))


def test_blocks_may_be_named_in_python() -> None:
    found = diagnose(chain(), torch.randn(4, 5), blocks=["1", "3"])
    assert [block.name for block in found.blocks] == ["1.f", "3.f"]


def test_blocks_of_our_own_networks_are_known() -> None:
    with pytest.raises(InputError, match="blocks is given for a network of zerosnet, whose blocks are known"):
        diagnose(create_model("zerosnet20_opt"), torch.randn(2, 3, 8, 8), blocks=["stack"])
