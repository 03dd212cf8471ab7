"""SGD and Adam for replicas that are stacked along dim 0, each with a learning rate and a decay of its own.

Everything that changes from step to step is a tensor on the device, so an update can sit in a CUDA graph. Only
multiplication, addition, division and square root are used, never a fused multiply-add whose rounding depends on where
an element happens to lie: on the CPU a replica is updated to the same bits alone or among others.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import ClassVar, Protocol

import torch
from torch import Tensor, nn

from zerosnet.kernels import FlatBuffers, update_adam, update_sgd
from zerosnet.models import Network
from zerosnet.training.fused.cuda_graph import compile_static
from zerosnet.training.recipes.recipe import Recipe

State = tuple[Tensor, ...]
ALIGNMENT = 64  # elements; convolutions and vector loads want every tensor to start on a boundary


class Rule(Protocol):
    """An update as a pure elementwise function of a parameter, its gradient and its buffers.

    Attributes:
        buffers: Names of the tensors that are kept per parameter.
        powers: Numbers whose powers, by the number of steps, the rates need.
    """

    @property
    def buffers(self) -> tuple[str, ...]: ...

    @property
    def powers(self) -> tuple[float, ...]: ...

    def rates(self, lr: Tensor, powers: Tensor) -> tuple[Tensor, ...]: ...

    def __call__(self, p: Tensor, g: Tensor, state: State, rates: tuple[Tensor, ...]) -> tuple[Tensor, State]: ...

    def update_natively(self, buffers: FlatBuffers) -> None:
        """Update flat buffers in place by one of our own kernels."""


@dataclass(frozen=True)
class Sgd:
    """v <- mu v + g;  p <- p - lr v, or with Nesterov p <- p - lr (g + mu v)."""

    momentum: float = 0.9
    nesterov: bool = False
    buffers: ClassVar[tuple[str, ...]] = ("momentum",)
    powers: ClassVar[tuple[float, ...]] = ()

    def rates(self, lr: Tensor, powers: Tensor) -> tuple[Tensor, ...]:
        return (lr,)

    def __call__(self, p: Tensor, g: Tensor, state: State, rates: tuple[Tensor, ...]) -> tuple[Tensor, State]:
        velocity = state[0] * self.momentum + g
        direction = velocity * self.momentum + g if self.nesterov else velocity
        return p - rates[0] * direction, (velocity,)

    def update_natively(self, buffers: FlatBuffers) -> None:
        """Update flat buffers in place by one of our own kernels."""
        update_sgd(buffers, momentum=self.momentum, nesterov=self.nesterov)


@dataclass(frozen=True)
class Adam:
    """m <- b1 m + (1-b1) g;  v <- b2 v + (1-b2) g^2;  p <- p - lr/(1-b1^t) m / (sqrt(v/(1-b2^t)) + eps)."""

    beta1: float = 0.9
    beta2: float = 0.999
    eps: float = 1e-8
    buffers: ClassVar[tuple[str, ...]] = ("mean", "square")

    @property
    def powers(self) -> tuple[float, ...]:
        return (self.beta1, self.beta2)

    def rates(self, lr: Tensor, powers: Tensor) -> tuple[Tensor, ...]:
        return (lr / (1 - powers[:, 0]), (1 - powers[:, 1]).sqrt())

    def __call__(self, p: Tensor, g: Tensor, state: State, rates: tuple[Tensor, ...]) -> tuple[Tensor, State]:
        mean = state[0] * self.beta1 + g * (1 - self.beta1)
        square = state[1] * self.beta2 + g * g * (1 - self.beta2)
        return p - rates[0] * mean / (square.sqrt() / rates[1] + self.eps), (mean, square)

    def update_natively(self, buffers: FlatBuffers) -> None:
        """Update flat buffers in place by one of our own kernels."""
        update_adam(buffers, beta1=self.beta1, beta2=self.beta2, eps=self.eps)


class Optimizer:
    """Apply a rule to all parameters of a fused network; a replica that is not alive is left exactly as it is.

    `decays` holds one row per parameter group, one column per replica; `groups` names the row of every parameter.
    On CUDA the update is one kernel over the flat buffers, elsewhere a loop over the parameters.

    Attributes:
        native: The kernel is one of our own; if not, torch compiles it.
    """

    native = False

    def __init__(
        self,
        parameters: Mapping[str, nn.Parameter],
        rule: Rule,
        *,
        replicas: int,
        decays: Sequence[Sequence[float]],
        groups: Mapping[str, int],
        flat_update: bool | None = None,
    ) -> None:
        self.rule = rule
        self.flat = Flat(parameters, groups, replicas)
        values = self.flat.values
        self.decays = torch.tensor(decays, dtype=values.dtype, device=values.device)
        self.buffers = tuple(self.flat.empty() for _ in rule.buffers)
        factors = torch.tensor(rule.powers, dtype=torch.float64, device=values.device)
        self.factors = factors.expand(replicas, -1).contiguous()
        self.powers = torch.ones_like(self.factors)
        self.one_kernel = values.is_cuda if flat_update is None else flat_update
        self.gradients: list[Tensor] | None = None
        """Views shaped as the parameters in which a step may leave its gradients, to save a copy; None: anywhere."""
        if self.one_kernel:
            self.flat_gradients = self.flat.empty()
            self.gradients = self.flat.views(self.flat_gradients)

    @cached_property
    def _update_flat(self) -> Callable[[FlatBuffers], None]:
        if self.native:
            return self.rule.update_natively
        update = partial(_update_flat, self.rule)
        return compile_static(update) if self.flat.values.is_cuda else update

    @torch.no_grad()
    def update(self, gradients: Sequence[Tensor], lr: Tensor, alive: Tensor) -> None:
        """Make one step of every living replica; lr and alive have an entry per replica."""
        self.powers.mul_(self.factors)
        rates = tuple(rate.to(self.flat.values.dtype) for rate in self.rule.rates(lr, self.powers))
        if self.gradients is not None:
            if gradients[0] is not self.gradients[0]:
                self.flat.fill(self.flat_gradients, gradients)
            flat = self.flat
            self._update_flat(
                FlatBuffers(flat.values, self.flat_gradients, self.buffers, rates, self.decays, alive, flat.slots)
            )
            return
        columns = tuple(rate[:, None] for rate in rates)
        rows = zip(
            self.flat.groups,
            self.flat.rows(self.flat.values),
            self.flat.rows_of(gradients),
            zip(*map(self.flat.rows, self.buffers)),
        )
        for group, p, g, state in rows:
            _update(self.rule, p, g, state, columns, self.decays[group][:, None], alive[:, None])

    @torch.no_grad()
    def reset(self) -> None:
        """Forget the past: a fresh optimiser, in place."""
        for buffer in self.buffers:
            buffer.zero_()
        self.powers.fill_(1)

    def state(self) -> dict[str, Tensor]:
        """Name what a checkpoint holds beside the parameters: tensors that stack the replicas along dim 0."""
        state = {
            f"{buffer_name}.{name}": view
            for buffer_name, buffer in zip(self.rule.buffers, self.buffers)
            for name, view in zip(self.flat.names, self.flat.views(buffer))
        }
        return state | {"powers": self.powers} if self.rule.powers else state


def _update_flat(rule: Rule, buffers: FlatBuffers) -> None:
    values, gradients, state, rates, decays, alive, slots = buffers
    groups = len(decays)
    per_element = tuple(rate.repeat(groups).index_select(0, slots) for rate in rates)
    decay = decays.flatten().index_select(0, slots)
    _update(rule, values, gradients, state, per_element, decay, alive.repeat(groups).index_select(0, slots))


def _update(
    rule: Rule, p: Tensor, g: Tensor, state: State, rates: tuple[Tensor, ...], decay: Tensor, alive: Tensor
) -> None:
    # torch.where and not a product with the mask: what a dead replica computes may be NaN, and 0 * NaN is NaN
    new, new_state = rule(p, g + decay * p, state, rates)
    p.copy_(torch.where(alive, new, p))
    for old, fresh in zip(state, new_state):
        old.copy_(torch.where(alive, fresh, old))


RULES: dict[str, Callable[[Recipe], Rule]] = {
    "sgd": lambda recipe: Sgd(recipe.momentum, recipe.nesterov),
    "adam": lambda recipe: Adam(recipe.momentum, 0.999 if recipe.beta2 is None else recipe.beta2),
}


def make_optimizer(model: Network, recipes: Sequence[Recipe]) -> Optimizer:
    """Make the optimiser with three groups: weights, coefficients of trainable schemes, and norms with biases."""
    coefficients = {id(p) for p in model.coefficient_parameters()}
    parameters = dict(model.named_parameters())
    return Optimizer(
        parameters,
        RULES[recipes[0].optimiser](recipes[0]),
        replicas=len(recipes),
        decays=[
            [r.weight_decay for r in recipes],
            [r.coefficient_decay for r in recipes],
            [r.weight_decay if r.decay_norms else 0.0 for r in recipes],
        ],
        groups={name: 1 if id(p) in coefficients else 2 if p.dim() < 2 else 0 for name, p in parameters.items()},
    )


class Flat:
    """Parameters, which stack their replicas along dim 0, moved into one buffer; each stays a view of its part.

    Memory order is kept (channels_last weights too): dim 0 is the outermost one in both layouts, so the part of one
    replica is contiguous. `slots` holds for every element its group and its replica as one number:

        slot = group * replicas + replica
    """

    def __init__(self, parameters: Mapping[str, nn.Parameter], groups: Mapping[str, int], replicas: int) -> None:
        self.names = list(parameters)
        self.groups = [groups[name] for name in self.names]
        self.replicas = replicas
        self._layout: list[tuple[int, torch.Size, tuple[int, ...]]] = []
        size = 0
        for parameter in parameters.values():
            self._layout.append((size, parameter.shape, parameter.stride()))
            size += -(-parameter.numel() // ALIGNMENT) * ALIGNMENT
        first = next(iter(parameters.values()))
        self.values = torch.zeros(size, dtype=first.dtype, device=first.device)
        slots = torch.zeros(size, dtype=torch.int32)
        for parameter, view, (start, _, _), group in zip(
            parameters.values(), self.views(self.values), self._layout, self.groups
        ):
            view.copy_(parameter.detach())
            parameter.data = view
            part = slots[start : start + parameter.numel()].view(replicas, -1)
            part.copy_(torch.arange(replicas, dtype=torch.int32)[:, None] + group * replicas)
        self.slots = slots.to(first.device)

    def empty(self) -> Tensor:
        """Make a buffer of zeros of the same layout: momentum, gradients, ..."""
        return torch.zeros_like(self.values)

    def views(self, buffer: Tensor) -> list[Tensor]:
        """View a buffer as tensors of the parameters' shapes."""
        return [buffer.as_strided(shape, stride, start) for start, shape, stride in self._layout]

    def rows(self, buffer: Tensor) -> list[Tensor]:
        """View a buffer as one matrix per parameter, with one row per replica."""
        return [buffer[start : start + shape.numel()].view(self.replicas, -1) for start, shape, _ in self._layout]

    def fill(self, buffer: Tensor, tensors: Sequence[Tensor]) -> None:
        """Write tensors of the parameters' shapes into a buffer; on a GPU one kernel for all of a type."""
        pieces = zip(self._layout, tensors)
        pairs = [(buffer[at : at + shape.numel()], _in_order(t, stride)) for (at, shape, stride), t in pieces]
        for dtype in dict.fromkeys(source.dtype for _, source in pairs):
            chosen = [pair for pair in pairs if pair[1].dtype == dtype]
            torch._foreach_copy_([target for target, _ in chosen], [source for _, source in chosen])

    def rows_of(self, tensors: Sequence[Tensor]) -> list[Tensor]:
        """View tensors of the parameters' shapes as matrices in the buffer's memory order, with one row per replica."""
        return [
            _in_order(tensor, stride).view(self.replicas, -1) for tensor, (_, _, stride) in zip(tensors, self._layout)
        ]


def _in_order(tensor: Tensor, stride: tuple[int, ...]) -> Tensor:
    """Return the elements of a tensor as a vector, in the order of memory that `stride` describes."""
    if any(n > 1 and own != other for n, own, other in zip(tensor.shape, tensor.stride(), stride)):
        tensor = torch.empty_strided(tensor.shape, stride, dtype=tensor.dtype, device=tensor.device).copy_(tensor)
    return tensor.as_strided((tensor.numel(),), (1,))
