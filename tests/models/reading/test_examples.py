"""Examples of odd shapes, and networks that cannot be called as others."""

import pytest
import torch
from torch import Tensor, nn

from zerosnet.errors import InputError
from zerosnet.models import diagnose


class Attends(nn.Module):
    """Causal attention over (T, B, C), with a T x T mask."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.blocks = nn.ModuleList(nn.MultiheadAttention(8, 2) for _ in range(2))
        self.head = nn.Linear(8, 3)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        for f in self.blocks:
            x = x + f(x, x, x, attn_mask=mask)[0]
        return self.head(x)


def test_a_mask_as_long_as_the_batch_is_not_cut() -> None:
    found = diagnose(Attends(), (torch.randn(4, 4, 8), torch.zeros(4, 4)))
    assert [block.name for block in found.blocks] == ["blocks.0", "blocks.1"]


@pytest.mark.parametrize("inside", [False, True])
def test_an_exported_network_is_refused(inside: bool) -> None:
    example = (torch.randn(4, 4, 8), torch.zeros(4, 4))
    network = torch.export.export(Attends(), example).module()
    with pytest.raises(InputError, match=r"has no evaluation mode .*; expected a network before torch\.export"):
        diagnose(nn.Sequential(network) if inside else network, example)
