"""Follow the sum that makes a state backwards, to the state before it and to the branches that are added."""

from dataclasses import dataclass

from zerosnet.models.reading.algebra import PICKS, PRODUCTS, SAME, SCALES, SUMS, carriers
from zerosnet.models.reading.states import Flow, State
from zerosnet.models.reading.trace import Vertex


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
