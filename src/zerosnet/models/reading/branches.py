"""Branches of a foreign network: what each reads, and the names of their blocks."""

from collections import Counter
from collections.abc import Iterable, Sequence

from zerosnet.models.reading.algebra import PICKS
from zerosnet.models.reading.plan import Part, StepPlan
from zerosnet.models.reading.states import State
from zerosnet.models.reading.walk import Walk


def entry_of(plan: StepPlan, state: State, begin: int, goal: int, numel: int) -> int | None:
    """Find the one mixture of the streams that a branch reads, through which they reach it.

    It is the first tensor of that size which carries the state and without which the state does not reach the goal. It
    may be a stream itself, if that is a tensor of its own. None if there is no such tensor: several mixtures are
    read.
    """
    flow = plan.flow
    for root in sorted(state):
        others = frozenset(state - {root})
        if flow.vertices[root].numel == numel and not _reaches(plan, others, begin, goal, without=root):
            return root
    walk = Walk(flow, state)
    candidates = (
        v.index
        for v in flow.vertices[begin + 1 : goal + 1]
        if flow.used[v.index] and v.numel == numel and flow.root[v.index] not in state and walk.touches(v.index)
    )
    for vertex in candidates:
        if not _reaches(plan, state, begin, goal, without=vertex):
            return vertex
    return None


def _reaches(plan: StepPlan, state: State, begin: int, goal: int, without: int) -> bool:
    flow = plan.flow
    waiting = [v for v in _members(plan, state) if v != without]
    seen = set(waiting)
    while waiting:
        v = waiting.pop()
        for later in plan.consumers.get(v, ()):
            if later <= goal and later > begin and later != without and later not in seen:
                if later == goal:
                    return True
                seen.add(later)
                waiting.append(later)
    return goal in seen and flow.used[goal]


def _members(plan: StepPlan, state: State) -> Iterable[int]:
    return [v for v, root in enumerate(plan.flow.root) if root in state and plan.flow.used[v]]


def block_names(plan: StepPlan, blocks: Sequence[tuple[Part, tuple[tuple[int, float], ...]]]) -> list[str]:
    """Name every block after the module that makes its branch, the first one called below the module of the sum."""
    found = ["+".join(dict.fromkeys(_name(plan, part, v) for v, _ in branch)) for part, branch in blocks]
    counts, seen = Counter(found), Counter[str]()
    names = []
    for name in found:
        seen[name] += 1
        names.append(name if counts[name] == 1 else f"{name}#{seen[name]}")
    return names


def _name(plan: StepPlan, part: Part, branch: int) -> str:
    flow = plan.flow
    place = flow.vertices[part.sums[0].target].module
    inner = flow.vertices[_made(plan, branch)].module
    front = f"{place}." if place else ""
    if inner == place or not inner.startswith(front):
        return inner or "network"
    below = inner[len(front) :].split(".")
    names = [front + ".".join(below[: n + 1]) for n in range(len(below))]
    return next(name for name in names if name in plan.called)


def _made(plan: StepPlan, branch: int) -> int:
    """Find the tensor that a branch only picks or rearranges, such as f of f[:, None]."""
    flow = plan.flow
    vertex = flow.root[branch]
    while True:
        v = flow.vertices[vertex]
        data = [i for i in v.inputs if flow.vertices[i].data]
        if v.operation not in PICKS or len(data) != 1 or flow.vertices[data[0]].numel < v.numel:
            return vertex
        vertex = flow.root[data[0]]
