"""Find what a branch reads: the one mixture of the streams through which they reach it."""

from collections.abc import Iterable

from zerosnet.models.reading.plan import StepPlan
from zerosnet.models.reading.states import State
from zerosnet.models.reading.walk import Walk


def entry_of(plan: StepPlan, state: State, begin: int, goal: int, numel: int) -> int | None:
    """Find the first tensor of that size which carries the state and without which the state does not reach the goal.

    It may be a stream itself, if that is a tensor of its own. None if there is no such tensor: several mixtures are
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
