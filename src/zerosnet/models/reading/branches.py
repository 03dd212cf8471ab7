"""Branches of a foreign network: what each reads, the names of their blocks, and what happens to a state in between.

Between two blocks are passages, which change the size of a state, and factors, which belong to a block.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

import torch
from torch import Tensor

from zerosnet.models.reading.algebra import PICKS, SCALES, SUMS, carriers
from zerosnet.models.reading.plan import Part, StepPlan, is_norm, normed, resolved
from zerosnet.models.reading.states import State, Walk
from zerosnet.numerics import Stage

_MOST_TERMS = 3
"""A branch that is a sum of more is named after the module of the sum."""


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
    found = ["+".join(dict.fromkeys(name_of_branch(plan, part, v) for v, _ in branch)) for part, branch in blocks]
    counts, seen = Counter(found), Counter[str]()
    names = []
    for name in found:
        seen[name] += 1
        names.append(name if counts[name] == 1 else f"{name}#{seen[name]}")
    return names


def name_of_branch(plan: StepPlan, part: Part, branch: int) -> str:
    """Name a branch after the modules that make it, the first one called below the module of the sum.

    There are several if the branch is a sum itself, as of attention and MLP side by side.
    """
    flow = plan.flow
    summed = next((s for s in part.sums if s.states), part.sums[0])  # another stream may be the branch itself
    place = flow.vertices[summed.target].module
    made = _made(plan, branch)
    inner = flow.vertices[made].module
    front = f"{place}." if place else ""
    if inner == place:
        terms = {flow.root[i] for i in flow.vertices[made].inputs if _is_term(plan, part, made, i)}
        names = list(dict.fromkeys(name_of_branch(plan, part, term) for term in sorted(terms)))
        return "+".join(names) if 0 < len(names) <= _MOST_TERMS else inner or "network"
    if not inner.startswith(front):
        return inner or "network"
    below = inner[len(front) :].split(".")
    names = [front + ".".join(below[: n + 1]) for n in range(len(below))]
    return next(name for name in names if name in plan.called)


def _is_term(plan: StepPlan, part: Part, total: int, vertex: int) -> bool:
    vertices, root = plan.flow.vertices, plan.flow.root[vertex]
    return vertices[total].operation in SUMS and vertices[vertex].data and root not in part.before


def _made(plan: StepPlan, branch: int) -> int:
    """Find the tensor that a branch only picks, rearranges or scales, such as f of g * f[:, None]."""
    flow = plan.flow
    vertex = flow.root[branch]
    while True:
        v = flow.vertices[vertex]
        if v.operation in SCALES:
            data = carriers(flow.vertices, v)
        else:
            data = tuple(i for i in v.inputs if flow.vertices[i].data) if v.operation in PICKS else ()
        if len(data) != 1 or flow.vertices[data[0]].numel < v.numel:
            return vertex
        vertex = flow.root[data[0]]


def taken(plan: StepPlan, part: Part) -> int:
    """Find the tensor in which a block takes the state: the newest one that it keeps, or the projection."""
    return max((v for s in resolved(plan.flow, part).sums for v in s.states), key=lambda v: plan.flow.root[v])


def passage_gains(plan: StepPlan, steps: Sequence[Part], kept: Mapping[int, Tensor]) -> tuple[float, ...]:
    """Measure how much larger every block takes the state than the block before left it, where they do not meet."""
    gains = [1.0]
    for earlier, later in pairwise(steps):
        if later.kind == "step" and (earlier.after == later.before or len(later.before) > 1):
            gains.append(1.0)
            continue
        took = {v for s in resolved(plan.flow, later).sums for v in s.states}
        joined = joining(plan, plan.parts.index(earlier))
        gain = _quotient(kept, took, [s.target for s in joined.sums])
        for given, made in folded(plan, joined, later):  # is in A and b of the block before
            gain /= factor(kept[made], kept[given]) or 1.0
        gains.append(gain)
    return tuple(gains)


def joining(plan: StepPlan, place: int) -> Part:
    """Find the mixing after a step that leaves one of several streams, as it belongs to the step; or the step."""
    found = plan.parts[place]
    for part in plan.parts[place + 1 :]:
        if part.kind != "mixing":
            break
        found = part if len(part.before) > len(part.after) == 1 else found
    return found


def folded(plan: StepPlan, earlier: Part, later: Part) -> list[tuple[int, int]]:
    """List what scales the state between two blocks and is taken for a part of the first: tensors given and made."""
    first, last = (plan.parts.index(part) for part in (earlier, later))
    found = []
    for n in filter(lambda n: folds(plan, n), range(first + 1, last)):
        part = plan.parts[n]
        if part.kind != "mixing":
            found.append((normed(plan.flow, part), part.sums[0].target))
        elif len(part.before) == len(part.after) == 1:
            found.append((min(part.before), part.sums[0].target))
    return found


def factor(made: Tensor, given: Tensor) -> float:
    """Measure how much an operation multiplies a tensor, in the mean over all entries."""
    size = float(given.double().square().sum())
    return float((made.double() * given.double()).sum()) / size if size else 0.0


def _quotient(kept: Mapping[int, Tensor], made: Iterable[int], given: Iterable[int]) -> float:
    left = _rms_of([kept[v] for v in given])
    return _rms_of([kept[v] for v in made]) / left if left else 1.0


def _rms_of(tensors: Sequence[Tensor]) -> float:
    return rms(torch.cat([tensor.flatten() for tensor in tensors]))


def folds(plan: StepPlan, n: int) -> bool:
    """Check if mixing or a norm, as in post-norm blocks, belongs to the step before it.

    What scales one stream does so only if nothing but mixing and norms is between them; a norm only if a step in the
    same shape follows.
    """
    part, flow = plan.parts[n], plan.flow
    if part.kind == "mixing":
        return _adjoins(plan, n) or _leaves_several(plan, n)
    if not is_norm(flow, part) or not _adjoins(plan, n):
        return False
    later = next(m for m in range(n + 1, len(plan.parts)) if plan.parts[m].kind in ("step", "opening"))
    between = [v for one in plan.parts[n : later + 1] for v in one.before]
    return plan.parts[later].kind == "step" and len({flow.vertices[v].numel for v in between}) == 1


def _adjoins(plan: StepPlan, n: int) -> bool:
    """Check if only mixing and norms are between a part and the step before it."""
    between = plan.parts[_step_before(plan, n) + 1 : n]
    return all(part.kind == "mixing" or is_norm(plan.flow, part) for part in between)


def _leaves_several(plan: StepPlan, n: int) -> bool:
    """Check if the step before a part leaves several streams."""
    vertices, step = plan.flow.vertices, plan.parts[_step_before(plan, n)]
    branch = min(vertices[v].numel for s in step.sums for v in s.branches)
    return sum(vertices[v].numel for v in step.after) > branch


def _step_before(plan: StepPlan, n: int) -> int:
    return next(m for m in range(n - 1, -1, -1) if plan.parts[m].kind in ("step", "opening"))


def stages_of(bases: Sequence[tuple[int, ...]]) -> tuple[Stage, ...]:
    """Count the blocks of every stage, by the shapes of the streams of all blocks."""
    counts: list[int] = []
    for n, base in enumerate(bases):
        if n and _same_stage(base, bases[n - 1]):
            counts[-1] += 1
        else:
            counts.append(1)
    return tuple(Stage(str(i + 1), count, "each" if i else "none") for i, count in enumerate(counts))


def _same_stage(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """Check if streams have one shape, up to the order of axes and to joined ones, such as height and width."""
    sizes, others = Counter(one), Counter(other)
    apart = min((sizes - others).total(), (others - sizes).total())
    return torch.Size(one).numel() == torch.Size(other).numel() and apart <= 1


def rms(tensor: Tensor) -> float:
    """Measure the root mean square, in float64: squares of half precision overflow."""
    return float(tensor.detach().double().square().mean().sqrt())
