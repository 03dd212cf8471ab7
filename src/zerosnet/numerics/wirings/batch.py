"""Shares, contributions and accuracies of many schemes at once, for maps and searches.

The sum over all sources of their second moments, a matrix per scheme, obeys the same recursion as that of each source:
M -> A M A^T + b b^T, and M -> diag(M) at independent projections. For a companion matrix only its first row is work:
with v = M alpha the new state has alpha . v + beta^2, and its cross moments with the older states are v. Schemes lie
along the last axis, in pieces that fit the cache; if moments grow, they are divided by a power of two.

Contributions to the head come from the same recursion backwards: with Q = r r^T at the head, Q -> A^T Q A, and
Q -> diag(Q) at independent projections, source n has the weight b_n^T Q b_n.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from zerosnet.errors import InputError
from zerosnet.numerics.methods.order_conditions import is_consistent
from zerosnet.numerics.scheme import Scheme
from zerosnet.numerics.stability.verdict import root_condition
from zerosnet.numerics.wirings.companion import one_step_blocks
from zerosnet.numerics.wirings.fitted import FittedNetwork
from zerosnet.numerics.wirings.law import load_law
from zerosnet.numerics.wirings.measures import effective_depth
from zerosnet.numerics.wirings.stages import BLOCKS, block_counts, find_stage_change, first_blocks, parameters_by_stage
from zerosnet.numerics.wirings.step import Floats
from zerosnet.numerics.wirings.wiring import STEM

_CHUNK = 2048  # schemes; their moments stay in the cache
_LARGE = 2.0**200  # of second moments
_SCALE = 2.0**-100  # of states that are large
_SAME = 1e-6  # roots closer than this are a pair


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

    Examples:
        >>> shares_of_many([[1.0], [0.5]], [1.0, 1.0], blocks=2).round(3).tolist()
        [[0.853, 0.649], [0.956, 0.886]]
    """
    return _in_pieces(_shares, alphas, betas, block_counts(blocks), stage_change, beta_growth, stem)


def head_contributions_of_many(
    alphas: npt.ArrayLike,
    betas: npt.ArrayLike,
    blocks: Any = BLOCKS,
    stage_change: str = "project-each",
    beta_growth: npt.ArrayLike = 1.0,
    stem: float = STEM,
) -> Floats:
    """Weight (..., N) of every block in what the head reads; as `Wiring.of(...).contributions()[-1, 1:]`."""
    return _in_pieces(_head_contributions, alphas, betas, block_counts(blocks), stage_change, beta_growth, stem)


def accuracy_of_pairs(roots: npt.ArrayLike, blocks: Any = BLOCKS) -> Floats:
    """Predict the accuracy of the consistent schemes with roots 1, r and conj(r), for every r in an array.

    Such a scheme has beta = |1 - r|^2. Calibration is not checked.

    Examples:
        >>> accuracy_of_pairs([0j, 0.9 + 0j]).round().tolist()
        [94.0, 74.0]
    """
    return accuracies_of_many(*_schemes_of_pairs(roots), block_counts(blocks))


def depth_of_pairs(roots: npt.ArrayLike, blocks: Any = BLOCKS) -> Floats:
    """Compute the effective depth of the consistent schemes with roots 1, r and conj(r), for every r in an array.

    Examples:
        >>> depth_of_pairs([0j, 0.9 + 0j]).round(1).tolist()
        [20.0, 1.8]
    """
    return effective_depth(shares_of_many(*_schemes_of_pairs(roots), block_counts(blocks)))


def _schemes_of_pairs(roots: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Compute alphas (..., 3) and betas (...)."""
    r = np.asarray(roots, dtype=np.complex128)
    trace, norm = 2 * r.real, np.abs(r) ** 2
    return np.stack([1 + trace, -(trace + norm), norm], axis=-1), np.abs(1 - r) ** 2


def accuracies_of_many(
    alphas: npt.ArrayLike,
    betas: npt.ArrayLike,
    blocks: Any = BLOCKS,
    stage_change: str = "project-each",
    beta_growth: npt.ArrayLike = 1.0,
) -> Floats:
    """Predict the accuracies (...) of the schemes with alphas (..., steps). Calibration is not checked."""
    counts = block_counts(blocks)
    shares = shares_of_many(alphas, betas, counts, stage_change, beta_growth)
    parts = np.square(head_contributions_of_many(alphas, betas, counts, stage_change, beta_growth))
    return load_law().accuracy_of(shares, parts, parameters_by_stage(counts))


def pair_of(scheme: Scheme) -> complex | None:
    """Find the r of a consistent scheme with roots 1, r and conj(r), in the upper half plane; None for other schemes.

    Examples:
        >>> pair_of(Scheme([1, 0, 0], [1])), pair_of(Scheme([1], [1]))
        (0j, None)
    """
    if (len(scheme.alphas), len(scheme.betas)) != (3, 1) or not is_consistent(scheme):
        return None
    first, second = root_condition(scheme).parasitic_roots
    return complex(first.real, abs(first.imag)) if abs(first - second.conjugate()) < _SAME else None


def measured_pairs(blocks: Any = BLOCKS) -> tuple[tuple[complex, FittedNetwork], ...]:
    """List the measured networks that have such a scheme, each with its r."""
    counts = block_counts(blocks)
    networks = (one for one in load_law().networks if one.plain and one.blocks == counts)
    found = ((pair_of(Scheme.parse(network.scheme)), network) for network in networks)
    return tuple((root, network) for root, network in found if root is not None)


def _in_pieces(
    compute: Callable[..., Floats],
    alphas: npt.ArrayLike,
    betas: npt.ArrayLike,
    counts: tuple[int, ...],
    stage_change: str,
    beta_growth: npt.ArrayLike,
    stem: float,
) -> Floats:
    weights = np.asarray(alphas, dtype=np.float64)
    if weights.ndim < 1 or weights.shape[-1] < 1 or not np.isfinite(weights).all():
        raise InputError(f"alphas has shape {weights.shape}; expected finite numbers of shape (..., steps)")
    shape, steps = weights.shape[:-1], weights.shape[-1]
    try:
        own, growth = (np.broadcast_to(np.asarray(x, dtype=np.float64), shape) for x in (betas, beta_growth))
    except ValueError:
        raise InputError(f"betas has shape {np.shape(betas)}; expected {shape}, one beta per scheme") from None
    if not (np.isfinite(own).all() and np.isfinite(growth).all()):
        raise InputError("betas or beta_growth has a number that is not finite; expected finite numbers")
    columns = np.ascontiguousarray(weights.reshape(-1, steps).T)
    own, growth = np.abs(own.reshape(-1)), np.abs(growth.reshape(-1))
    found = np.empty((columns.shape[1], sum(counts)))
    for begin in range(0, len(found), _CHUNK):
        piece = slice(begin, begin + _CHUNK)
        found[piece] = compute(columns[:, piece], own[piece], growth[piece], counts, stage_change, stem).T
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


def _head_contributions(
    alphas: Floats, betas: Floats, growth: Floats, counts: tuple[int, ...], stage_change: str, stem: float
) -> Floats:
    """Weights (N, K) of the blocks of K schemes with alphas (steps, K) in what the head reads."""
    steps, many = alphas.shape
    start_up, change = one_step_blocks(steps, counts, stage_change), find_stage_change(stage_change)
    beginnings = set(first_blocks(counts)[1:])
    zero, unit = np.zeros(many), np.zeros((steps, many))
    unit[0] = 1
    Q = [[zero] * (steps + 1) for _ in range(steps + 1)]  # one row and column of zeros at the end
    Q[0][0] = np.ones(many)
    log_scale, power = np.zeros(many), len(start_up) - sum(start_up)
    logs = np.empty((len(start_up) + 1, many))
    with np.errstate(divide="ignore", over="ignore"):
        log_beta, log_growth = np.log2(betas), np.log2(growth)
        for n in reversed(range(len(start_up))):
            power -= not start_up[n]
            size = 0.0 if start_up[n] else log_beta + power * log_growth
            logs[n + 1] = size + 0.5 * np.log2(np.maximum(Q[0][0], 0.0)) + log_scale
            Q = _before(Q, unit if start_up[n] else alphas)
            if n in beginnings and (change.projection == "each" or not change.keeps_history):
                kept = range(steps) if change.keeps_history else (0,)
                Q = [[x if i == j and i in kept else zero for j, x in enumerate(row)] for i, row in enumerate(Q)]
            if Q[0][0].max() > _LARGE:
                scale = np.where(Q[0][0] > _LARGE, _SCALE, 1.0)
                log_scale = log_scale - np.log2(scale)
                Q = [[x * (scale * scale) for x in row] for row in Q]
        logs[0] = 0.5 * np.log2(stem * np.maximum(Q[0][0], 0.0)) + log_scale
    largest = logs.max(axis=0)
    weights = np.exp2(logs - np.where(np.isfinite(largest), largest, 0.0))
    length = np.linalg.norm(weights, axis=0)
    return np.asarray((weights / np.where(length > 0, length, 1.0))[1:])


def _before(Q: list[list[Floats]], row: Floats) -> list[list[Floats]]:
    """A^T Q A for companion matrices with that first row; Q and the result have a row and a column of zeros added."""
    steps = len(row)
    new = [[Q[steps][steps]] * (steps + 1) for _ in range(steps + 1)]
    for i in range(steps):
        for j in range(i + 1):
            new[i][j] = row[i] * (row[j] * Q[0][0] + Q[0][j + 1]) + row[j] * Q[i + 1][0] + Q[i + 1][j + 1]
            new[j][i] = new[i][j]
    return new


def _dot(alphas: Floats, columns: list[Floats]) -> Floats:
    total = alphas[0] * columns[0]
    for alpha, column in zip(alphas[1:], columns[1:]):
        total += alpha * column
    return total
