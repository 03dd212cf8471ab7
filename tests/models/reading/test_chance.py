"""Networks that draw random numbers in evaluation mode."""

import random
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from zerosnet.errors import InputError
from zerosnet.models import diagnose, wiring_of


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


@pytest.mark.parametrize("step", [skipped, masked])
def test_a_wiring_that_depends_on_chance_is_refused(step: Callable[[nn.Module, Tensor], Tensor]) -> None:
    with pytest.raises(InputError, match="its blocks depend on random numbers"):
        wiring_of(Chain(step), torch.randn(4, 5))


class Counting(Chain):
    """Divides branch n by the number of branches so far, counted in a buffer or an attribute, over all calls."""

    def __init__(self, in_buffer: bool) -> None:
        super().__init__(self.divided)
        self.register_buffer("buffer", torch.zeros(()))
        self.attribute, self.in_buffer = 0, in_buffer

    def divided(self, f: nn.Module, y: Tensor) -> Tensor:
        if self.in_buffer:
            self.buffer += 1
            return y + f(y) / self.buffer
        self.attribute += 1
        return y + f(y) / self.attribute


def test_a_count_in_a_buffer_begins_anew_in_every_run() -> None:
    model = Counting(in_buffer=True)
    wiring = wiring_of(model, torch.randn(4, 5))
    assert [float(step.b[0]) for step in wiring.steps] == pytest.approx([1, 1 / 2, 1 / 3])
    assert diagnose(model, torch.randn(4, 5)).blocks[0].share > 0
    assert model.buffer == 0


class ChangesItsWeights(Chain):
    def forward(self, x: Tensor) -> Tensor:
        with torch.no_grad():
            self.head.weight.mul_(0.5)
        return super().forward(x)


def by_pythons_chance(f: nn.Module, y: Tensor) -> Tensor:
    return y + random.random() * f(y)


@pytest.mark.parametrize("read", [diagnose, wiring_of])
@pytest.mark.parametrize(
    ("build", "reported"),
    [
        (lambda: Counting(in_buffer=False), "keeps no count of its calls"),
        (lambda: Chain(by_pythons_chance), "does not run the same way twice"),
        (lambda: ChangesItsWeights(noisy), r"changes its parameter head\.weight while it runs"),
    ],
)
def test_networks_that_do_not_repeat_themselves_are_refused(read, build, reported: str) -> None:
    with pytest.raises(InputError, match=reported):
        read(build(), torch.randn(4, 5))


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize("script", [torch.jit.script, lambda f: torch.jit.trace(f, torch.ones(4, 8))])
def test_scripted_modules_are_refused_by_name(script) -> None:
    model = Chain(noisy)
    model.blocks[1] = script(model.blocks[1])
    with pytest.raises(InputError, match=r"has the scripted module 'blocks\.1'"):
        diagnose(model, torch.randn(4, 5))
