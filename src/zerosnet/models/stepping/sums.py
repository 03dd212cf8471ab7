"""The multistep sum y_{n+1} = sum_i alphas[i] y_{n-i} + sum_j betas[j] f_{n-j}, cheap in time and memory.

A sum of scaled tensors, written plainly, costs a pass and a temporary for each product and each sum, forwards and again
backwards. Here the sum goes into the output of f's last convolution, term by term in place. Backwards, the gradient of
y_n is a sum over the blocks that looked back on it; `MultistepSum` hands the states through from block to block, so
that each of these blocks adds its own share in place to what the later ones have collected.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd import Function

from zerosnet.models.layers.replicated import Coefficient, one_by_one, per_channel

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
