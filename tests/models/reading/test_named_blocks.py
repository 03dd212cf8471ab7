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


def test_names_of_branches_are_taken_for_the_blocks_that_add_them() -> None:
    found = diagnose(chain(), torch.randn(4, 5), blocks=["1.f", "3"])
    assert [block.name for block in found.blocks] == ["1.f", "3.f"]


@pytest.mark.parametrize("name", ["2.f.1", "4", "9"])
def test_modules_that_add_are_listed_beside_one_that_does_not(name: str) -> None:
    with pytest.raises(InputError, match=f"blocks has '{name}'.*; modules that add to their input: 1, 2, 3$"):
        diagnose(chain(), torch.randn(4, 5), blocks=["1", name])


class Branches(nn.Module):
    """y + f(y) outside of all modules but the network."""

    def __init__(self) -> None:
        super().__init__()
        self.fs = nn.ModuleList(nn.Sequential(nn.LayerNorm(8), nn.Linear(8, 8), nn.GELU()) for _ in range(2))
        self.stem, self.head = nn.Linear(5, 8), nn.Linear(8, 2)

    def forward(self, x: Tensor) -> Tensor:
        y = self.stem(x)
        for f in self.fs:
            y = y + f(y)
        return self.head(y)


def test_blocks_are_left_out_if_no_module_holds_a_sum() -> None:
    with pytest.raises(InputError, match=r"blocks has 'fs\.0'.*; no module's output is such a sum: leave blocks out"):
        diagnose(Branches(), torch.randn(4, 5), blocks=["fs.0"])
