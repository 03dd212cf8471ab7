"""The history of a multistep network: its plan, which is fixed, and the sum over it that makes the next state.

The plan tells which states every block receives, projects, sums and hands on. Two strategies decide it. Start-up: what
blocks do before there are as many states as the scheme looks back; `one_step_start` is the paper's. Stage change: what
becomes of the history where the shape of the state changes, by name in `zerosnet.numerics.STAGE_CHANGES`.

The sum is y_{n+1} = sum_i alphas[i] y_{n-i} + sum_j betas[j] f_{n-j}. Written plainly, a sum of scaled tensors costs a
pass and a temporary for each product and each sum, forwards and again backwards. Here the sum goes into the output of
f's last convolution, term by term in place. Backwards, the gradient of y_n is a sum over the blocks that looked back on
it; `MultistepSum` hands the states through from block to block, so that each of these blocks adds its own share in
place to what the later ones have collected.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd import Function

from zerosnet.models.layers.replicated import Coefficient, one_by_one, per_channel
from zerosnet.models.structure import Structure
from zerosnet.numerics import find_stage_change


def one_step_start(age: int, steps: int) -> bool:
    """Decide if a block that has `age` states is one-step, y_{n+1} = y_n + f(y_n): the first steps - 1 blocks are."""
    return age < steps


@dataclass(frozen=True)
class Shape:
    """Channels of a state, and by how much it is smaller than the first one."""

    channels: int
    stride: int = 1


@dataclass(frozen=True)
class BlockPlan:
    """One step y_n -> y_{n+1}. Histories are newest first; a key names the convolution that projects an entry."""

    index: int
    width: int
    """Channels inside f."""
    source: Shape
    """Shape of y_n, which f always receives as it is."""
    target: Shape
    """Shape of y_{n+1}."""
    multistep: bool
    """False in start-up: the block is one-step."""
    states: tuple[tuple[Shape, str | None], ...]
    slopes: tuple[tuple[Shape, str | None], ...]
    opening: bool
    """y_n enters the sum through a BN-ReLU-convolution of its own."""
    hands_on_raw: bool
    """The opening's y_n is handed on as it came; a later block projects it."""
    keep_states: int
    keep_slopes: int

    @property
    def summable(self) -> tuple[int, int]:
        """Count the newest states and slopes, f_n included, that have the shape of the sum."""
        states = 1 if self.opening else self._fitting(self.states)
        return states, 1 + self._fitting(self.slopes)

    def _fitting(self, entries: tuple[tuple[Shape, str | None], ...]) -> int:
        fits = [key is not None or shape == self.target for shape, key in entries]
        return fits.index(False) if False in fits else len(fits)

    @property
    def convolutions(self) -> dict[str, Shape]:
        """The projections of this block: key -> shape of what they project."""
        return {key: shape for shape, key in (*self.states, *self.slopes) if key is not None}


def plan(structure: Structure, alphas: int, betas: int, stage_change: str) -> tuple[BlockPlan, ...]:
    """Make the plan for a scheme with so many alphas and betas."""
    strategy = find_stage_change(stage_change)
    size, steps = structure.traits, max(alphas, betas)
    states, slopes = [Shape(size.stem_channels)], list[Shape]()
    age = 1  # how many states there are since the (last) start
    plans: list[BlockPlan] = []
    for stage, (width, count) in enumerate(zip(size.widths, structure.blocks)):
        for position in range(count):
            source = states[0]
            stride = 2 if stage > 0 and position == 0 else 1
            target = Shape(width * structure.expansion, source.stride * stride)
            changes = source != target
            if changes and not strategy.keeps_history:
                states, slopes, age = states[:1], [], 1
            opening = changes and size.raw_opening and not plans
            multistep = not one_step_start(age, steps)
            keys = _Keys(target, strategy.projection == "shared", multistep and not opening, changes and not opening)
            block = BlockPlan(
                index=len(plans),
                width=width,
                source=source,
                target=target,
                multistep=multistep,
                states=tuple((shape, keys("y", lag, shape, alphas)) for lag, shape in enumerate(states)),
                slopes=tuple((shape, keys("f", lag, shape, betas)) for lag, shape in enumerate(slopes, start=1)),
                opening=opening,
                hands_on_raw=opening and strategy.keeps_history,
                keep_states=alphas,
                keep_slopes=betas - 1,
            )
            plans.append(block)
            handed = [target if key else shape for shape, key in block.states]
            handed[0] = source if block.hands_on_raw else target
            states = [target, *handed][:alphas]
            slopes = [target, *(target if key else shape for shape, key in block.slopes)][: betas - 1]
            age += 1
    return tuple(plans)


@dataclass(frozen=True)
class _Keys:
    """Names the projection that an entry of the history needs to reach the target's shape, if any.

    A multistep block projects what it sums; a one-step block at a change of shape y_n and what it hands on.
    """

    target: Shape
    shared: bool
    multistep: bool
    changes: bool

    def __call__(self, kind: str, lag: int, shape: Shape, terms: int) -> str | None:
        needed = self.multistep or (self.changes and (lag == 0 or lag < terms - 1))
        if not needed or shape == self.target:
            return None
        return f"from{shape.channels}" if self.shared else f"{kind}{lag}"


Number = float | tuple[float, ...] | Tensor
"""A coefficient made ready for a device: one float, one per replica, or a tensor that broadcasts over states."""


class BlockCoefficients(NamedTuple):
    """The coefficients of one block, newest first."""

    alphas: tuple[Coefficient, ...]
    betas: tuple[Coefficient, ...]


ONE_STEP = BlockCoefficients((1.0,), (1.0,))
"""y_{n+1} = y_n + f(y_n), the start-up."""


class History(NamedTuple):
    """The states y_n, y_{n-1}, ... and the slopes f_{n-1}, f_{n-2}, ... that later blocks still need, newest first."""

    states: tuple[Tensor, ...]
    slopes: tuple[Tensor, ...] = ()


def accumulate(
    total: Tensor, coefficients: Sequence[Coefficient], tensors: Sequence[Tensor], replicas: int
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """total + sum of coefficient * tensor, written into `total`, and the tensors to hand on in place of `tensors`.

    `total` must be nobody else's, and its own value not be needed for its gradient. Tensors beyond the coefficients
    are left out of the sum.
    """
    terms, others = tensors[: len(coefficients)], tensors[len(coefficients) :]
    one_float = len(terms) == 1 and isinstance(coefficients[0], float)
    if one_float or _needs_plain():
        for coefficient, tensor in zip(coefficients, terms):
            total = _add_(total, _number(coefficient, tensor, replicas), tensor)
        return total, tuple(tensors)
    total, *handed = MultistepSum.apply(total, replicas, *coefficients, *terms)
    return total, (*handed, *others)


def _needs_plain() -> bool:
    """Compilers fuse plain expressions themselves, torch.func's transforms cannot see into a `Function`."""
    return (
        not torch.is_grad_enabled()
        or torch.compiler.is_compiling()
        or torch._C._are_functorch_transforms_active()  # what Function.apply asks, too
    )


def weighted_sum(coefficients: Sequence[Coefficient], tensors: Sequence[Tensor], replicas: int) -> Tensor:
    """sum of coefficient * tensor as a new tensor, in plain differentiable operations."""
    total, *rest = (_times(_number(c, t, replicas), t) for c, t in zip(coefficients, tensors))
    for product in rest:
        total = total + product
    return total


class MultistepSum(Function):
    """(total, coefficients, tensors) -> (total + sum of products, tensors), the tensors as aliases.

    An alias's incoming gradient has one owner, this node's backward pass, which therefore may add to it in place;
    with create_graph it does not.
    """

    @staticmethod
    def forward(ctx: Any, total: Tensor, replicas: int, *terms: Any) -> tuple[Tensor, ...]:
        coefficients, tensors = terms[: len(terms) // 2], terms[len(terms) // 2 :]
        ctx.replicas = replicas
        ctx.fixed = [c if not isinstance(c, Tensor) else None for c in coefficients]
        trained = [c for c in coefficients if isinstance(c, Tensor)]
        # a reference is all that is saved: the batch norm that follows a state keeps it anyway
        ctx.save_for_backward(*trained, *(tensors if trained else ()))
        ctx.mark_dirty(total)
        ctx.set_materialize_grads(False)
        for coefficient, tensor in zip(coefficients, tensors):
            _add_(total, _number(coefficient, tensor, replicas), tensor)
        return total, *tensors

    @staticmethod
    def backward(ctx: Any, gradient: Tensor | None, *collected: Tensor | None) -> tuple[Any, ...]:
        replicas, count = ctx.replicas, len(ctx.fixed)
        saved = list(ctx.saved_tensors)
        coefficients = [saved.pop(0) if fixed is None else fixed for fixed in ctx.fixed]
        tensors = saved or [None] * count
        if gradient is None:
            return None, None, *(None,) * count, *collected
        inner = [
            _products(gradient, tensor, replicas) if isinstance(c, Tensor) else None
            for c, tensor in zip(coefficients, tensors)
        ]
        outer = []
        for coefficient, earlier in zip(coefficients, collected):
            number = _number(coefficient, gradient, replicas)
            if earlier is None:
                outer.append(_times(number, gradient))
            elif torch.is_grad_enabled():
                outer.append(earlier + _times(number, gradient))
            else:
                outer.append(_add_(earlier, number, gradient))
        return gradient, None, *inner, *outer


def _number(coefficient: Coefficient, like: Tensor, replicas: int) -> Number:
    """On the CPU plain floats if no gradient is asked for, elsewhere a tensor that broadcasts: nothing waits."""
    if not isinstance(coefficient, Tensor):
        return coefficient
    if one_by_one(like) and not (torch.is_grad_enabled() or torch.compiler.is_compiling()):
        numbers = coefficient.tolist()
        return numbers[0] if replicas == 1 else tuple(numbers)
    return per_channel(coefficient, like.shape[1] // replicas, 2)


def _parts(replicas: int, *tensors: Tensor) -> Any:
    """The replicas' parts of (B, K * C, H, W), as views."""
    return zip(*(tensor.unflatten(1, (replicas, -1)).unbind(1) for tensor in tensors))


def _add_(total: Tensor, number: Number, tensor: Tensor) -> Tensor:
    """total += number * tensor, in place if it can be."""
    if isinstance(number, Tensor):
        return total.addcmul_(tensor, number)
    if isinstance(number, float):
        return total.add_(tensor, alpha=number)
    parts = zip(number, _parts(len(number), total, tensor))
    if torch.is_grad_enabled():  # autograd does not follow writing into one of several views
        return torch.cat([own.add(other, alpha=factor) for factor, (own, other) in parts], 1)
    for factor, (own, other) in parts:
        own.add_(other, alpha=factor)
    return total


def _times(number: Number, tensor: Tensor) -> Tensor:
    """number * tensor as a new tensor."""
    if isinstance(number, tuple):
        return torch.cat([factor * part for factor, (part,) in zip(number, _parts(len(number), tensor))], 1)
    return tensor * number


def _products(gradient: Tensor, tensor: Tensor, replicas: int) -> Tensor:
    """<gradient, tensor> for each replica, (K,)."""
    if torch.is_grad_enabled() or not one_by_one(gradient):
        return (gradient * tensor).unflatten(1, (replicas, -1)).sum((0, 2, 3, 4))
    return torch.stack([g.reshape(-1).dot(t.reshape(-1)) for g, t in _parts(replicas, gradient, tensor)])
