"""The update of stacked replicas against torch.optim, alone against fused, living against diverged."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from zerosnet.training.fused.optimizer import Adam, Optimizer, Rule, Sgd

SHAPES = {"conv": (4, 3, 3, 3), "bias": (5,), "coefficient": (1,)}
RULES: dict[str, tuple[Rule, Callable[..., torch.optim.Optimizer]]] = {
    "sgd": (Sgd(0.9), lambda p, **o: torch.optim.SGD(p, momentum=0.9, **o)),
    "nesterov": (Sgd(0.9, nesterov=True), lambda p, **o: torch.optim.SGD(p, momentum=0.9, nesterov=True, **o)),
    "adam": (Adam(0.5, 0.999), lambda p, **o: torch.optim.Adam(p, betas=(0.5, 0.999), **o)),
}
GROUPS = {"conv": 0, "bias": 0, "coefficient": 1}


def numbers(seed: int, dtype: torch.dtype) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return {name: torch.randn(shape, generator=generator, dtype=dtype) for name, shape in SHAPES.items()}


def fused(
    seeds: list[int], rule: Rule, dtype: torch.dtype, **options: bool
) -> tuple[dict[str, nn.Parameter], Optimizer]:
    each = [numbers(seed, dtype) for seed in seeds]
    parameters = {name: nn.Parameter(torch.cat([e[name] for e in each])) for name in SHAPES}
    if options.pop("channels_last", False):
        parameters["conv"].data = parameters["conv"].data.contiguous(memory_format=torch.channels_last)
    decays = [[0.01 * (s + 1) for s in seeds], [0.0 for _ in seeds]]
    return parameters, Optimizer(parameters, rule, replicas=len(seeds), decays=decays, groups=GROUPS, **options)


def advance(parameters: dict[str, nn.Parameter], optimizer: Optimizer, seeds: list[int], steps: int = 5) -> None:
    alive = torch.ones(len(seeds), dtype=torch.bool)
    for step in range(steps):
        each = [numbers(1000 * s + step, parameters["conv"].dtype) for s in seeds]
        lr = torch.tensor([0.1 / (1 + s + step) for s in seeds], dtype=torch.float64)
        optimizer.update([torch.cat([e[name] for e in each]) for name in parameters], lr, alive)


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("flat_update", [False, True])
@pytest.mark.parametrize("channels_last", [False, True])
def test_each_replica_moves_as_under_torch_optim(name: str, flat_update: bool, channels_last: bool) -> None:
    rule, reference = RULES[name]
    seeds = [0, 1, 2]
    parameters, optimizer = fused(seeds, rule, torch.float64, flat_update=flat_update, channels_last=channels_last)
    advance(parameters, optimizer, seeds)
    for k, seed in enumerate(seeds):
        alone = {n: nn.Parameter(v) for n, v in numbers(seed, torch.float64).items()}
        plain = reference(
            [
                {"params": [alone["conv"], alone["bias"]], "weight_decay": 0.01 * (seed + 1)},
                {"params": [alone["coefficient"]], "weight_decay": 0.0},
            ],
            lr=0.1,
        )
        for step in range(5):
            for n, g in numbers(1000 * seed + step, torch.float64).items():
                alone[n].grad = g
            for group in plain.param_groups:
                group["lr"] = 0.1 / (1 + seed + step)
            plain.step()
        for n, p in parameters.items():
            torch.testing.assert_close(p.view(3, *SHAPES[n])[k], alone[n], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", RULES)
def test_a_replica_moves_to_the_same_bits_alone_fused_and_flat(name: str) -> None:
    rule, seeds = RULES[name][0], [3, 1, 4, 5, 9]
    results = []
    for group, flat_update in ((seeds, False), ([4], False), ([5, 4], True)):
        parameters, optimizer = fused(group, rule, torch.float32, flat_update=flat_update)
        advance(parameters, optimizer, group)
        k = group.index(4)
        results.append({n: p.view(len(group), *SHAPES[n])[k] for n, p in parameters.items()})
    for other in results[1:]:
        assert all(torch.equal(results[0][n], other[n]) for n in SHAPES)


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("flat_update", [False, True])
def test_a_dead_replica_with_nan_gradients_does_not_change_nor_touch_others(name: str, flat_update: bool) -> None:
    rule, seeds = RULES[name][0], [0, 1, 2]
    parameters, optimizer = fused(seeds, rule, torch.float32, flat_update=flat_update)
    twin, twin_optimizer = fused(seeds, rule, torch.float32, flat_update=flat_update)
    before = {n: p.detach().clone().view(3, *SHAPES[n]) for n, p in parameters.items()}
    gradients = [p.detach().clone() for p in parameters.values()]
    broken = [g.clone() for g in gradients]
    for g in broken:
        g.view(3, -1)[1] = float("nan")
    lr = torch.full((3,), 0.1)
    for _ in range(3):
        optimizer.update(broken, lr, torch.tensor([True, False, True]))
        twin_optimizer.update(gradients, lr, torch.ones(3, dtype=torch.bool))
    for n, p in parameters.items():
        rows, twins = p.view(3, *SHAPES[n]), twin[n].view(3, *SHAPES[n])
        assert torch.equal(rows[1], before[n][1])
        assert torch.equal(rows[0], twins[0])
        assert torch.equal(rows[2], twins[2])
    assert all(torch.isfinite(t).all() for t in optimizer.state().values())


def test_state_stacks_replicas_in_the_shapes_of_the_parameters() -> None:
    parameters, optimizer = fused([0, 1], Adam(), torch.float32, channels_last=True)
    state = optimizer.state()
    assert set(state) == {f"{b}.{n}" for b in ("mean", "square") for n in SHAPES} | {"powers"}
    assert state["mean.conv"].shape == parameters["conv"].shape
    assert state["powers"].shape == (2, 2)


def test_the_flat_update_compiles_without_a_graph_break() -> None:
    from functools import partial

    from zerosnet.training.fused.optimizer import _update_flat

    for rule, _ in RULES.values():
        seeds = [0, 1]
        (parameters, optimizer), (twin, plain) = (fused(seeds, rule, torch.float32, flat_update=True) for _ in range(2))
        compiled = torch.compile(partial(_update_flat, rule), backend="aot_eager", fullgraph=True)
        optimizer._update_flat = compiled
        advance(parameters, optimizer, seeds)
        advance(twin, plain, seeds)
        for n in SHAPES:
            torch.testing.assert_close(parameters[n], twin[n])
