"""Diagnose any residual network: read its wiring, then measure its states, branches and gradients."""

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations, pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils._pytree import tree_leaves, tree_map

from zerosnet.errors import ExampleError, InputError
from zerosnet.models.reading.branches import folded, name_of_branch, rms
from zerosnet.models.reading.calls import (
    Example,
    arguments,
    check_call,
    draws_chance,
    require_weights,
    untrained_batch_norms,
)
from zerosnet.models.reading.diagnosis import BranchDiagnosis, WiringDiagnosis
from zerosnet.models.reading.features import axis_in, feature_axes
from zerosnet.models.reading.gains import StateDisturbance, backward_gains, same_operations
from zerosnet.models.reading.linear import base_numel, state_gains, stem_size, stream_roots
from zerosnet.models.reading.plan import plan_of, resolved
from zerosnet.models.reading.read import NetworkReading, read_steadily
from zerosnet.models.reading.reads import followed_states, reads_of
from zerosnet.models.reading.trace import Trace, check_finite, run
from zerosnet.models.reading.unread import require_most

READ_WITH = 2
"""Number of examples that are enough to read a wiring."""

_MOST_NAMES = 5
"""Number of modules that an error names."""

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
        blocks: Names of residual blocks, or of the branch that each adds, if they are not found; see `wiring_of`.
        statistics: "running" or "batch", what batch norms use; by default the batch's if they were never trained.
        seed: Of disturbances, and of the direction in which the output's gradient is taken.
    """
    if statistics not in (None, *_STATISTICS):
        raise InputError(f"statistics is {statistics!r}; expected {' or '.join(_STATISTICS)}")
    require_weights(model)
    chosen = statistics or ("batch" if untrained_batch_norms(model) else "running")
    reading = _read(model, example, blocks, seed, chosen)
    require_most(model, reading.wiring)
    states, reads = followed_states(reading.plan), reads_of(reading.plan)
    keep = {v for part, linear in reading.parts for s in resolved(reading.plan.flow, part).sums
            for v in (s.target, *s.states, *s.scaled, *(b for b, _ in linear.branch))}  # fmt: skip
    keep |= {v for state in states for v in state} | {*reads}
    parts = [part for part, _ in reading.parts]
    keep |= {v for part in parts for v in (*part.before, *part.after)}
    keep |= {v for pair in pairwise(parts) for both in folded(reading.plan, *pair) for v in both}
    clean = run(model, example, keep={*keep, reading.plan.output}, statistics=chosen)
    if not same_operations(clean, reading.plan):  # it may have built a cache for this number of examples
        clean = run(model, example, keep={*keep, reading.plan.output}, statistics=chosen)
    _check_same(model, reading, clean)
    check_finite(model, clean.vertices, clean.before)
    forward = StateDisturbance(reading, states, chosen, seed).gains(model, example, clean)
    backward = backward_gains(model, example, reading.plan, chosen, seed)
    sizes = [_size(reading, n, clean) for n in range(len(reading.parts))]
    stem = stem_size(reading.plan, reading.parts[0][1], clean.before)
    passages = state_gains(reading.plan, reading.parts, clean.before)
    predicted = reading.wiring.in_units_of_branches(sizes, stem, passages).shares(stem=1.0)
    gains = 10 ** reading.wiring.gains().forward_rows[1:]
    stages = [n for n, count in enumerate(reading.wiring.counts) for _ in range(count)]
    axes = feature_axes(reading.plan.flow.vertices)
    found = []
    for n, name in enumerate(reading.wiring.names):
        before, after, part, vertex = _contribution(reading, n, clean, reads)
        axis = axis_in(after.shape, axes[vertex], clean.before[vertex].shape)
        share, spread = _share(part, after, axis)
        found.append(
            BranchDiagnosis(
                index=n,
                name=name,
                stage=stages[n],
                state_rms=rms(after),
                branch_rms=rms(part),
                share=share,
                share_spread=spread,
                predicted_share=float(predicted[n]),
                forward_gain=forward[n],
                backward_gain=backward[n],
                wiring_gain=float(gains[n]),
                cosine=_cosine(part, after - part, axis),
                influence=_influence(before, after, axis),
                likeness=_likeness(reading, n, clean, axes),
            )
        )
    count = next((len(t) for t in tree_leaves(arguments(example)) if isinstance(t, Tensor)), 1)
    return WiringDiagnosis(type(model).__name__, count, chosen, reading.wiring, tuple(found))


# -- reading -----------------------------------------------------------------------------------------------------------


def _read(
    model: nn.Module, example: Example, blocks: Iterable[str] | None, seed: int, statistics: str
) -> NetworkReading:
    """Read the wiring on a few examples, and again with other random numbers if the network draws some."""
    few, drawn = _few(model, example, seed, statistics)
    names = blocks
    if isinstance(blocks, Iterable) and not isinstance(blocks, str):
        names = _modules(model, run(model, few, statistics=statistics), list(blocks))
    return read_steadily(model, few, drawn, blocks=names, seed=seed, statistics=statistics)


def _modules(model: nn.Module, trace: Trace, blocks: Sequence[str]) -> list[str]:
    """Replace the names of branches by those of the modules that add them; refuse others."""
    found = [(name, _module_of(trace, name)) for name in blocks]
    for name, module in found:
        if module is None:
            try:
                plan_of(trace, [name])
            except InputError as error:
                raise InputError(f"{error}; {_fitting(model, trace)}") from None
    return [module for _, module in found if module is not None]


def _module_of(trace: Trace, name: str) -> str | None:
    """Find the module that is a block: the one of that name, or the one around it that adds its output and no other."""
    if _branches_of(trace, name):
        return name
    parts = str(name).split(".")
    around = (".".join(parts[:n]) for n in range(len(parts) - 1, 0, -1))
    return next((module for module in around if _branches_of(trace, module) == {name}), None)


def _branches_of(trace: Trace, module: str) -> set[str]:
    """List the names of the branches that a module adds to its input."""
    try:
        plan = plan_of(trace, [module])
    except InputError:
        return set()
    return {name_of_branch(plan, part, v) for part in plan.steps for s in part.sums for v in s.branches}


def _fitting(model: nn.Module, trace: Trace) -> str:
    called = {call.name for call in trace.calls}
    fit = [name for name, _ in model.named_modules() if name and name in called and _branches_of(trace, name)]
    inner = [name for name in fit if not any(other.startswith(f"{name}.") for other in fit)]
    if not inner:
        return "no module's output is such a sum: leave blocks out, and sums are searched for"
    more = f" and {len(inner) - _MOST_NAMES} more" if len(inner) > _MOST_NAMES else ""
    return f"modules that add to their input: {', '.join(inner[:_MOST_NAMES])}{more}"


def _few(model: nn.Module, example: Example, seed: int, statistics: str) -> tuple[Example, bool]:
    """Return the first few examples, or all if the network runs only on these, and check if it draws random numbers."""
    few = _first(example, READ_WITH)
    check_call(model, few, seed)
    try:
        return few, draws_chance(model, few, statistics)
    except ExampleError as error:  # such as a mask that has the batch's length by coincidence, and was cut as well
        try:
            return example, draws_chance(model, example, statistics)
        except ExampleError:
            raise error from None


# -- where things are --------------------------------------------------------------------------------------------------


def _contribution(
    reading: NetworkReading, n: int, clean: Trace, reads: Sequence[int]
) -> tuple[Tensor, Tensor, Tensor, int]:
    """Return what block n reads, what is read after it, the part of f_n in that, and the vertex of the second."""
    part, linear = reading.parts[n]
    sums = resolved(reading.plan.flow, part).sums[0]
    if linear.A.shape == (1, 1):
        target = clean.before[sums.target]
        terms = (weight * clean.before[v].reshape(target.shape) for v, weight in linear.added)
        before = clean.before[sums.states[0]].reshape(target.shape)
        return before, target, sum(terms, torch.zeros_like(target)), sums.target
    weights = [*(step.c for step in reading.wiring.steps), reading.wiring.read][n + 1]
    factor = sum(float(c) * float(b) for c, b in zip(weights, reading.wiring.steps[n].b))
    branch = _branch(reading, n, clean)
    after = reads[n + 1]
    return clean.before[reads[n]], clean.before[after].reshape(branch.shape), factor * branch, after


def _size(reading: NetworkReading, n: int, clean: Trace) -> float:
    """Measure the rms of f_n; if b_n differs over images or tokens, as that of b_n f_n in units of b_n.

    b_n was read on a few examples, and a gate may be another one on the rest.
    """
    part, linear = reading.parts[n]
    mean = float(linear.fits[0].mean[0, 0])
    spread = reading.wiring.deviations[n][0]
    if linear.A.shape != (1, 1) or not spread or not mean:
        return rms(_branch(reading, n, clean))
    target = clean.before[resolved(reading.plan.flow, part).sums[0].target]
    added = sum(
        (weight * clean.before[v].reshape(target.shape) for v, weight in linear.added), torch.zeros_like(target)
    )
    after = abs(float(linear.A) / mean)  # what mixing and norms after the sum do to both terms
    return rms(added) * after / math.hypot(float(reading.wiring.steps[n].b[0]), spread)


def _branch(reading: NetworkReading, n: int, clean: Trace) -> Tensor:
    branch = reading.parts[n][1].branch
    first = clean.before[branch[0][0]]
    return sum((weight * clean.before[v].reshape(first.shape) for v, weight in branch), torch.zeros_like(first))


# -- measures ----------------------------------------------------------------------------------------------------------


def _share(part: Tensor, whole: Tensor, axis: int) -> tuple[float, float]:
    """rms of a part over that of the whole, and the deviation of this over tokens or pixels."""
    parts, wholes = (tensor.double().norm(dim=axis) for tensor in (part, whole))  # half precision may overflow
    each = parts / wholes.clamp_min(torch.finfo(wholes.dtype).tiny)
    size = rms(whole)
    return rms(part) / size if size else float("inf"), float(each.std(correction=0))


def _influence(before: Tensor, after: Tensor, axis: int) -> float:
    """1 - cosine of two states; not a number if their shapes differ."""
    return 1 - _cosine(before.reshape(after.shape), after, axis) if before.numel() == after.numel() else math.nan


def _cosine(a: Tensor, b: Tensor, axis: int) -> float:
    return float(functional.cosine_similarity(a.double(), b.double(), dim=axis).mean())


def _likeness(reading: NetworkReading, n: int, clean: Trace, axes: Sequence[int | None]) -> float | None:
    """Mean cosine of two streams after block n."""
    part, linear = reading.parts[n]
    first = clean.before[linear.branch[0][0]]
    base = tuple(s for s in first.shape if s != 1) or (1,)
    roots = stream_roots(reading.plan.flow, part.after, base_numel(reading.plan.flow, part))
    streams = [stream for root in roots for stream in linear.streams(root, clean.before[root], base)]
    if len(streams) < 2:
        return None
    axis = axis_in(base, axes[linear.branch[0][0]], first.shape)
    return sum(_cosine(a, b, axis) for a, b in combinations(streams, 2)) / (len(streams) * (len(streams) - 1) / 2)


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


def _check_same(model: nn.Module, reading: NetworkReading, trace: Trace) -> None:
    if not same_operations(trace, reading.plan):
        raise InputError(
            f"{type(model).__name__} runs differently on {READ_WITH} examples and on more; expected the same operations"
        )
