"""Run a network with every stream and every branch disturbed, so that sums of them can be taken apart."""

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_map

from zerosnet.errors import InputError
from zerosnet.models.reading.calls import Example, arguments
from zerosnet.models.reading.plan import StepPlan, is_norm, normed, resolved
from zerosnet.models.reading.trace import Trace, check_finite, run


@dataclass(frozen=True)
class Disturbance:
    """How strongly streams and branches are disturbed, relative to their size, and what counts as a linear sum.

    The disturbance is small, so that mixing stays what it is, and large enough to tell equal streams apart in this
    arithmetic. A sum counts as linear if it leaves less than `tolerance` of the branch's part unexplained.
    """

    disturbance: float
    tolerance: float


DOUBLE = Disturbance(1e-3, 1e-5)
OWN = Disturbance(3e-2, 1e-3)
"""For networks that do not run in float64, in their own arithmetic."""


@dataclass(frozen=True)
class DisturbedRun:
    """Tensors of a run in which every stream and every branch was disturbed, in float64, and how precise they are."""

    before: dict[int, Tensor]
    after: dict[int, Tensor]
    precision: Disturbance


def disturbed_run(
    model: nn.Module, example: Example, plan: StepPlan, entries: Sequence[int], seed: int, statistics: str
) -> DisturbedRun:
    """Run a copy of a network, in float64 if it can, every stream and every branch disturbed."""
    keep, disturb = set(entries), set[int]()
    for part in plan.parts:
        keep |= part.before
        disturb |= part.before
        keep |= {normed(plan.flow, part)} if is_norm(plan.flow, part) else set()
        for found in resolved(plan.flow, part).sums:
            keep |= {found.target, *found.states, *found.branches, *found.scaled}
            disturb |= {*found.branches, *(found.states if part.kind == "opening" else ())}
    try:
        args, kwargs = tree_map(_as_double, arguments(example))
        network = copy.deepcopy(model).double().requires_grad_(False)
        trace = _noisy(network, kwargs or args, keep, disturb, DOUBLE, seed, statistics)
        precision = DOUBLE
    except InputError:  # such as experts whose kernels have no float64
        trace = _noisy(model, example, keep, disturb, OWN, seed, statistics)
        precision = OWN
    made = [(v.operation, v.shape) for v in trace.vertices]
    if made != [(v.operation, v.shape) for v in plan.flow.vertices]:
        raise InputError(f"{type(model).__name__} does not run the same way twice; expected a network without chance "
                         "in evaluation mode")  # fmt: skip
    check_finite(model, trace.vertices, trace.before)
    before, after = ({v: t.double() for v, t in kept.items()} for kept in (trace.before, trace.after))
    return DisturbedRun(before, after, precision)


def _noisy(
    model: nn.Module,
    example: Example,
    keep: set[int],
    disturb: set[int],
    precision: Disturbance,
    seed: int,
    statistics: str,
) -> Trace:
    generator = torch.Generator().manual_seed(seed)

    def noise(tensor: Tensor) -> Tensor:
        size = tensor.detach().abs().square().mean().sqrt()
        drawn = torch.randn(tensor.shape, generator=generator, dtype=torch.float64).to(tensor)
        return drawn * precision.disturbance * torch.where(size > 0, size, torch.ones_like(size))

    return run(model, example, keep=keep, disturb=dict.fromkeys(disturb, noise), statistics=statistics)


def _as_double(value: Any) -> Any:
    return value.double() if isinstance(value, Tensor) and value.is_floating_point() else value
