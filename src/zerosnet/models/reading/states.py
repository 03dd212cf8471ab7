"""Find the states of a network: the sets of tensors that all later computation rests on.

A tensor is alive from its making to its last use. In a plain residual network one tensor is alive between two blocks,
the state, and more within a block; with m streams kept apart, or a first state that is mixed in again and again, there
are m. So states are the moments at which few tensors are alive. The sum that makes a state is followed backwards to the
state before it, and to the branches that are added.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from zerosnet.models.reading.algebra import COPIES, PICKS, PRODUCTS, SAME, SCALES, SUMS, carriers
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


class Walk:
    """Follow a sum backwards to a state."""

    def __init__(self, flow: Flow, before: State) -> None:
        self.flow, self.before = flow, before
        self._touching: dict[int, bool] = {}

    def sum_of(self, target: int) -> Sum:
        states: list[int] = []
        branches: list[tuple[int, int]] = []
        self._follow(target, states, branches, at=None, top=True)
        pairs = list(dict.fromkeys(branches))
        return Sum(target, tuple(dict.fromkeys(states)), tuple(b for b, _ in pairs), tuple(s for _, s in pairs))

    def _follow(
        self, vertex: int, states: list[int], branches: list[tuple[int, int]], at: int | None, top: bool = False
    ) -> None:
        """Collect states and branches; `at` is the scaled branch that this vertex is a factor of, if it is one."""
        v = self.flow.vertices[vertex]
        if not v.data:
            return
        if self.flow.root[vertex] in self.before:
            states.append(vertex)
            return
        through = self._through(v)
        if not self.touches(vertex):
            factor = self._scaled_by(vertex)
            if factor is not None:
                self._follow(factor, states, branches, vertex if at is None else at, top)
            elif top and v.operation in SUMS and len(through) > 1:  # perhaps the opening of a stage
                for i in through:
                    self._follow(i, states, branches, None, top)
            else:
                branches.append((vertex, vertex if at is None else at))
            return
        for i in through:
            self._follow(i, states, branches, at)

    def _scaled_by(self, vertex: int) -> int | None:
        """Find the tensor that this one is a multiple of, in whatever layout; None if it is none."""
        v = self.flow.vertices[vertex]
        while v.operation in SAME and len(self._through(v)) == 1:
            v = self.flow.vertices[self._through(v)[0]]
        through = self._through(v)
        return through[0] if v.operation in SCALES | PRODUCTS and len(through) == 1 else None

    def touches(self, vertex: int) -> bool:
        """Tell whether a state is carried into this tensor."""
        known = self._touching.get(vertex)
        if known is None:
            v = self.flow.vertices[vertex]
            at_state = self.flow.root[vertex] in self.before
            known = v.data and (at_state or any(self.touches(i) for i in self._through(v)))
            self._touching[vertex] = known
        return known

    def _through(self, v: Vertex) -> tuple[int, ...]:
        """List the inputs of an operation that carries a state along; none if it does not."""
        if v.operation in SAME | PICKS | SUMS:
            return tuple(i for i in dict.fromkeys(v.inputs) if self.flow.vertices[i].data)
        if v.operation in SCALES | PRODUCTS:
            found = carriers(self.flow.vertices, v)
            return found if len(found) == 1 else ()
        return ()
