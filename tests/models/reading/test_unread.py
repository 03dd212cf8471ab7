"""Modules beside blocks that were not read as blocks are named."""

import json

import pytest
import torch
from tests.models.reading.networks import NETWORKS
from tests.models.reading.zoo import Branch
from torch import Tensor, nn

from zerosnet.errors import InputError
from zerosnet.models import create_model, diagnose, wiring_of


class Branches(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.stem, self.head = nn.Linear(8, 16), nn.Linear(16, 3)
        self.f = nn.ModuleList(Branch(16) for _ in range(4))


class ManyOutputs(Branches):
    def forward(self, x: Tensor) -> list[Tensor]:
        y, outputs = self.stem(x), []
        for f in self.f:
            y = y + f(y)
            outputs.append(self.head(y))
        return outputs


class MeansOverDepth(Branches):
    def forward(self, x: Tensor) -> Tensor:
        states = [self.stem(x)]
        for f in self.f:
            states.append(f(torch.stack(states).mean(0)))
        return self.head(torch.stack(states).sum(0))


class AttentionOverDepth(nn.Module):
    """Every block, of one class or another, reads a mixture of all earlier branches by a softmax."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.stem, self.head = nn.Linear(8, 16), nn.Linear(16, 3)
        self.f = nn.ModuleList(Branch(16) if n % 2 else nn.Sequential(Branch(16)) for n in range(8))
        self.queries = nn.Parameter(torch.randn(9, 16) / 4)

    def forward(self, x: Tensor) -> Tensor:
        states = [self.stem(x)]
        for f, query in zip(self.f, self.queries):
            states.append(f(self.mixture(states, query)))
        return self.head(self.mixture(states, self.queries[-1]))

    def mixture(self, states: list[Tensor], query: Tensor) -> Tensor:
        stacked = torch.stack(states, -2)
        weights = torch.softmax(nn.functional.layer_norm(stacked, (16,)) @ query, -1)
        return (weights.unsqueeze(-1) * stacked).sum(-2)


class PiecesOfBranches(nn.Module):
    """A residual block whose branch is made by entries of a list, one after the other."""

    def __init__(self) -> None:
        super().__init__()
        self.f = nn.ModuleList(nn.Linear(8, 8) for _ in range(4))

    def forward(self, y: Tensor) -> Tensor:
        y = y + self.f[1](self.f[0](y).relu())
        return y + self.f[3](self.f[2](y).relu())


def test_blocks_that_the_first_output_does_not_use_are_named() -> None:
    found = diagnose(ManyOutputs(), torch.randn(4, 8))
    assert found.wiring.names == ("f.0",)
    assert found.wiring.note == "not read: f.1, f.2, f.3 (not used by the first output)"
    assert found.wiring.note in str(found)
    assert json.loads(json.dumps(found.to_json()))["unread"][0] == {
        "name": "f.1",
        "reason": "not used by the first output",
    }


def test_every_branch_beside_a_block_is_read_or_named() -> None:
    wiring = wiring_of(MeansOverDepth(), torch.randn(4, 5, 8))
    named = {*wiring.names, *(one.name for one in wiring.unread)}
    assert named == {"f.0", "f.1", "f.2", "f.3"}


def test_a_network_of_which_most_blocks_are_not_read_is_refused_with_their_names() -> None:
    model, x = AttentionOverDepth(), torch.randn(4, 5, 8)
    with pytest.raises(
        InputError, match=r"but f\.0, f\.1, f\.2, f\.3, f\.4, f\.5, f\.6 ran beside it and no residual sum"
    ):
        diagnose(model, x)
    wiring = wiring_of(model, x)
    assert {*wiring.names, *(one.name for one in wiring.unread)} == {f"f.{n}" for n in range(8)}


def test_openings_of_stages_that_are_not_read_are_named() -> None:
    wiring = wiring_of(create_model("zerosnet20_opt"), torch.randn(2, 3, 32, 32))
    assert wiring.note == "not read: stack.blocks.3, stack.blocks.6 (changes shape)"


def test_blocks_that_were_named_leave_nothing_unread() -> None:
    wiring = wiring_of(nn.Sequential(*(_Residual() for _ in range(3))), torch.randn(4, 8), blocks=["1"])
    assert wiring.unread == ()


def test_long_lists_are_cut() -> None:
    class Long(ManyOutputs):
        def __init__(self) -> None:
            super().__init__()
            self.f = nn.ModuleList(Branch(16) for _ in range(9))

    assert wiring_of(Long(), torch.randn(4, 8)).note.endswith("f.6 and 2 more (not used by the first output)")


@pytest.mark.parametrize("name", ["timm vit", "timm resnet v2", "torchvision resnet", "gpt2", "llama"])
def test_networks_that_are_read_whole_have_no_note(name: str) -> None:
    assert wiring_of(NETWORKS[name].build(), NETWORKS[name].example()).note == ""


def test_passages_between_stages_are_not_taken_for_blocks() -> None:
    from torchvision.models.convnext import CNBlockConfig, ConvNeXt

    model = ConvNeXt([CNBlockConfig(16, 32, 2), CNBlockConfig(32, None, 2)], num_classes=3)
    wiring = wiring_of(model, torch.randn(2, 3, 32, 32))
    assert len(wiring.names) == 4 and wiring.note == ""


def test_pieces_of_a_branch_are_not_taken_for_blocks() -> None:
    wiring = wiring_of(PiecesOfBranches(), torch.randn(4, 8))
    assert wiring.names == ("f.1", "f.3") and wiring.note == ""


class _Residual(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.f = Branch(8)

    def forward(self, y: Tensor) -> Tensor:
        return y + self.f(y)


class Adding(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.f = Branch(16)

    def forward(self, y: Tensor) -> Tensor:
        return y + self.f(y)


class GlobalSkip(Branches):
    """Blocks and a last layer, with a skip connection around all of them."""

    def __init__(self, *, adding: bool) -> None:
        super().__init__()
        self.adding, self.tail = adding, nn.Linear(16, 16)
        self.f = nn.ModuleList(Adding() for _ in range(3)) if adding else self.f[:3]

    def forward(self, x: Tensor) -> Tensor:
        y = first = self.stem(x)
        for f in self.f:
            y = f(y) if self.adding else y + f(y)
        return self.head(self.tail(y) + first)


@pytest.mark.parametrize("adding", [False, True])
def test_sums_inside_a_branch_are_named(adding: bool) -> None:
    found = wiring_of(GlobalSkip(adding=adding), torch.randn(3, 5, 8))
    assert found.names == ("tail",)
    assert found.note.startswith("not read: f.0, f.1, f.2 (in a sum inside the branch tail")


def test_blocks_under_a_global_skip_are_read_by_name() -> None:
    found = wiring_of(GlobalSkip(adding=True), torch.randn(3, 5, 8), blocks=["f.0", "f.1", "f.2"])
    assert found.names == ("f.0.f", "f.1.f", "f.2.f")
    assert [(step.A, step.b) for step in found.steps] == [(((1.0,),), (1.0,))] * 3
