"""Shares of many schemes at once, for maps and searches.

The sum over all sources of their second moments, a matrix per scheme, obeys the same recursion as that of each source:
M -> A M A^T + b b^T, and M -> diag(M) at independent projections. For a companion matrix only its first row is work:
with v = M alpha the new state has alpha . v + beta^2, and its cross moments with the older states are v. Schemes lie
along the last axis, in pieces that fit the cache; where moments grow, they are divided by a power of two.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from zerosnet.errors import InputError
from zerosnet.numerics.wiring.companion import one_step_blocks
from zerosnet.numerics.wiring.stages import BLOCKS, block_counts, find_stage_change, first_blocks
from zerosnet.numerics.wiring.step import Floats
from zerosnet.numerics.wiring.wiring import STEM

_CHUNK = 2048  # schemes; their moments stay in the cache
_LARGE = 2.0**200  # of second moments
_SCALE = 2.0**-100  # of states that are large


def shares_of_many(
    alphas: npt.ArrayLike,
    betas: npt.ArrayLike,
    blocks: Any = BLOCKS,
    stage_change: str = "project-each",
    beta_growth: npt.ArrayLike = 1.0,
    stem: float = STEM,
) -> Floats:
    """Shares (..., N) of the schemes with alphas (..., steps) and one beta each, (...); as `Wiring.of(...).shares()`.

    beta_growth: R, one for all or one per scheme; beta of the n-th block after start-up is multiplied by R^n.

    >>> shares_of_many([[1.0], [0.5]], [1.0, 1.0], blocks=2).round(3).tolist()
    [[0.853, 0.649], [0.956, 0.886]]
    """
    counts, weights = block_counts(blocks), np.asarray(alphas, dtype=np.float64)
    if weights.ndim < 1 or weights.shape[-1] < 1 or not np.isfinite(weights).all():
        raise InputError(f"alphas has shape {weights.shape}; expected finite numbers of shape (..., steps)")
    shape, steps = weights.shape[:-1], weights.shape[-1]
    try:
        own, growth = (np.broadcast_to(np.asarray(x, dtype=np.float64), shape) for x in (betas, beta_growth))
    except ValueError:
        raise InputError(f"betas has shape {np.shape(betas)}; expected {shape}, one beta per scheme") from None
    columns = np.ascontiguousarray(weights.reshape(-1, steps).T)
    own, growth = np.abs(own.reshape(-1)), np.abs(growth.reshape(-1))
    found = np.empty((columns.shape[1], sum(counts)))
    for begin in range(0, len(found), _CHUNK):
        piece = slice(begin, begin + _CHUNK)
        found[piece] = _shares(columns[:, piece], own[piece], growth[piece], counts, stage_change, stem).T
    return found.reshape(*shape, -1)


def _shares(
    alphas: Floats, betas: Floats, growth: Floats, counts: tuple[int, ...], stage_change: str, stem: float
) -> Floats:
    """Shares (N, K) of K schemes with alphas (steps, K)."""
    steps, many = alphas.shape
    start_up, change = one_step_blocks(steps, counts, stage_change), find_stage_change(stage_change)
    beginnings = set(first_blocks(counts)[1:])
    zero = np.zeros(many)
    moments = [[zero] * steps for _ in range(steps)]
    moments[0][0] = np.full(many, stem)
    one, beta = np.ones(many), betas.copy()  # in the gauge of the moments
    found = np.zeros((len(start_up), many))
    for n, one_step in enumerate(start_up):
        if n in beginnings and not change.keeps_history:
            moments = [[row[0] if i == 0 else zero, *[zero] * (steps - 1)] for i, row in enumerate(moments)]
        elif n in beginnings and change.projection == "each":
            moments = [[x if i == j else zero for j, x in enumerate(row)] for i, row in enumerate(moments)]
        cross = moments[0] if one_step else [_dot(alphas, row) for row in moments]
        kept = cross[0] if one_step else _dot(alphas, cross)
        write = one if one_step else beta
        state = np.maximum(kept, 0.0) + write * write  # below 0 by rounding, where almost everything cancels
        np.divide(write, np.sqrt(state), out=found[n], where=state > 0)
        moments = [[state, *cross[:-1]], *([cross[i], *moments[i][:-1]] for i in range(steps - 1))]
        beta = beta if one_step else beta * growth
        if state.max() > _LARGE:
            scale = np.where(state > _LARGE, _SCALE, 1.0)
            one, beta = one * scale, beta * scale
            moments = [[x * (scale * scale) for x in row] for row in moments]
    return found


def _dot(alphas: Floats, columns: list[Floats]) -> Floats:
    total = alphas[0] * columns[0]
    for alpha, column in zip(alphas[1:], columns[1:]):
        total += alpha * column
    return total
