"""Find the states of a network: the sets of tensors that all later computation rests on.

A tensor is alive from its making to its last use. In a plain residual network one tensor is alive between two blocks,
the state, and more within a block; with m streams kept apart, or a first state that is mixed in again and again, there
are m. So states are the moments at which few tensors are alive.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from zerosnet.models.reading.algebra import COPIES, SAME
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
