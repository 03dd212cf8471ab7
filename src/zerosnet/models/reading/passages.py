"""What happens to a state between two blocks: passages that change its size, and factors that belong to a block."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

import torch
from torch import Tensor

from zerosnet.models.reading.plan import Part, StepPlan, is_norm, normed, resolved


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
        gain = _quotient(kept, took, [s.target for s in earlier.sums])
        for given, made in folded(plan, earlier, later):  # is in A and b of the block before
            gain /= _quotient(kept, [made], [given]) or 1.0
        gains.append(gain)
    return tuple(gains)


def folded(plan: StepPlan, earlier: Part, later: Part) -> list[tuple[int, int]]:
    """List what scales the state between two blocks and is taken for a part of the first: tensors given and made."""
    first, last = (plan.parts.index(part) for part in (earlier, later))
    found = []
    for n in range(first + 1, last):
        part = plan.parts[n]
        if part.kind == "mixing" and len(part.before) == len(part.after) == 1:
            found.append((min(part.before), part.sums[0].target))
        elif folds(plan, n):
            found.append((normed(plan.flow, part), part.sums[0].target))
    return found


def _quotient(kept: Mapping[int, Tensor], made: Iterable[int], given: Iterable[int]) -> float:
    left = _rms_of([kept[v] for v in given])
    return _rms_of([kept[v] for v in made]) / left if left else 1.0


def _rms_of(tensors: Sequence[Tensor]) -> float:
    return rms(torch.cat([tensor.flatten() for tensor in tensors]))


def folds(plan: StepPlan, n: int) -> bool:
    """Tell whether a passage is a norm of the state that a step in the same shape follows, as in post-norm blocks."""
    if not is_norm(plan.flow, plan.parts[n]):
        return False
    later = next(m for m in range(n + 1, len(plan.parts)) if plan.parts[m].kind in ("step", "opening"))
    between = [v for part in plan.parts[n : later + 1] for v in part.before]
    return plan.parts[later].kind == "step" and len({plan.flow.vertices[v].numel for v in between}) == 1


def rms(tensor: Tensor) -> float:
    return float(tensor.square().mean().sqrt())
