"""Names of blocks: the module that is the branch of each."""

from collections import Counter
from collections.abc import Sequence

from zerosnet.models.reading.algebra import PICKS
from zerosnet.models.reading.plan import Part, StepPlan


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
