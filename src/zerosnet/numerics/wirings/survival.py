"""Predict which blocks survive training: those that make up enough of what is read at the start.

Training keeps a block or lets it die: most shares end above 10 % or below 0.1 %. Which of both can be estimated from
the coefficients. Block n survives if

    max(s_n, sqrt(v_n)) >= least sqrt(r_n),   r_n = sqrt(p_n / p_0),

with s_n its share, v_n its part of what the head reads, p_n its parameters and r_n its width relative to the first
block's. So a block has to make up enough of what the next one, or the head, reads. `least` is counted from trained
networks; close to it, it is often wrong.
"""

from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from zerosnet.errors import InputError
from zerosnet.numerics.wirings.json_fields import COUNT, NOT_NEGATIVE, check_fields
from zerosnet.numerics.wirings.step import Bools, Floats

ALIVE = 0.01
"""Share from which a trained block counts as alive."""

BAND, MATTERS = 1.75, 0.1
"""A network is near the threshold if blocks within this factor of it have more than this part of all parameters."""


@dataclass(frozen=True)
class Survival:
    """The threshold, and how often it is wrong.

    Attributes:
        least: The weight from which a block of the first stage survives.
        blocks: Trained blocks that it was counted from.
        wrong: Those of them that it misjudges.
    """

    least: float
    blocks: int = 0
    wrong: int = 0

    def __post_init__(self) -> None:
        if not self.least >= 0:
            raise InputError(f"least is {self.least!r}; expected a number from 0 on")

    def to_json(self) -> dict[str, Any]:
        return dict(vars(self))


def read_survival(data: Any) -> Survival:
    """Read what `Survival.to_json` writes."""
    check_fields(data, "survival", {"least": NOT_NEGATIVE}, {"blocks": COUNT, "wrong": COUNT})
    return Survival(**data)


def start_weights(shares: npt.ArrayLike, parts: npt.ArrayLike, per_block: npt.ArrayLike) -> Floats:
    """Compute max(s_n, sqrt(v_n)) / sqrt(r_n), which is compared with the threshold; blocks lie along the last axis.

    Examples:
        >>> start_weights([0.5, 0.2], [0.01, 0.09], [1, 16]).tolist()
        [0.5, 0.15]
    """
    p = np.asarray(per_block, dtype=np.float64)
    read = np.maximum(np.asarray(shares, dtype=np.float64), np.sqrt(np.asarray(parts, dtype=np.float64)))
    return np.asarray(read / (p / p.flat[0]) ** 0.25)


def survives(shares: npt.ArrayLike, parts: npt.ArrayLike, per_block: npt.ArrayLike, least: float) -> Bools:
    """Return True for the blocks that survive."""
    return np.asarray(start_weights(shares, parts, per_block) >= least)


def living_parts(shares: npt.ArrayLike, parts: npt.ArrayLike, per_block: npt.ArrayLike, least: float) -> Floats:
    """Return the parts of the blocks that survive, and 0 for those that die."""
    return np.where(survives(shares, parts, per_block, least), np.asarray(parts, dtype=np.float64), 0.0)


def is_near(shares: npt.ArrayLike, parts: npt.ArrayLike, per_block: npt.ArrayLike, least: float) -> bool:
    """Check if blocks close to the threshold have much of a network's parameters.

    Examples:
        >>> is_near([0.9, 0.03], [0.5, 0.0001], [1, 1], least=0.02), is_near([0.9, 0.5], [0.5, 0.2], [1, 1], least=0.02)
        (True, False)
    """
    p = np.asarray(per_block, dtype=np.float64)
    weights = start_weights(shares, parts, p)
    close = (weights > least / BAND) & (weights < least * BAND)
    return bool(p[close].sum() > MATTERS * p.sum())


def count_survival(weights: npt.ArrayLike, alive: npt.ArrayLike) -> Survival:
    """Find the threshold that misjudges the fewest blocks, between the two weights nearest to it.

    Args:
        weights: `start_weights` of trained blocks.
        alive: Whether each was alive after training.

    Examples:
        >>> count_survival([0.01, 0.02, 0.08, 0.5], [False, False, True, True])
        Survival(least=0.04, blocks=4, wrong=0)
    """
    found, lives = np.asarray(weights, dtype=np.float64), np.asarray(alive, dtype=np.bool_)
    values = np.unique(found)
    if found.ndim != 1 or found.shape != lives.shape or len(values) < 2 or not (lives.any() and not lives.all()):
        raise InputError(f"weights has shape {found.shape}; expected one per block, of blocks that live and that die")
    wrong = [int(((found >= value) != lives).sum()) for value in values[1:]]
    best = int(np.argmin(wrong))
    least = sqrt(values[best] * values[best + 1]) or float(values[best + 1])
    return Survival(least, len(found), wrong[best])
