"""Diagnose any residual network: read its wiring, then measure its states, branches and gradients."""

import math
from collections.abc import Iterable, Mapping
from itertools import combinations, pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils._pytree import tree_leaves, tree_map

from zerosnet.errors import InputError
from zerosnet.models.reading.branches import folded, passage_gains, taken
from zerosnet.models.reading.calls import Example, arguments, untrained_batch_norms
from zerosnet.models.reading.diagnosis import BranchDiagnosis, WiringDiagnosis
from zerosnet.models.reading.linear import base_numel, stream_roots
from zerosnet.models.reading.plan import Part, StepPlan, plan_of, resolved
from zerosnet.models.reading.read import NetworkReading, read_network
from zerosnet.models.reading.trace import Trace, check_finite, run

READ_WITH = 2
"""Number of examples that are enough to read a wiring."""

_DISTURBANCE = 1e-2
_STATISTICS = ("running", "batch")


def diagnose_network(
    model: nn.Module,
    example: Example,
    *,
    blocks: Iterable[str] | None = None,
    statistics: str | None = None,
    seed: int = 0,
) -> WiringDiagnosis:
    """Diagnose any residual network on an example; the network stays as it is.

    Args:
        example: A tensor, a tuple of arguments or a dictionary of keyword arguments, with a few images or texts.
        blocks: Names of residual blocks, if they are not found; see `wiring_of`.
        statistics: "running" or "batch", what batch norms use; by default the batch's if they were never trained.
        seed: Of disturbances, and of the direction in which the output's gradient is taken.
    """
    if statistics not in (None, *_STATISTICS):
        raise InputError(f"statistics is {statistics!r}; expected {' or '.join(_STATISTICS)}")
    chosen = statistics or ("batch" if isinstance(model, nn.Module) and untrained_batch_norms(model) else "running")
    reading = read_network(model, _first(example, READ_WITH), blocks=blocks, seed=seed, statistics=chosen)
    states = _states(reading.plan.steps)
    keep = {v for part, linear in reading.parts for s in resolved(reading.plan.flow, part).sums
            for v in (s.target, *s.states, *s.scaled, *(b for b, _ in linear.branch))}  # fmt: skip
    keep |= {v for state in states for v in state} | {v for v in (*reading.entries, reading.read) if v is not None}
    parts = [part for part, _ in reading.parts]
    keep |= {v for part in parts for v in part.after}
    keep |= {v for pair in pairwise(parts) for both in folded(reading.plan, *pair) for v in both}
    clean = run(model, example, keep={*keep, reading.plan.output}, statistics=chosen)
    _check_same(model, reading, clean)
    check_finite(model, clean.vertices, clean.before)
    forward = _forward_gains(model, example, reading, states, clean, chosen, seed)
    backward = _backward_gains(model, example, reading.plan, chosen, seed)
    sizes = [_rms(_branch(reading, n, clean)) for n in range(len(reading.parts))]
    stem = _rms(clean.before[taken(reading.plan, parts[0])])
    passages = passage_gains(reading.plan, parts, clean.before)
    predicted = reading.wiring.in_units_of_branches(sizes, stem, passages).shares(stem=1.0)
    gains = 10 ** reading.wiring.gains().forward_rows[1:]
    stages = [n for n, count in enumerate(reading.wiring.counts) for _ in range(count)]
    found = []
    for n, name in enumerate(reading.wiring.names):
        before, after, part = _contribution(reading, n, clean)
        share, spread = _share(part, after)
        found.append(
            BranchDiagnosis(
                index=n,
                name=name,
                stage=stages[n],
                state_rms=_rms(after),
                branch_rms=_rms(part),
                share=share,
                share_spread=spread,
                predicted_share=float(predicted[n]),
                forward_gain=forward[n],
                backward_gain=backward[n],
                wiring_gain=float(gains[n]),
                cosine=_cosine(part, after - part),
                influence=_influence(before, after),
                likeness=_likeness(reading, n, clean),
            )
        )
    count = next((len(t) for t in tree_leaves(arguments(example)) if isinstance(t, Tensor)), 1)
    return WiringDiagnosis(type(model).__name__, count, chosen, reading.wiring, tuple(found))


# -- where things are --------------------------------------------------------------------------------------------------


def _states(steps: Iterable[Part]) -> list[list[int]]:
    """List the vertices of the tensors of the state that every block makes."""
    return [sorted(s.target for s in part.sums) for part in steps]


def _contribution(reading: NetworkReading, n: int, clean: Trace) -> tuple[Tensor, Tensor, Tensor]:
    """Return what block n reads, what is read after it, and the part of f_n in that."""
    part, linear = reading.parts[n]
    sums = resolved(reading.plan.flow, part).sums[0]
    if linear.A.shape == (1, 1):
        target = clean.before[sums.target]
        scaled = sum((clean.before[v].reshape(target.shape) for v in sums.scaled), torch.zeros_like(target))
        return clean.before[sums.states[0]].reshape(target.shape), target, scaled
    weights = [*(step.c for step in reading.wiring.steps), reading.wiring.read][n + 1]
    factor = sum(float(c) * float(b) for c, b in zip(weights, reading.wiring.steps[n].b))
    entries = [*reading.entries, reading.read]
    branch = _branch(reading, n, clean)
    before, after = (_value(reading, clean, entries[m], m) for m in (n, n + 1))
    return before, after.reshape(branch.shape), factor * branch


def _value(reading: NetworkReading, clean: Trace, entry: int | None, n: int) -> Tensor:
    """Return what block n reads: the mixture, or the state if it is one stream."""
    if entry is not None:
        return clean.before[entry]
    if n == 0:
        return clean.before[taken(reading.plan, reading.parts[0][0])]
    return clean.before[_states(reading.plan.steps)[n - 1][-1]]


def _branch(reading: NetworkReading, n: int, clean: Trace) -> Tensor:
    branch = reading.parts[n][1].branch
    first = clean.before[branch[0][0]]
    return sum((weight * clean.before[v].reshape(first.shape) for v, weight in branch), torch.zeros_like(first))


# -- measures ----------------------------------------------------------------------------------------------------------


def _forward_gains(
    model: nn.Module,
    example: Example,
    reading: NetworkReading,
    states: list[list[int]],
    clean: Trace,
    mode: str,
    seed: int,
) -> list[float]:
    """Disturb the first state, and follow the difference."""
    generator = torch.Generator().manual_seed(seed)

    def noise(tensor: Tensor) -> Tensor:
        drawn = torch.randn(tensor.shape, generator=generator, dtype=torch.float64).to(tensor)
        return _DISTURBANCE * _rms(tensor) * drawn

    roots = reading.parts[0][0].before
    made = {v for v in roots if reading.plan.flow.vertices[v].operation != "input"}
    given = _disturbed(example, generator) if not made else example
    made_of = [v for state in states for v in state]
    moved = run(model, given, keep=[*made_of, *roots], disturb=dict.fromkeys(made, noise), statistics=mode)
    first = [moved.after[v] - (moved.before[v] if made else tensor) for v, tensor in _originals(roots, example, moved)]
    size = _rms(torch.cat([delta.flatten() for delta in first]))
    moves = [torch.cat([(moved.before[v] - clean.before[v]).flatten() for v in state]) for state in states]
    return [_rms(move) / size if size else float("nan") for move in moves]


def _originals(roots: Iterable[int], example: Example, moved: Trace) -> list[tuple[int, Tensor]]:
    tensors = [t for t in tree_leaves(arguments(example)) if isinstance(t, Tensor)]
    return [(v, tensors[v] if v < len(tensors) else moved.before[v]) for v in roots]


def _disturbed(example: Example, generator: torch.Generator) -> Example:
    def moved(value: Any) -> Any:
        if not isinstance(value, Tensor) or not value.is_floating_point():
            return value
        drawn = torch.randn(value.shape, generator=generator, dtype=torch.float64).to(value)
        return value + _DISTURBANCE * _rms(value) * drawn

    args, kwargs = tree_map(moved, arguments(example))
    result: Example = kwargs or args
    return result


@torch.inference_mode(False)  # gradients are needed, also where the caller wants none
def _backward_gains(model: nn.Module, example: Example, plan: StepPlan, mode: str, seed: int) -> list[float]:
    """Follow the gradient of the output, along a random direction, back to every state."""

    def leaf(tensor: Tensor) -> Tensor:
        return torch.zeros_like(tensor).requires_grad_()

    states = _states(plan.steps)
    roots = [v for v in plan.steps[0].before if plan.flow.vertices[v].operation != "input"]
    made_of = [v for state in states for v in state]
    keep, leaves = [*made_of, plan.output], dict.fromkeys(roots, leaf)
    moved = run(model, example, keep=keep, disturb=leaves, gradients=True, statistics=mode)
    if not same_operations(moved, plan):  # it computes otherwise where gradients are asked for
        other = plan_of(run(model, example, gradients=True, statistics=mode))
        if len(other.steps) == len(states) and same_operations(moved, other):
            return _backward_gains(model, example, other, mode, seed)
        return [float("nan")] * len(states)
    output = moved.after[plan.output]
    generator = torch.Generator().manual_seed(seed)
    direction = torch.randn(output.shape, generator=generator, dtype=torch.float64).to(output)
    loss = (output * direction).sum()
    kept = [moved.after[v] for v in made_of]
    written_over = len({id(tensor) for tensor in kept}) < len(kept)  # x += f(x): one tensor is all states
    if written_over or not all(tensor.requires_grad for tensor in kept):
        return [float("nan")] * len(states)
    gradients = torch.autograd.grad(loss, kept, allow_unused=True, retain_graph=True)
    last = kept[-len(states[-1]) :]
    if not any(gradient is not None and gradient.any() for gradient in gradients[-len(last) :]):  # a head at 0
        along = [torch.randn(t.shape, generator=generator, dtype=torch.float64).to(output) for t in last]
        loss = torch.stack([(t * one).sum() for t, one in zip(last, along)]).sum()
        gradients = torch.autograd.grad(loss, kept, allow_unused=True)
    squares = iter([0.0 if gradient is None else float(gradient.norm()) ** 2 for gradient in gradients])
    norms = [math.sqrt(sum(next(squares) for _ in state)) for state in states]
    return [norm / norms[-1] if norms[-1] else float("nan") for norm in norms]


def _share(part: Tensor, whole: Tensor) -> tuple[float, float]:
    """rms of a part over that of the whole, and the deviation of this over tokens or pixels."""
    axis = _features(whole)
    each = part.norm(dim=axis) / whole.norm(dim=axis).clamp_min(torch.finfo(whole.dtype).tiny)
    size = _rms(whole)
    return _rms(part) / size if size else float("inf"), float(each.std(correction=0))


def _influence(before: Tensor, after: Tensor) -> float:
    """1 - cosine of two states; not a number if their shapes differ."""
    return 1 - _cosine(before.reshape(after.shape), after) if before.numel() == after.numel() else math.nan


def _cosine(a: Tensor, b: Tensor) -> float:
    return float(functional.cosine_similarity(a, b, dim=_features(a)).mean())


def _features(tensor: Tensor) -> int:
    """Find the axis of a pixel's or token's features: the last one, or the second one of images, channels first."""
    sizes = tensor.shape
    images = len(sizes) == 4 and sizes[1] > 1
    return 1 if images and not (sizes[1] == sizes[2] != sizes[3]) else -1


def _likeness(reading: NetworkReading, n: int, clean: Trace) -> float | None:
    """Mean cosine of two streams after block n."""
    part, linear = reading.parts[n]
    first = clean.before[linear.branch[0][0]]
    base = tuple(s for s in first.shape if s != 1) or (1,)
    roots = stream_roots(reading.plan.flow, part.after, base_numel(reading.plan.flow, part))
    streams = [stream for root in roots for stream in linear.streams(root, clean.before[root], base)]
    if len(streams) < 2:
        return None
    return sum(_cosine(a, b) for a, b in combinations(streams, 2)) / (len(streams) * (len(streams) - 1) / 2)


def _rms(tensor: Tensor) -> float:
    return float(tensor.detach().double().square().mean().sqrt())


def _first(example: Example, count: int) -> Example:
    """Return the first few images or texts of an example."""
    tensors = [t for t in tree_leaves(arguments(example)) if isinstance(t, Tensor) and t.dim()]
    batch = len(tensors[0]) if tensors else 0

    def cut(value: Any) -> Any:
        return value[:count] if isinstance(value, Tensor) and value.dim() and len(value) == batch else value

    if isinstance(example, Tensor):
        cut_one: Example = cut(example)
        return cut_one
    if isinstance(example, Mapping):
        return {name: tree_map(cut, value) for name, value in example.items()}
    return tuple(tree_map(cut, value) for value in example)


def same_operations(trace: Trace, plan: StepPlan) -> bool:
    """Tell whether a run made its tensors as the planned one did, so that their numbers mean the same."""
    return [v.operation for v in trace.vertices] == [v.operation for v in plan.flow.vertices]


def _check_same(model: nn.Module, reading: NetworkReading, trace: Trace) -> None:
    if not same_operations(trace, reading.plan):
        raise InputError(
            f"{type(model).__name__} runs differently on {READ_WITH} examples and on more; expected the same operations"
        )
