"""The multistep stack against the recursion written out, and the laws that tie schemes to one another."""

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from zerosnet.models import Config, Network, Structure
from zerosnet.models.stepping.blocks import Block
from zerosnet.numerics import Scheme, adams_bashforth, lm, zerosnet

SHORT = Structure("cifar", "basic", (3, 3, 2))
OPT = zerosnet("-9/5")
SCHEMES = {
    "euler(1/2)": Scheme(["1/2"], [1]),
    "lm": lm("-1/2"),
    "opt": OPT,
    "four steps": Scheme(["1/4", "1/4", "1/4", "1/4"], ["5/2"]),
    "ab2": adams_bashforth(2),
    "ab3": adams_bashforth(3),
    "mixed": Scheme(["1/2", "1/2"], [2, "-3/4", "1/4"]),
}


def network(scheme: Scheme, structure: Structure = SHORT, **fields: object) -> Network:
    return Network(Config(structure, schemes=(scheme,), **fields), seeds=[7]).double()


def images(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def recursion(model: Network, y: Tensor) -> Tensor:
    """sum alphas[i] y_{n-i} + sum betas[j] f_{n-j} in every block, one-step while fewer than d states exist."""
    scheme = model.config.schemes[0]
    states, slopes = [y], list[Tensor]()
    for n, block in enumerate(model.stack.blocks):
        assert isinstance(block, Block)
        slope = block.f(states[0])
        full = n + 1 >= scheme.steps
        keys = block.projections
        if slope.shape != states[0].shape:  # a stage change: everything that later blocks see gets its own convolution
            states = [keys[f"y{i}"](s) if f"y{i}" in keys else s for i, s in enumerate(states)]
            slopes = [keys[f"f{j}"](s) if f"f{j}" in keys else s for j, s in enumerate(slopes, start=1)]
        slopes = [slope, *slopes]
        alphas, betas = (scheme.alphas, scheme.betas) if full else ((1,), (1,))
        terms = [*zip(alphas, states), *zip(betas, slopes)]
        states = [sum(float(c) * t for c, t in terms), *states]
    return states[0]


@pytest.mark.parametrize("scheme", SCHEMES.values(), ids=SCHEMES.keys())
def test_a_stack_is_the_recursion(scheme: Scheme) -> None:
    model = network(scheme)
    y = model.first_state(images(2, 3, 9, 7))
    assert torch.allclose(model.stack(y), recursion(model, y), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("block", ["basic", "bottleneck"])
@pytest.mark.parametrize("change", ["project-each", "project-shared", "restart"])
@pytest.mark.parametrize(
    ("size", "name"), [*(("cifar", name) for name in SCHEMES), ("imagenet", "opt"), ("imagenet", "mixed")]
)
def test_walking_gives_what_the_forward_gives_and_no_parameter_is_idle(
    size: str, name: str, change: str, block: str
) -> None:
    structure = Structure(size, block, (2, 4, 2) if size == "cifar" else (2, 3, 2, 2))
    model = network(SCHEMES[name], structure, stage_change=change, num_classes=4)
    x = images(2, 3, 9, 11) if size == "cifar" else images(2, 3, 36, 35)
    steps = list(model.walk(x))
    logits = model(x)
    assert torch.allclose(model.logits(steps[-1].state), logits, rtol=1e-9, atol=1e-9)
    assert len(steps) == sum(structure.blocks)
    logits.square().sum().backward()
    assert [parameter for parameter, p in model.named_parameters() if p.grad is None] == []


def test_a_step_carries_the_terms_of_its_sum() -> None:
    model = network(OPT)
    for n, step in enumerate(model.walk(images(2, 3, 8, 8))):
        assert step.index == n
        total = sum(a * y for a, y in zip(step.row.alphas, step.states)) + step.row.betas[0] * step.slope
        assert torch.allclose(total, step.state, atol=1e-12)
        assert len(step.row.alphas) == (1 if n < 2 else 3)


def test_f_can_be_switched_off_from_a_block_on() -> None:
    model = network(OPT)
    x = images(2, 3, 8, 8)
    whole, silent = list(model.walk(x)), list(model.walk(x, silent_from=4))
    assert all(torch.equal(a.state, b.state) for a, b in zip(whole[:4], silent[:4]))
    assert all(step.slope.abs().max() == 0 for step in silent[4:])
    step = silent[-1]
    total = sum(a * y for a, y in zip(step.row.alphas, step.states))
    assert torch.allclose(step.state, total)


def test_the_first_two_blocks_of_a_three_step_network_are_one_step() -> None:
    assert network(OPT).schemes() == [Scheme([1], [1])] * 2 + [OPT] * 6


def test_restart_starts_up_afresh_in_every_stage() -> None:
    one = Scheme([1], [1])
    assert network(OPT, stage_change="restart").schemes() == [one, one, OPT, one, one, OPT, one, one]
    k = lm("-1/2")
    assert network(k, stage_change="restart").schemes() == [one, k, k, one, k, k, one, k]


def test_euler_padded_with_zeros_is_the_preresnet() -> None:
    padded, plain = network(Scheme([1, 0, 0], [1])), network(Scheme([1], [1]))
    plain.load_state_dict({name: t for name, t in padded.state_dict().items() if name in plain.state_dict()})
    x = images(2, 3, 8, 8)
    assert torch.allclose(padded(x), plain(x), atol=1e-12)


def test_bottleneck_networks_project_the_raw_stem_at_its_first_sum() -> None:
    model = network(OPT, Structure("cifar", "bottleneck", (4, 2, 2)))
    names = {name for name, _ in model.stack.blocks.named_parameters() if "projections" in name or "opening" in name}
    assert {n for n in names if n[0] in "0123"} == {
        "0.opening.bn.weight", "0.opening.bn.bias", "0.opening.conv.weight", "2.projections.y2.weight",
    }  # fmt: skip
    y = model.first_state(images(2, 3, 8, 8))
    third = list(model.stack.walk(y))[2]
    assert torch.equal(third.states[2], F.conv2d(y, model.stack.blocks[2].projections["y2"].weight))


def test_imagenet_networks_project_the_activated_state_and_raw_older_ones() -> None:
    model = network(OPT, Structure("imagenet", "basic", (2, 2, 2, 2)))
    steps = list(model.walk(images(1, 3, 40, 40)))
    block, before = model.stack.blocks[2], steps[1]
    activated = F.relu(block.f.bn1(before.state))
    weights = [block.projections[f"y{lag}"].weight for lag in range(3)]
    expected = [activated, before.states[0], steps[0].states[0]]
    for state, weight, source in zip(steps[2].states, weights, expected):
        assert torch.allclose(state, F.conv2d(source, weight, stride=2), atol=1e-12)


def test_every_block_has_f_see_the_raw_state() -> None:
    model = network(OPT)
    steps = list(model.walk(images(2, 3, 8, 8)))
    for before, step, block in zip(steps, steps[1:], list(model.stack.blocks)[1:]):
        assert torch.equal(block.f(before.state), step.slope)
