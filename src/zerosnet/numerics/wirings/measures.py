"""How much of its depth a wiring uses: functions of shares, parts and contributions, for one wiring or arrays of them.

All take those of N blocks along the last axis.
"""

import numpy as np
import numpy.typing as npt

from zerosnet.numerics.wirings.step import Floats

TAU = 0.1
"""Share at which a block counts half."""

HEAD_TAU = 0.005
"""Part of what the head reads at which a block counts half if blocks are counted; the accuracy law has its own tau."""


def effective_depth(shares: npt.ArrayLike, tau: float = TAU) -> Floats:
    """sum_n s_n / (s_n + tau): a block counts fully if its share is far above tau, and s_n / tau far below it.

    Examples:
        >>> round(float(effective_depth([1.0, 0.1, 0.001], tau=0.1)), 3)
        1.419
    """
    return weighted_depth(shares, 1.0, tau)


def weighted_depth(shares: npt.ArrayLike, per_block: npt.ArrayLike, tau: float = TAU) -> Floats:
    """sum_n p_n s_n / (s_n + tau) with p_n the weight of block n."""
    s = np.asarray(shares, dtype=np.float64)
    return np.asarray((np.asarray(per_block, dtype=np.float64) * (s / (s + tau))).sum(axis=-1))


def effective_parameters(parts: npt.ArrayLike, per_block: npt.ArrayLike, tau: float) -> Floats:
    """sum_n p_n max(0, 1 - sqrt(tau / v_n)): the parameters of blocks that the head reads well enough.

    v_n is the part of what the head reads that comes from block n (0 if it dies, see `survival`), and p_n its
    parameters. A block whose part is below tau does not count; one with four times that part counts half.

    Examples:
        >>> float(effective_parameters([0.5, 0.08, 0.005], [1, 4, 16], tau=0.02)).__round__(3)
        2.8
    """
    v, p = np.asarray(parts, dtype=np.float64), np.asarray(per_block, dtype=np.float64)
    counted = 1 - np.sqrt(tau / np.maximum(v, tau))
    return np.asarray((p * counted).sum(axis=-1))


def blocks_above(shares: npt.ArrayLike, least: float = 0.1) -> npt.NDArray[np.int64]:
    """How many blocks have at least this share."""
    return np.asarray((np.asarray(shares, dtype=np.float64) >= least).sum(axis=-1))


def number_of_sources(weights: npt.ArrayLike) -> Floats:
    """exp(entropy) of the squared weights: how many sources of equal weight would be as spread.

    Examples:
        >>> round(float(number_of_sources([0.5, 0.5, 0.5, 0.5])), 3)
        4.0
    """
    parts = np.square(np.asarray(weights, dtype=np.float64))
    total = parts.sum(axis=-1, keepdims=True)
    parts = parts / np.where(total > 0, total, 1.0)
    logs = np.log(np.where(parts > 0, parts, 1.0))
    return np.asarray(np.exp(-(parts * logs).sum(axis=-1)))
