"""Several streams as sums that are computed when something is read, X_i = sum_t weights[i, t] tensors[t].

From one change of shape to the next, the streams of X_{n+1} = A_n X_n + b_n f_n are combinations of the streams at its
beginning and of what the blocks have added since. So a block needs one sum, c_n^T X_n, and A_n and b_n act on the
weights, which are small. Kept as tensors, m streams are read and written in every block, and m^2 inner products with
them are taken backwards; here a block reads each earlier f once, and writes its own. The first streams are all y_0,
which is one tensor.
"""

import torch
from torch import Tensor

from zerosnet.models.stepping.history import accumulate, weighted_sum


def add_slope(weights: Tensor, A: Tensor, b: Tensor) -> Tensor:
    """Return the weights (K, m, T + 1) of A X + b f, f being the last tensor, from those (K, m, T) of X.

    Products are summed up one by one: a matrix product may round its factors on a GPU.
    """
    mixed = (A[..., None] * weights[:, None]).sum(2)
    return torch.cat((mixed, b[..., None]), -1)


def read_streams(
    c: Tensor, weights: Tensor, tensors: tuple[Tensor, ...], replicas: int
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """Compute c^T X; return it with the tensors to use from then on (see `accumulate`)."""
    return sum_of_terms((c[..., None] * weights).sum(1), tensors, replicas)


def sum_of_terms(weights: Tensor, tensors: tuple[Tensor, ...], replicas: int) -> tuple[Tensor, tuple[Tensor, ...]]:
    """Sum tensors with weights (K, T); return the sum, a new tensor, and the tensors to use from then on."""
    if torch.compiler.is_compiling():  # fuses products and sums; all weights are brought to channels in one kernel
        channels = tensors[0].shape[1] // replicas
        table = weights.t()[..., None].expand(-1, -1, channels).reshape(len(tensors), -1, 1, 1)
        numbers = table.unbind()
        total = numbers[0] * tensors[0]
        for number, tensor in zip(numbers[1:], tensors[1:]):
            total = total + number * tensor
        return total, tensors
    first, *rest = weights.unbind(-1)
    total = weighted_sum((first,), tensors[:1], replicas)
    if not rest:
        return total, tensors
    total, handed = accumulate(total, rest, tensors[1:], replicas)
    return total, (tensors[0], *handed)
