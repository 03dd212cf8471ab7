"""Find the states of a network: the sets of tensors that all later computation rests on.

A tensor is alive from its making to its last use. In a plain residual network one tensor is alive between two blocks,
the state, and more within a block; with m streams kept apart, or a first state that is mixed in again and again, there
are m. So states are the moments at which few tensors are alive. The sum that makes a state is followed backwards to the
state before it, and to the branches that are added.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from zerosnet.models.reading.algebra import BLENDS, COPIES, PICKS, PRODUCTS, SAME, SCALES, SUMS, blended, carriers
from zerosnet.models.reading.trace import Trace, Vertex

State = frozenset[int]
"""The roots (see `Flow`) of all tensors that are alive."""

Moment = tuple[int, State]
"""The vertex that completes a state, and the state."""


@dataclass(frozen=True)
class Flow:
    """The part of a run through which the example reaches the output.

    root: For every vertex the first one that holds the same numbers, whatever their layout.
    """

    vertices: Sequence[Vertex]
    root: tuple[int, ...]
    used: tuple[bool, ...]
    births: dict[int, int]
    last_uses: dict[int, int]


def flow_of(trace: Trace) -> Flow:
    """Drop what does not depend on the example, or does not reach the output, and name equal tensors once."""
    vertices = trace.vertices
    root = list(range(len(vertices)))
    for v in vertices:
        data = [i for i in v.inputs if vertices[i].data]
        if v.data and v.operation in SAME | COPIES and len(data) == 1 and vertices[data[0]].numel == v.numel:
            root[v.index] = root[data[0]]
    used = [False] * len(vertices)
    used[trace.output] = True
    for v in reversed(vertices):
        for i in v.inputs if used[v.index] else ():
            used[i] = used[i] or vertices[i].data
    births: dict[int, int] = {}
    last_uses: dict[int, int] = {}
    for v in vertices:
        if not used[v.index]:
            continue
        births.setdefault(root[v.index], v.index)
        for i in v.inputs:
            if used[i] and root[i] != root[v.index]:
                last_uses[root[i]] = v.index
    last_uses[root[trace.output]] = len(vertices)
    births = {r: birth for r, birth in births.items() if r in last_uses}
    return Flow(vertices, tuple(root), tuple(used), births, last_uses)


def states_of(flow: Flow, most: int) -> list[list[Moment]]:
    """List the states of at most 1, 2, ..., `most` tensors: each once, with the moment at which it is complete."""
    endings: dict[int, list[int]] = {}
    for root, last in flow.last_uses.items():
        endings.setdefault(last, []).append(root)
    born = {birth: root for root, birth in flow.births.items()}
    found: list[list[Moment]] = [[] for _ in range(most)]
    alive: set[int] = set()
    for v in flow.vertices:
        if not flow.used[v.index]:
            continue
        if v.index in born:
            alive.add(born[v.index])
        alive.difference_update(endings.get(v.index, ()))
        if 0 < len(alive) <= most:
            state = frozenset(alive)
            for states in found[len(alive) - 1 :]:
                if not states or states[-1][1] != state:
                    states.append((v.index, state))
    return found


@dataclass(frozen=True)
class Sum:
    """One new tensor of a state, and what it is a sum of.

    Attributes:
        target: The vertex of the new tensor.
        states: Vertices of the state before, in the layout in which they are added.
        branches: Vertices that are added to them.
        scaled: The same branches with the factors that are applied to them, at the sum itself.
    """

    target: int
    states: tuple[int, ...]
    branches: tuple[int, ...]
    scaled: tuple[int, ...]


def scales_itself(flow: Flow, v: Vertex, carrier: int) -> bool:
    """Check if a tensor is multiplied by what is made of it, as in a norm or a gate: that is part of a branch."""
    first = flow.root[carrier]
    waiting, seen = [i for i in v.inputs if i != carrier], set[int]()
    while waiting:
        i = waiting.pop()
        if flow.root[i] == first:
            return True
        if i > first and i not in seen:
            seen.add(i)
            waiting += flow.vertices[i].inputs
    return False


class _Visit(NamedTuple):
    """A tensor on the way back.

    Attributes:
        scaled: The scaled branch that the tensor is a factor of, if it is one.
        top: Only sums that no state is carried into were passed.
    """

    vertex: int
    scaled: int | None
    top: bool


class Walk:
    """Follow a sum backwards to a state."""

    def __init__(self, flow: Flow, before: State) -> None:
        self.flow, self.before = flow, before
        self._first = min(before, default=0)  # what was made earlier does not carry the state
        self._touching: dict[int, bool] = {}

    def sum_of(self, target: int) -> Sum:
        """Collect the states and branches that a tensor is a sum of; every tensor is visited once."""
        states: dict[int, None] = {}
        branches: dict[tuple[int, int], None] = {}
        waiting = [_Visit(target, None, True)]
        seen: set[_Visit] = set()
        while waiting:
            visit = waiting.pop()
            if visit in seen or not self.flow.vertices[visit.vertex].data:
                continue
            seen.add(visit)
            if self.flow.root[visit.vertex] in self.before:
                states[visit.vertex] = None
                continue
            later = self._beyond(visit)
            if not later:
                branches[visit.vertex, visit.vertex if visit.scaled is None else visit.scaled] = None
            waiting += reversed(later)
        return Sum(target, tuple(states), tuple(b for b, _ in branches), tuple(s for _, s in branches))

    def _beyond(self, visit: _Visit) -> list[_Visit]:
        """List the terms that a tensor consists of; none if it is a branch."""
        v = self.flow.vertices[visit.vertex]
        through = self._through(v)
        if self.touches(v.index):
            return [_Visit(i, visit.scaled, False) for i in through]
        factor = self._scaled_by(v.index)
        if factor is not None:
            return [_Visit(factor, v.index if visit.scaled is None else visit.scaled, visit.top)]
        if visit.top and v.operation in SUMS and len(through) > 1:  # perhaps the opening of a stage
            return [_Visit(i, None, True) for i in through]
        return []

    def _scaled_by(self, vertex: int) -> int | None:
        """Find the tensor that this one is a multiple of, in whatever layout; None if it is none."""
        v = self.flow.vertices[vertex]
        while v.operation in SAME and len(self._through(v)) == 1:
            v = self.flow.vertices[self._through(v)[0]]
        through = self._through(v)
        if v.operation not in SCALES | PRODUCTS or len(through) != 1 or scales_itself(self.flow, v, through[0]):
            return None
        return through[0]

    def touches(self, vertex: int) -> bool:
        """Check if a state is carried into this tensor."""
        known = self._touching
        if vertex in known:
            return known[vertex]
        waiting = [vertex]
        while waiting:
            v = self.flow.vertices[waiting[-1]]
            at_state = v.data and self.flow.root[v.index] in self.before
            through = self._through(v) if v.data and not at_state and v.index > self._first else ()
            carries = at_state or any(known.get(i) for i in through)
            unknown = next((i for i in through if i not in known), None)
            if carries or unknown is None:
                known[waiting.pop()] = carries
            else:
                waiting.append(unknown)
        return known[vertex]

    def _through(self, v: Vertex) -> tuple[int, ...]:
        """List the inputs of an operation that carries a state along; none if it does not."""
        if v.operation in SAME | PICKS | SUMS:
            return tuple(i for i in dict.fromkeys(v.inputs) if self.flow.vertices[i].data)
        if v.operation in BLENDS:
            return blended(self.flow.vertices, v) if v.data else ()
        if v.operation in SCALES | PRODUCTS:
            found = carriers(self.flow.vertices, v)
            return found if len(found) == 1 else ()
        return ()
