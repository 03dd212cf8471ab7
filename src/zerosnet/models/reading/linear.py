"""Measure the parts of a plan: the matrix that takes the streams of one state to those of the next, and the branch."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

import torch
from torch import Tensor

from zerosnet.errors import InputError
from zerosnet.models.reading.algebra import MOST_STREAMS
from zerosnet.models.reading.branches import passage_gains, rms, taken
from zerosnet.models.reading.disturb import DisturbedRun
from zerosnet.models.reading.fit import GROUPINGS, Fit, Layout, fit, layouts
from zerosnet.models.reading.plan import Part, StepPlan, resolved
from zerosnet.models.reading.states import Flow, Sum

_FIXED = 1e-6
"""Weights that differ by less, relative to the largest, are taken for one: the tolerance of fits allows more."""


@dataclass(frozen=True)
class LinearPart:
    """What was measured between two states.

    Attributes:
        A: (streams after, streams before), the mean over groups.
        b: What the branch adds to every stream; None for mixing without a branch.
        c: What the branch reads of every stream.
        branch: The vertices that are the branch f, and how they are weighted in it.
        base: The shape of one stream.
        fits: Everything that was fitted.
    """

    A: Tensor
    b: Tensor | None
    c: Tensor
    branch: tuple[tuple[int, float], ...]
    base: tuple[int, ...]
    fits: tuple[Fit, ...]
    layouts: tuple[tuple[int, Layout], ...] = ()
    """By vertex, how it consists of streams."""
    added: tuple[tuple[int, float], ...] = ()
    """With one stream: vertices and weights whose sum is what is added to the state, at the sum itself."""
    b_variance: Tensor | None = None
    """Variance of every entry of b over channels, images or tokens."""

    def streams(self, vertex: int, tensor: Tensor, base: Sequence[int] | None = None) -> Tensor:
        """See a tensor of the state as its streams; `base` is for another number of images than was measured with."""
        options = layouts(tensor, self.base if base is None else base)
        known = dict(self.layouts).get(vertex)
        return options[known] if known in options else next(iter(options.values()))

    @property
    def spread(self) -> float:
        return max(float(found.spread.max()) for found in self.fits)

    @property
    def widest(self) -> Fit:
        """The fit whose coefficients differ the most."""
        return max(self.fits, key=lambda found: float(found.spread.max()))


def measure_part(
    plan: StepPlan, part: Part, entry: int | None, run_: DisturbedRun, stream: Sequence[int] = ()
) -> LinearPart:
    """Fit the sums of one part, with the branches as they are or, if that is not linear, with their factors applied.

    Args:
        stream: The shape of one stream, for mixing without a branch. By default it is that of the smallest tensor.
    """
    whole = resolved(plan.flow, part)
    attempts = []
    for scaled in (False, True):
        found = _measure(plan, whole, entry, run_, scaled, tuple(stream))
        if found is not None:
            attempts.append(found)
            if max(one.error for one in found.fits) <= run_.precision.tolerance:
                return replace(found, added=_added(plan, whole, found, run_)) if found.A.shape == (1, 1) else found
    raise InputError(_not_linear(plan, whole, attempts))


def _added(plan: StepPlan, part: Part, found: LinearPart, run_: DisturbedRun) -> tuple[tuple[int, float], ...]:
    """Find fixed weights, such as alpha of torch.add, of the branches or else of the branches with their factors."""
    for option in (found, _measure(plan, part, None, run_, True, ())):
        if option is None or not option.branch:
            continue
        weights = option.fits[0].values[:, 0, -len(option.branch) :]
        if float((weights - weights.mean(0)).abs().max()) <= _FIXED * float(weights.abs().max()):
            return tuple((v, float(weight)) for (v, _), weight in zip(option.branch, weights.mean(0)))
    return tuple((v, 1.0) for v in part.sums[0].scaled)


def base_numel(flow: Flow, part: Part) -> int:
    """Count the entries of one stream: those of the branch, or of the smallest tensor of the state."""
    branches = [flow.vertices[v].numel for found in part.sums for v in found.branches]
    states = [flow.vertices[v].numel for v in part.before]
    targets = [flow.vertices[found.target].numel for found in part.sums]
    return min(branches or [*states, *targets])


def kept_gain(plan: StepPlan, part: Part, linear: LinearPart, kept: Mapping[int, Tensor]) -> float:
    """Measure how much larger what a block keeps of one stream is than the mean of A makes it, if A differs."""
    mean = float(linear.fits[0].mean[0, 0])
    if linear.A.shape != (1, 1) or not mean or float(linear.fits[0].spread[0, 0]) <= _FIXED * abs(mean):
        return 1.0
    found = resolved(plan.flow, part).sums[0]
    target = kept[found.target].double()
    terms = (weight * kept[v].double().reshape(target.shape) for v, weight in linear.added)
    state = rms(kept[found.states[0]])
    return rms(target - sum(terms, torch.zeros_like(target))) / (abs(mean) * state) if state else 1.0


def state_gains(
    plan: StepPlan, steps: Sequence[tuple[Part, LinearPart]], kept: Mapping[int, Tensor]
) -> tuple[float, ...]:
    """Measure how much larger every block makes what it keeps than A does, by a passage before it or entries of A."""
    passages = passage_gains(plan, [part for part, _ in steps], kept)
    return tuple(gain * kept_gain(plan, part, linear, kept) for gain, (part, linear) in zip(passages, steps))


def stem_size(plan: StepPlan, first: LinearPart, kept: Mapping[int, Tensor]) -> float:
    """Measure the rms of the first state: of its largest stream, if the first block takes several."""
    part = plan.parts[0]
    if part.kind == "opening" or first.A.shape[1] == 1:
        return rms(kept[taken(plan, part)])
    base = tuple(size for size in kept[first.branch[0][0]].shape if size != 1) or (1,)
    roots = stream_roots(plan.flow, part.before, base_numel(plan.flow, part))
    return max(rms(stream) for root in roots for stream in first.streams(root, kept[root], base))


def stream_roots(flow: Flow, roots: Sequence[int] | frozenset[int], numel: int) -> list[int]:
    """Sort the tensors of a state that consist of streams."""
    return [r for r in sorted(roots) if 0 < flow.vertices[r].numel // numel <= MOST_STREAMS
            and flow.vertices[r].numel % numel == 0]  # fmt: skip


def _measure(
    plan: StepPlan, part: Part, entry: int | None, run_: DisturbedRun, scaled: bool, stream: tuple[int, ...]
) -> LinearPart | None:
    flow = plan.flow
    branches = list(dict.fromkeys(v for s in part.sums for v in (s.scaled if scaled else s.branches)))
    numel = min((flow.vertices[v].numel for v in branches), default=base_numel(flow, part))
    if any(flow.vertices[v].numel != numel for v in branches):
        return None
    shaped = branches[0] if branches else min((*part.before, part.sums[0].target), key=lambda v: flow.vertices[v].numel)
    base = tuple(size for size in flow.vertices[shaped].shape if size != 1) or (1,)
    if stream and not branches:
        numel, base = int(torch.Size(stream).numel()), stream
    old, new = (stream_roots(flow, roots, numel) for roots in (part.before, part.after))
    raw = old
    if part.kind == "opening":  # the projections are the state
        old = list(dict.fromkeys(flow.root[v] for s in part.sums for v in s.states))
        raw = stream_roots(flow, part.before, min(flow.vertices[v].numel for v in part.before))
    if not old or not new:
        return None
    columns, total = _places(flow, old, numel)
    rows, count = _places(flow, new, numel)
    A = torch.zeros(count, total, dtype=torch.float64)
    b = torch.zeros(count, len(branches), dtype=torch.float64)
    variance = torch.zeros_like(b)
    fits: list[Fit] = []
    places: list[tuple[int, Layout]] = []
    for root in set(old) & set(new):
        A[rows[root], columns[root]] = torch.eye(rows[root].stop - rows[root].start, dtype=torch.float64)
    for s in part.sums:
        if s.target not in rows:
            continue
        found = _fit_sum(flow, s, branches, base, run_)
        if found is None:
            return None
        fits.append(found[0])
        places += found[2]
        for place, (vertex, size) in enumerate(found[1]):
            first = sum(one for _, one in found[1][:place])
            A[rows[s.target], columns[flow.root[vertex]]] = found[0].mean[:, first : first + size]
        if branches:
            b[rows[s.target]] = found[0].mean[:, -len(branches) :]
            variance[rows[s.target]] = found[0].spread[:, -len(branches) :].square()
    if not fits:
        return None
    c, reading = _reading(flow, raw, entry, run_, total)
    weights = _weights(b)
    if weights is None:
        return None
    joint = tuple((vertex, float(weight)) for vertex, weight in zip(branches, weights))
    variances = _joint(variance, weights)
    return LinearPart(A, _joint(b, weights), c, joint, base, (*fits, *reading), tuple(places), b_variance=variances)


def _fit_sum(
    flow: Flow, s: Sum, branches: list[int], base: tuple[int, ...], run_: DisturbedRun
) -> tuple[Fit, list[tuple[int, int]], list[tuple[int, Layout]]] | None:
    """Fit one sum under the layout of streams that explains it best; also the leaves' streams and layouts."""
    leaves = list({flow.root[v]: v for v in reversed(s.states)}.values())
    tensors = [run_.after[v] for v in leaves]
    made = run_.after if s.target in branches else run_.before  # a branch that is kept as a stream of its own
    seen = [layouts(made[s.target], base), *(layouts(t, base) for t in tensors)]
    added = [next(iter(layouts(run_.after[v], base).values()), None) for v in branches]
    if any(not one for one in seen) or any(one is None or len(one) != 1 for one in added):
        return None
    best: Fit | None = None
    chosen: tuple[Layout, ...] = ()
    for place in product(*seen):
        target, *states = (one[k] for one, k in zip(seen, place))
        found = fit(
            target, torch.cat([*states, *(t for t in added if t is not None)]), run_.precision.tolerance, len(branches)
        )
        if best is None or _rank(found, run_) < _rank(best, run_):
            best, chosen = found, place
    assert best is not None, "there is a layout for every tensor"
    sizes = [(v, next(iter(one.values())).shape[0]) for v, one in zip(leaves, seen[1:])]
    known = list(zip((s.target, *leaves), chosen))
    for leaf, layout, tensor in zip(leaves, chosen[1:], tensors):
        known += _at_root(flow.root[leaf], layouts(tensor, base)[layout], base, run_)
    return best, sizes, known


def _at_root(root: int, streams: Tensor, base: tuple[int, ...], run_: DisturbedRun) -> list[tuple[int, Layout]]:
    """Find the layout in which the first tensor that holds these numbers consists of the same streams."""
    found = layouts(run_.after[root], base).items() if root in run_.after else ()
    return next(([(root, place)] for place, seen in found if torch.equal(seen, streams)), [])


def _rank(found: Fit, run_: DisturbedRun) -> tuple[float, float]:
    """Rank exact fits by how few coefficients they need, before all others, which are ranked by their error."""
    exact = found.error <= run_.precision.tolerance
    return (GROUPINGS.index(found.grouping) if exact else len(GROUPINGS), found.error)


def _reading(
    flow: Flow, roots: list[int], entry: int | None, run_: DisturbedRun, total: int
) -> tuple[Tensor, list[Fit]]:
    """Fit what is read as a mixture of the streams."""
    if total == 1 or entry is None:
        return torch.ones(total, dtype=torch.float64), []
    if entry in roots:
        numel = flow.vertices[entry].numel
        return torch.eye(total, dtype=torch.float64)[_places(flow, roots, numel)[0][entry].start], []
    base = tuple(size for size in flow.vertices[entry].shape if size != 1) or (1,)
    found = fit_mixture(entry, roots, base, run_)
    return found.mean[0], [found]


def fit_mixture(target: int, roots: list[int], base: tuple[int, ...], run_: DisturbedRun) -> Fit:
    """Fit one tensor of shape `base` as a mixture of streams."""
    options = [layouts(run_.after[root], base).values() for root in roots]
    goal = run_.before[target].reshape(1, *base)
    found = [fit(goal, torch.cat(choice), run_.precision.tolerance) for choice in product(*options)]
    return min(found, key=lambda one: one.error)


def _places(flow: Flow, roots: list[int], numel: int) -> tuple[dict[int, slice], int]:
    places, at = {}, 0
    for root in roots:
        size = flow.vertices[root].numel // numel
        places[root] = slice(at, at + size)
        at += size
    return places, at


def _weights(b: Tensor) -> Tensor | None:
    """Weights of parallel branches in their sum; None if they are not added to the streams in one proportion."""
    if b.shape[1] <= 1:
        return torch.ones(b.shape[1], dtype=b.dtype)
    first = b[:, :1]
    scale = torch.linalg.lstsq(first, b).solution[0] if first.any() else torch.ones(b.shape[1], dtype=b.dtype)
    return scale if torch.allclose(first * scale, b, rtol=1e-6, atol=1e-9) else None


def _joint(b: Tensor, weights: Tensor) -> Tensor | None:
    return b[:, 0] if len(weights) else None


def _not_linear(plan: StepPlan, part: Part, attempts: list[LinearPart]) -> str:
    flow = plan.flow
    names = [f"{flow.vertices[v].operation} in {flow.vertices[v].module or 'the network'}" for v in _seen(part)]
    left = min((max(one.error for one in found.fits) for found in attempts), default=None)
    error = "its tensors have no streams in common" if left is None else f"a linear sum leaves {left:.1e} unexplained"
    return (
        f"the state made by {', '.join(dict.fromkeys(names))} is no linear combination of streams and a branch "
        f"({error}); expected one, or names of modules that are residual blocks (blocks=, in the shell --block)"
    )


def _seen(part: Part) -> Iterator[int]:
    for s in part.sums:
        yield from (s.target, *s.states, *s.branches)
