"""Find what blocks and the head read of a state, and which tensors a disturbance is followed through."""

from dataclasses import replace

from zerosnet.errors import InputError
from zerosnet.models.reading.algebra import COPIES, PICKS, SCALES, limit_reached
from zerosnet.models.reading.branches import entry_of, joining, taken
from zerosnet.models.reading.linear import base_numel, stream_roots
from zerosnet.models.reading.plan import Part, StepPlan, ancestors, resolved
from zerosnet.models.reading.states import Flow, Walk
from zerosnet.models.reading.trace import words

_JOINS = PICKS | COPIES | SCALES | words("stack cat concat concatenate hstack vstack dstack")
"""Operations that make streams of copies of a tensor."""


def trimmed(plan: StepPlan) -> StepPlan:
    """Drop what comes after the last block."""
    last = max(n for n, part in enumerate(plan.parts) if part.kind in ("step", "opening"))
    return replace(plan, parts=plan.parts[: last + 1])


def entries_of(plan: StepPlan) -> dict[int, int | None]:
    """Find what the branch of every part with several streams reads, by the place of the part."""
    found: dict[int, int | None] = {}
    for place, part in enumerate(plan.parts):
        if part.kind not in ("step", "opening"):
            continue
        whole = resolved(plan.flow, part)
        opening = part.kind == "opening"
        streams = len(part.before) if opening else _streams_before(plan.flow, part)
        if streams > 1:
            goal = next(v for s in whole.sums for v in s.branches)
            sizes = [plan.flow.vertices[v].numel for v in part.before]
            numel = min(sizes) if opening else base_numel(plan.flow, part)
            found[place] = entry_of(plan, part.before, part.begin, goal, numel)
    return found


def _streams_before(flow: Flow, part: Part) -> int:
    numel = base_numel(flow, part)
    return sum(flow.vertices[r].numel // numel for r in stream_roots(flow, part.before, numel))


def head_entry(plan: StepPlan) -> int | None:
    """Find the mixture of several streams that the head reads; None if there is one stream."""
    last = plan.parts[-1]
    numel = base_numel(plan.flow, last)
    streams = sum(plan.flow.vertices[r].numel // numel for r in stream_roots(plan.flow, last.after, numel))
    if streams == 1:
        return None
    if not streams:
        raise InputError(_joined(plan.flow, last))
    found = entry_of(plan, last.after, last.end, plan.output, numel)
    if found is None:
        raise InputError(f"the head reads {streams} streams in several mixtures; expected one mixture of them")
    return found


def _joined(flow: Flow, part: Part) -> str:
    made = [flow.vertices[s.target] for s in part.sums]
    where = ", ".join(dict.fromkeys(f"{v.operation} in {v.module or 'the network'}" for v in made))
    shapes = sorted({flow.vertices[v].shape for s in part.sums for v in (*s.states, *s.branches)})
    return (
        f"the last state is made by {where} of tensors of shapes {', '.join(map(str, shapes))}, which are joined and "
        f"not added, as in U-Nets, DenseNets and class attention{limit_reached(flow.vertices)}; expected blocks "
        "that add a branch to a state of its shape, or their names (blocks=, in the shell --block)"
    )


def reads_of(plan: StepPlan) -> list[int]:
    """List the vertices that every block and the head read: mixtures, or the state if it is one stream."""
    entries = entries_of(plan)
    places = [n for n, part in enumerate(plan.parts) if part in plan.steps]
    given = [*(entries.get(n) for n in places), head_entry(plan)]
    states = [taken(plan, plan.steps[0]), *(max(s.target for s in joining(plan, n).sums) for n in places)]
    return [state if entry is None else entry for entry, state in zip(given, states)]


def followed_states(plan: StepPlan) -> list[list[int]]:
    """List the vertices that stand for the first state, and for the state after every block.

    It is what the next block reads if that tensor is also carried on, such as x + v in a network with momentum. If it
    is read by a branch alone, as in hyper-connections, it is all tensors of the state, those that the block leaves as
    they are among them. The last state is what the head reads, or the newest tensor if blocks read tensors one by one.
    """
    flow, steps, reads = plan.flow, plan.steps, reads_of(plan)
    whole = [_tensors(flow, steps[0], opens=True), *(_tensors(flow, part, opens=False) for part in steps)]
    several = [len(state) > 1 or flow.vertices[state[0]].numel > flow.vertices[read].numel
               for state, read in zip(whole, reads)]  # fmt: skip
    carried = [_is_carried(flow, read, reads[n + 1 :]) for n, read in enumerate(reads[:-1])]
    carried.append(carried[-1])  # nothing comes after what the head reads
    if several[-1] and len(steps) > 1 and flow.root[reads[-2]] in {s.target for s in steps[-2].sums}:
        reads[-1] = max(s.target for s in steps[-1].sums)
    return [state if mixed and not kept else [read]
            for state, read, mixed, kept in zip(whole, reads, several, carried)]  # fmt: skip


def _tensors(flow: Flow, part: Part, *, opens: bool) -> list[int]:
    """List the tensors of the state before or after a block that consist of streams."""
    if opens and part.kind == "opening":
        return sorted(part.before)
    return stream_roots(flow, part.before if opens else part.after, base_numel(flow, part))


def _is_carried(flow: Flow, vertex: int, later: list[int]) -> bool:
    walk = Walk(flow, frozenset({flow.root[vertex]}))
    return any(walk.touches(one) for one in later if one > vertex)


def sources_of(plan: StepPlan) -> list[int]:
    """List the tensors that the first state is made of: none of them is made of another one, or a set of copies."""
    flow, part = plan.flow, plan.steps[0]
    numel = min(flow.vertices[v].numel for v in part.before) if part.kind == "opening" else base_numel(flow, part)
    return _origins(flow, set(_tensors(flow, part, opens=True)), numel)


def _origins(flow: Flow, roots: set[int], numel: int) -> list[int]:
    first = {r for r in roots if not _is_made_of(flow, r, frozenset(roots - {r}))}
    for root in first:
        inputs = {flow.root[i] for i in flow.vertices[root].inputs if flow.vertices[i].data}
        sizes = [flow.vertices[i].numel for i in inputs]
        copies = flow.vertices[root].operation in _JOINS and flow.vertices[root].numel > numel
        if copies and sizes and numel <= max(sizes) < flow.vertices[root].numel:
            return _origins(flow, (first - {root}) | inputs, numel)
    return sorted(first)


def _is_made_of(flow: Flow, vertex: int, others: frozenset[int]) -> bool:
    made = ancestors(flow, others, vertex)
    return any(flow.root[i] in others for v in made for i in flow.vertices[v].inputs)
