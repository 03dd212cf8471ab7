"""Plan what is to be measured: which tensors every step between two states sums, and which branch it adds."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal

from zerosnet.errors import InputError
from zerosnet.models.reading.algebra import NORMS, SAME
from zerosnet.models.reading.states import Flow, Moment, State, Sum, Walk, flow_of, states_of
from zerosnet.models.reading.trace import Trace

MOST_TENSORS = 32
"""The largest number of tensors that may be a state together."""

Kind = Literal["step", "opening", "mixing", "passage"]


@dataclass(frozen=True)
class Part:
    """What happens between two states: a step, the opening of a stage, mixing without a branch, or a passage.

    An opening adds a branch to a projection of the state; a passage is any other operation, such as an activation.
    """

    kind: Kind
    before: State
    after: State
    begin: int
    end: int
    sums: tuple[Sum, ...]


@dataclass(frozen=True)
class StepPlan:
    """The steps of a network in order, and the passages among them."""

    flow: Flow
    parts: tuple[Part, ...]
    output: int
    called: frozenset[str] = frozenset()
    """Names of the modules that were called."""

    @property
    def steps(self) -> list[Part]:
        return [part for part in self.parts if part.kind in ("step", "opening")]

    @cached_property
    def consumers(self) -> dict[int, list[int]]:
        """By vertex, those that are made of it and reach the output."""
        found: dict[int, list[int]] = {}
        for v in self.flow.vertices:
            for i in v.inputs if self.flow.used[v.index] else ():
                found.setdefault(i, []).append(v.index)
        return found


def plan_of(trace: Trace, blocks: Iterable[str] | None = None) -> StepPlan:
    """Find the steps of a network in a record of its run, or those of the blocks with the given names."""
    flow = flow_of(trace)
    called = frozenset(call.name for call in trace.calls)
    if blocks is not None:
        return StepPlan(flow, tuple(_of_blocks(flow, trace, _names(blocks))), trace.output, called)
    levels = states_of(flow, MOST_TENSORS)
    widest = levels[-1]
    if not widest:
        return StepPlan(flow, (), trace.output, called)
    parts = _coalesced(flow, _refined(flow, levels, 0, widest[0], widest[-1]))
    return StepPlan(flow, tuple(_simplified(parts)), trace.output, called)


def _names(blocks: Any) -> list[str]:
    """Read names of blocks, each of them once."""
    if isinstance(blocks, str) or not isinstance(blocks, Iterable):
        raise InputError(f"blocks is {blocks!r}; expected a list of names of modules")
    names = list(blocks)
    if not names:
        raise InputError("blocks is empty; expected one name of a module at least, or None to find blocks")
    return [name for n, name in enumerate(names) if name not in names[:n]]


def _refined(flow: Flow, levels: Sequence[Sequence[Moment]], level: int, first: Moment, last: Moment) -> list[Part]:
    """Cut an interval at states of few tensors, and where that takes several blocks for one, at states of more."""
    inner = [state for state in levels[level] if first[0] < state[0] < last[0]]
    found = []
    for (begin, before), (end, after) in pairwise([first, *inner, last]):
        part = _part(flow, before, after, begin, end)
        series = part.kind in ("step", "opening") and _in_series(flow, part)
        if level + 1 < len(levels) and (series or part.kind in ("passage", "opening")):
            finer = _refined(flow, levels, level + 1, (begin, before), (end, after))
            if sum(one.kind in ("step", "opening") for one in finer) > (part.kind == "opening" and not series):
                found += finer
                continue
        found.append(part)
    return found


def _coalesced(flow: Flow, parts: list[Part]) -> list[Part]:
    """Join parts that only together are a step: a branch cut in pieces, or a sum that is finished by the next part."""
    found: list[Part] = []
    n = 0
    while n < len(parts):
        joined = _joined(flow, parts, n)
        found.append(parts[n] if joined is None else joined[0])
        n = n + 1 if joined is None else joined[1]
    return found


def _joined(flow: Flow, parts: list[Part], n: int) -> tuple[Part, int] | None:
    """Join part n with the fewest later ones that make it a step; return it and the place of the next part."""
    first = parts[n]
    whole = _returned(flow, parts, n)
    if whole is not None:
        return whole, n + 2
    unfinished = first.kind == "step" and any(s.branches and not s.states for s in first.sums)
    if first.kind in ("step", "opening") and not unfinished:
        return None
    if first.kind == "mixing" and _numel(flow, first.after) <= _numel(flow, first.before):
        return None  # whole in itself: it leaves nothing behind that only a branch needs
    for m in range(n + 1, len(parts)):
        if parts[m].kind in ("step", "opening"):
            return None
        whole = _part(flow, first.before, parts[m].after, first.begin, parts[m].end)
        if whole.kind == "step" and all(s.states for s in whole.sums) and not _in_series(flow, whole):
            return whole, m + 1
    return None


def _returned(flow: Flow, parts: list[Part], n: int) -> Part | None:
    """Join two parts if only the tensor between them has more streams: as in (A | b) cat(X, f), or what reads first."""
    pair = parts[n : n + 2]
    if sorted(part.kind for part in pair) != ["passage", "step"] or not all(s.states for p in pair for s in p.sums):
        return None
    first, second = pair
    less, more = _numel(flow, first.before), _numel(flow, first.after)
    if len(first.before) > 1 or len(first.after) > 1 or not less == _numel(flow, second.after) < more:
        return None
    whole = _part(flow, first.before, second.after, first.begin, second.end)
    return whole if whole.kind == "step" and not _in_series(flow, whole) else None


def _numel(flow: Flow, state: State) -> int:
    return sum(flow.vertices[v].numel for v in state)


def _in_series(flow: Flow, part: Part) -> bool:
    """Check if a branch of a part reads another one."""
    branches = {flow.root[v] for s in part.sums for v in s.branches}
    before = part.before
    return any(branches & (ancestors(flow, before, v) - {flow.root[v]}) for s in part.sums for v in s.branches)


def _part(flow: Flow, before: State, after: State, begin: int, end: int) -> Part:
    walk = Walk(flow, before)
    sums = tuple(walk.sum_of(target) for target in sorted(after - before))
    return Part(_kind(flow, before, sums), before, after, begin, end, sums)


def _kind(flow: Flow, before: State, sums: tuple[Sum, ...]) -> Kind:
    branches = {v for s in sums for v in s.branches}
    if any(s.states for s in sums):
        if branches and not any(_origins(flow, before, v) for v in branches):
            return "passage"  # what is added, such as embeddings of positions, reads no state
        return "step" if branches else "passage" if _reshapes(flow, before, sums) else "mixing"
    if branches and _opening(flow, before, sums):
        return "opening"
    return "passage"


def _reshapes(flow: Flow, before: State, sums: tuple[Sum, ...]) -> bool:
    """Check if one tensor is cut up and put together in another shape, as where patches are merged."""
    if len(before) > 1 or len(sums) > 1:
        return False
    old, new = (sorted(size for size in flow.vertices[v].shape if size != 1) for v in (*before, sums[0].target))
    return old != new


def _opening(flow: Flow, before: State, sums: tuple[Sum, ...]) -> tuple[Sum, ...]:
    """Separate the projections of the state's tensors from the branch: each is made of one tensor, with less work.

    The result is empty if there is no telling. A projection is there to change the shape.
    """
    found = {v: scaled for s in sums for v, scaled in zip(s.branches, s.scaled)}
    shapes = {flow.vertices[v].shape for v in before} & {flow.vertices[s.target].shape for s in sums}
    if shapes or len(found) != len(before) + 1 or len({flow.vertices[v].numel for v in found}) != 1:
        return ()
    *projections, branch = sorted(found, key=lambda v: _operations(flow, before, v))
    if _operations(flow, before, projections[-1]) == _operations(flow, before, branch):
        return ()
    origins = {projection: _origins(flow, before, projection) for projection in projections}
    if any(len(roots) != 1 for roots in origins.values()) or set().union(*origins.values()) != set(before):
        return ()
    projected = sorted(projections, key=lambda v: min(origins[v]))
    return tuple(
        Sum(s.target, tuple(v for v in projected if v in s.branches), (branch,), (found[branch],)) for s in sums
    )


def _origins(flow: Flow, before: State, vertex: int) -> set[int]:
    """List the tensors of a state that a tensor is made of."""
    made = ancestors(flow, before, vertex)
    return {flow.root[i] for v in made for i in flow.vertices[v].inputs if flow.root[i] in before}


def _operations(flow: Flow, before: State, vertex: int) -> int:
    """Count the operations between a state and a tensor made of it, those that only rearrange left out."""
    return sum(flow.vertices[v].operation not in SAME for v in ancestors(flow, before, vertex))


def ancestors(flow: Flow, before: State, vertex: int) -> set[int]:
    """List a tensor and all that it was made of after a state."""
    seen: set[int] = set()
    waiting = [vertex]
    while waiting:
        v = waiting.pop()
        if v in seen or flow.root[v] in before or not flow.vertices[v].data:
            continue
        seen.add(v)
        waiting += flow.vertices[v].inputs
    return seen


def _simplified(parts: list[Part]) -> list[Part]:
    """Join mixing without a branch to the step after it; before the first step there is nothing to measure."""
    first = next((n for n, part in enumerate(parts) if part.kind in ("step", "opening")), None)
    if first is None:
        return []
    return parts[first:]


def _of_blocks(flow: Flow, trace: Trace, names: list[str]) -> list[Part]:
    calls = {call.name: call for call in trace.calls}
    missing = [name for name in names if name not in calls]
    if missing:
        raise InputError(f"blocks has {missing[0]!r}; expected names of modules that the network calls, such as "
                         f"{', '.join(list(calls)[:5])}")  # fmt: skip
    parts = []
    ordered = sorted((calls[name] for name in names), key=lambda call: call.begin)
    for call, later in zip(ordered, [*ordered[1:], None]):
        inputs = frozenset(flow.root[i] for i in call.inputs if flow.vertices[i].data)
        outputs = [i for i in call.outputs if flow.used[i] and flow.root[i] not in inputs]
        if not inputs or not outputs:
            raise InputError(f"blocks has {call.name!r}, a module whose output does not reach the network's output "
                             "or whose input does not depend on the example; expected a residual block")  # fmt: skip
        kept = _alive_later(flow, inputs, max(outputs))
        kept = kept if later is None else kept.intersection(flow.root[i] for i in later.inputs)
        after = kept.union(flow.root[i] for i in outputs)
        part = _part(flow, inputs, after, call.begin, max(outputs))
        if part.kind not in ("step", "opening"):
            raise InputError(f"blocks has {call.name!r}, whose output is {_seen(flow, part)}; expected a sum of its "
                             "input and a branch")  # fmt: skip
        parts.append(part)
    return parts


def _alive_later(flow: Flow, roots: State, moment: int) -> State:
    return frozenset(r for r in roots if flow.last_uses.get(r, -1) > moment)


def _seen(flow: Flow, part: Part) -> str:
    names = [flow.vertices[v].operation for s in part.sums for v in (s.target, *s.branches)]
    return "made by " + ", ".join(dict.fromkeys(names)) if names else "its input"


def resolved(flow: Flow, part: Part) -> Part:
    """Return an opening with its projection in place of a state; other parts are returned as they are."""
    if part.kind != "opening":
        return part
    return replace(part, sums=_opening(flow, part.before, part.sums))


def is_norm(flow: Flow, part: Part) -> bool:
    """Check if a passage is a normalisation of the state."""
    made = [flow.vertices[s.target].operation for s in part.sums]
    return part.kind == "passage" and len(made) == 1 and made[0] in NORMS


def normed(flow: Flow, part: Part) -> int:
    """Find the tensor that a norm was given."""
    made = flow.vertices[part.sums[0].target]
    return next(i for i in made.inputs if flow.vertices[i].data)
