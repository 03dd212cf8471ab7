"""Networks whose blocks write over the state, or that add branches themselves, advanced by a scheme."""

import copy

import pytest
import torch
from torch import Tensor, nn

from zerosnet.errors import InputError
from zerosnet.models import multistep

WIDTH = 16


def _branch() -> nn.Module:
    return nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Tanh(), nn.Linear(WIDTH, WIDTH))


class InPlace(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.f = _branch()

    def forward(self, y: Tensor) -> Tensor:
        y += self.f(y)
        return y


class Chain(nn.Module):
    """Branches in a list; a subclass has the loop."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.stem, self.head = nn.Linear(8, WIDTH), nn.Linear(WIDTH, 3)
        self.f = nn.ModuleList(self.block() for _ in range(5))
        self.scale = nn.Parameter(torch.full((WIDTH,), 0.5))

    block = staticmethod(_branch)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.state(self.stem(x)))

    def state(self, y: Tensor) -> Tensor:
        for f in self.f:
            y = y + f(y)
        return y


class WrittenInLoop(Chain):
    def state(self, y: Tensor) -> Tensor:
        for f in self.f:
            y += f(y.clone())
        return y


class WrittenPlainly(Chain):
    def state(self, y: Tensor) -> Tensor:
        for f in self.f:
            y += f(y)
        return y


class WrittenInBlocks(Chain):
    block = InPlace

    def state(self, y: Tensor) -> Tensor:
        for f in self.f:
            y = f(y)
        return y


class Scaled(Chain):
    def state(self, y: Tensor) -> Tensor:
        for f in self.f:
            y = y + self.scale * f(y)
        return y


class Doubled(Chain):
    def state(self, y: Tensor) -> Tensor:
        for f in self.f:
            y = torch.add(y, f(y), alpha=2)
        return y


class FirstMixedIn(Chain):
    def state(self, y: Tensor) -> Tensor:
        first = y
        for f in self.f:
            y = y + f(y)
        return y + first


class Tied(Chain):
    def state(self, y: Tensor) -> Tensor:
        for _ in range(5):
            y = y + self.f[0](y)
        return y


LOOPS = [Chain, WrittenPlainly, WrittenInBlocks]


def _leapfrog(model: Chain, x: Tensor) -> Tensor:
    """y_{n+1} = y_{n-1} + 2 f(y_n), the first step one of Euler's."""
    states = [model.stem(x)]
    for n, block in enumerate(model.f):
        inner = block.f if isinstance(block, InPlace) else block
        states.append(states[-1] + inner(states[-1]) if n == 0 else states[-2] + 2 * inner(states[-1]))
    return model.head(states[-1])


@pytest.mark.parametrize("kind", LOOPS)
def test_eulers_scheme_changes_no_bit(kind: type[Chain]) -> None:
    model, x = kind(), torch.randn(4, 8)
    assert torch.equal(multistep(model, "1;1", example=x)(x), model(x))


@pytest.mark.parametrize("kind", LOOPS)
def test_leapfrog_is_its_recursion(kind: type[Chain]) -> None:
    model, x = kind(), torch.randn(4, 8)
    converted = multistep(model, "leapfrog", example=x)
    with torch.no_grad():
        assert torch.allclose(converted(x), _leapfrog(model, x), atol=1e-5), "a difference is added back"
        assert not torch.allclose(converted(x), model(x), atol=1e-2)
    assert converted.state_dict().keys() == model.state_dict().keys()


@pytest.mark.parametrize("kind", [Chain])
def test_branches_in_a_loop_can_be_trained(kind: type[Chain]) -> None:
    x = torch.randn(4, 8)
    converted = multistep(kind(), "zerosnet(-9/5)", example=x)
    before = copy.deepcopy(converted.state_dict())
    converted(x).square().sum().backward()
    torch.optim.SGD(converted.parameters(), 0.1).step()
    changed = [name for name, tensor in converted.state_dict().items() if not torch.equal(tensor, before[name])]
    assert len(changed) == len(before) - 1, "all but the scale, which the loop does not use"


@pytest.mark.parametrize("kind", [Scaled, Doubled, FirstMixedIn, Tied, WrittenInLoop])
def test_loops_that_do_more_are_refused_with_what_was_seen(kind: type[Chain]) -> None:
    with pytest.raises(InputError, match=rf"{kind.__name__} has 5 residual blocks \(f\.0.*adds by y = y \+ f\(y\)"):
        multistep(kind(), "leapfrog", example=torch.randn(4, 8))


class TwoStates(nn.Module):
    """Takes two states through the same blocks, block by block."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(InPlace() for _ in range(4))

    def forward(self, x: Tensor) -> Tensor:
        states = [x, 2 * x]
        for block in self.blocks:
            states = [block(state.clone()) for state in states]
        return states[0] - states[1]


def test_two_states_that_share_blocks_have_no_one_history() -> None:
    with pytest.raises(InputError, match="calls a block of 'blocks' more than once in a pass"):
        multistep(TwoStates(), "leapfrog", example=torch.randn(3, WIDTH))
