"""Follow a disturbance through a network from its first state on, and the gradient of its output back."""

import copy
import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_map

from zerosnet.errors import InputError
from zerosnet.models.reading.branches import rms
from zerosnet.models.reading.calls import Example, arguments
from zerosnet.models.reading.plan import StepPlan, plan_of
from zerosnet.models.reading.read import NetworkReading
from zerosnet.models.reading.reads import followed_states, sources_of, trimmed
from zerosnet.models.reading.trace import Trace, run

_DISTURBANCE = 1e-2


def same_operations(trace: Trace, plan: StepPlan) -> bool:
    """Check if a run made its tensors as the planned one did, so that their numbers mean the same."""
    return [v.operation for v in trace.vertices] == [v.operation for v in plan.flow.vertices]


@dataclass(frozen=True)
class StateDisturbance:
    """A disturbance of what the first state is made of, drawn from a seed, and the states that it is followed through.

    Every tensor that the first state is made of is disturbed once: streams that are copies of one tensor, and a first
    state that is kept to be mixed in later, move with it. A network without a stem has its example disturbed.

    Attributes:
        states: Vertices of the first state and of the state after every block; see `followed_states`.
    """

    reading: NetworkReading
    states: list[list[int]]
    statistics: str
    seed: int

    def gains(self, model: nn.Module, example: Example, clean: Trace) -> list[float]:
        """Follow it; in float32, because half precision would round much of it away."""
        kept = {v for state in self.states for v in state}
        if all(clean.before[v].dtype not in (torch.float16, torch.bfloat16) for v in kept):
            return self._moves(model, example, clean)
        try:
            args, kwargs = tree_map(_as_single, arguments(example))
            network, given = copy.deepcopy(model).float(), kwargs or args
            wide = run(network, given, keep=kept, statistics=self.statistics)
            if same_operations(wide, self.reading.plan):
                return self._moves(network, given, wide)
        except InputError:  # such as a network that asks for half precision itself
            pass
        return self._moves(model, example, clean)

    def _moves(self, model: nn.Module, example: Example, clean: Trace) -> list[float]:
        """Measure how far every later state moves, relative to the first."""
        generator = torch.Generator().manual_seed(self.seed)

        def noise(tensor: Tensor) -> Tensor:
            drawn = torch.randn(tensor.shape, generator=generator, dtype=torch.float64).to(tensor)
            return _DISTURBANCE * rms(tensor) * drawn

        made = made_sources(self.reading.plan)
        given = _disturbed(example, generator) if not made else example
        keep = [v for state in self.states for v in state]
        moved = run(model, given, keep=keep, disturb=dict.fromkeys(made, noise), statistics=self.statistics)
        moves = [torch.cat([(moved.after[v] - clean.before[v]).flatten() for v in state]) for state in self.states]
        first, *later = [rms(move) for move in moves]
        return [move / first if first else float("nan") for move in later]


def made_sources(plan: StepPlan) -> list[int]:
    """List what the first state is made of, tensors of the example left out."""
    return [v for v in sources_of(plan) if plan.flow.vertices[v].operation != "input"]


def _as_single(value: Any) -> Any:
    return value.float() if isinstance(value, Tensor) and value.is_floating_point() else value


def _disturbed(example: Example, generator: torch.Generator) -> Example:
    def moved(value: Any) -> Any:
        if not isinstance(value, Tensor) or not value.is_floating_point():
            return value
        drawn = torch.randn(value.shape, generator=generator, dtype=torch.float64).to(value)
        return value + _DISTURBANCE * rms(value) * drawn

    args, kwargs = tree_map(moved, arguments(example))
    result: Example = kwargs or args
    return result


@torch.inference_mode(False)  # gradients are needed, also where the caller wants none
def backward_gains(model: nn.Module, example: Example, plan: StepPlan, mode: str, seed: int) -> list[float]:
    """Follow the gradient of the output, along a random direction, back to the state after every block."""

    def leaf(tensor: Tensor) -> Tensor:
        return torch.zeros_like(tensor).requires_grad_()

    states = followed_states(plan)[1:]
    if any(tensor.is_inference() for tensor in (*model.parameters(), *model.buffers())):  # torch keeps no gradients
        return [float("nan")] * len(states)
    roots = [v for v in plan.steps[0].before if plan.flow.vertices[v].operation != "input"]
    made_of = [v for state in states for v in state]
    keep, leaves = [*made_of, plan.output], dict.fromkeys(roots, leaf)
    moved = run(model, example, keep=keep, disturb=leaves, gradients=True, statistics=mode)
    if not same_operations(moved, plan):  # it computes otherwise where gradients are asked for
        other = plan_of(run(model, example, gradients=True, statistics=mode))
        if len(other.steps) == len(states) and same_operations(moved, other):
            return backward_gains(model, example, trimmed(other), mode, seed)
        return [float("nan")] * len(states)
    output = moved.after[plan.output]
    generator = torch.Generator().manual_seed(seed)
    direction = torch.randn(output.shape, generator=generator, dtype=torch.float64).to(output)
    loss = (output * direction).sum()
    if any(v not in moved.edges for v in made_of):
        return [float("nan")] * len(states)
    edges = [moved.edges[v] for v in made_of]
    try:
        gradients = torch.autograd.grad(loss, edges, allow_unused=True, retain_graph=True)
    except RuntimeError as error:  # x += f(x) may write over what the gradient of f needs
        if "inplace operation" not in str(error):
            raise
        return [float("nan")] * len(states)
    last = [moved.after[v] for v in states[-1]]
    if not any(gradient is not None and gradient.any() for gradient in gradients[-len(last) :]):  # a head at 0
        along = [torch.randn(t.shape, generator=generator, dtype=torch.float64).to(output) for t in last]
        loss = torch.stack([(t * one).sum() for t, one in zip(last, along)]).sum()
        gradients = torch.autograd.grad(loss, edges, allow_unused=True)
    squares = iter([0.0 if gradient is None else float(gradient.norm()) ** 2 for gradient in gradients])
    norms = [math.sqrt(sum(next(squares) for _ in state)) for state in states]
    return [norm / norms[-1] if norms[-1] else float("nan") for norm in norms]
