"""The multistep sum, y_{n+1} = sum_i alphas[i] y_{n-i} + sum_j betas[j] f_{n-j}, and what passes from block to block."""

from collections.abc import Iterable
from typing import NamedTuple

import torch
from torch import Tensor

from zerosnet.models.layers import Coefficient, of_replica, per_channel, separately

Term = tuple[Coefficient, Tensor]


class Row(NamedTuple):
    """The coefficients of one block, newest first."""

    alphas: tuple[Coefficient, ...]
    betas: tuple[Coefficient, ...]


ONE_STEP = Row((1.0,), (1.0,))
"""y_{n+1} = y_n + f(y_n), the start-up."""


class History(NamedTuple):
    """The states y_n, y_{n-1}, ... and the slopes f_{n-1}, f_{n-2}, ... that later blocks still need, newest first."""

    states: tuple[Tensor, ...]
    slopes: tuple[Tensor, ...] = ()


def weighted_sum(terms: Iterable[Term], replicas: int) -> Tensor:
    """sum of coefficient * tensor as a new tensor."""
    (coefficient, tensor), *rest = terms
    return accumulate(scaled(tensor, coefficient, replicas), rest, replicas)


def accumulate(total: Tensor, terms: Iterable[Term], replicas: int) -> Tensor:
    """total + sum of coefficient * tensor, written into `total`, which must be nobody else's.

    A term is one pass over memory and saves no copy: for a trained coefficient autograd keeps a reference to the
    state, which the batch norm that follows it keeps anyway.
    """
    terms = list(terms)
    if all(isinstance(coefficient, float) for coefficient, _ in terms):
        return _add(total, terms)
    channels = total.shape[1] // replicas
    if not separately(total, replicas):
        return _add(total, [(per_channel(c, channels), tensor) for c, tensor in terms])
    if replicas == 1:
        return _add(total, [(of_replica(c, 0), tensor) for c, tensor in terms])
    parts = [total.split(channels, 1), *(tensor.split(channels, 1) for _, tensor in terms)]
    sums = []
    for k, (own, *others) in enumerate(zip(*parts)):
        sums.append(_add(own.clone(), [(of_replica(c, k), other) for (c, _), other in zip(terms, others)]))
    return torch.cat(sums, 1)


def scaled(tensor: Tensor, coefficient: Coefficient, replicas: int) -> Tensor:
    """coefficient * tensor as a new tensor."""
    return accumulate(torch.zeros_like(tensor), [(coefficient, tensor)], replicas)


def _add(total: Tensor, terms: list[Term]) -> Tensor:
    for coefficient, tensor in terms:
        if isinstance(coefficient, float):
            total = total.add_(tensor, alpha=coefficient)
        else:
            total = total.addcmul_(tensor, coefficient.view(-1, 1, 1) if coefficient.dim() else coefficient)
    return total
