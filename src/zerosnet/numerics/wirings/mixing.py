"""Mixing matrices of several streams, drawn at random under a constraint."""

from collections.abc import Callable
from typing import Any

import numpy as np

from zerosnet.errors import InputError, did_you_mean
from zerosnet.files import is_whole
from zerosnet.numerics.rationals import number
from zerosnet.numerics.wirings.step import Floats

_ROUNDS = 10_000  # of Sinkhorn's iteration, at most; 8 streams take a few dozen
_NEAR = 1e-14


def _free(spread: float, shape: tuple[int, int, int], generator: np.random.Generator) -> Floats:
    return np.asarray(np.eye(shape[-1]) + spread * generator.standard_normal(shape))


def _row_stochastic(spread: float, shape: tuple[int, int, int], generator: np.random.Generator) -> Floats:
    drawn = generator.standard_exponential(shape)
    return _between(spread, drawn / drawn.sum(axis=-1, keepdims=True))


def _doubly_stochastic(spread: float, shape: tuple[int, int, int], generator: np.random.Generator) -> Floats:
    return _between(spread, sinkhorn(generator.standard_exponential(shape)))


def _between(spread: float, mixed: Floats) -> Floats:
    """A matrix on the way from the identity, spread 0, to the one that was drawn, spread 1."""
    return np.asarray((1 - spread) * np.eye(mixed.shape[-1]) + spread * mixed)


MIXINGS: dict[str, tuple[Callable[..., Floats], float]] = {
    "free": (_free, 10.0),
    "row-stochastic": (_row_stochastic, 1.0),
    "doubly-stochastic": (_doubly_stochastic, 1.0),
}
"""By constraint: how matrices are drawn, and the largest spread.

"free" is the identity and Gaussian noise of deviation `spread`. The others have entries that are not negative, and
rows, or rows and columns, that add up to 1; they lie between the identity and a matrix that was drawn.
"""


def draw_mixing(constraint: str, streams: int, blocks: int, spread: Any = 0.1, seed: int = 0) -> Floats:
    """Draw one mixing matrix per block; with more blocks, or another spread, the draws are the same.

    Returns:
        An array (blocks, streams, streams), for `Wiring.of_matrices`.

    Examples:
        >>> A = draw_mixing("doubly-stochastic", streams=3, blocks=5, spread=0.5, seed=1)
        >>> A.sum(axis=1).round(9).tolist()[0], A.sum(axis=2).round(9).tolist()[0]
        ([1.0, 1.0, 1.0], [1.0, 1.0, 1.0])
    """
    if constraint not in MIXINGS:
        hint = did_you_mean(constraint, MIXINGS)
        raise InputError(f"constraint is {constraint!r}{hint}; expected one of {', '.join(MIXINGS)}")
    draw, most = MIXINGS[constraint]
    for name, value, least in (("streams", streams, 1), ("blocks", blocks, 1), ("seed", seed, 0)):
        if not is_whole(value) or value < least:
            raise InputError(f"{name} is {value!r}; expected a whole number of at least {least}")
    size = number(spread, "spread")
    if not 0 <= size <= most:
        raise InputError(f"spread is {spread!r}; expected a number from 0 to {most:g} for {constraint} mixing")
    return draw(float(size), (blocks, streams, streams), np.random.default_rng(seed))


def sinkhorn(positive: Floats) -> Floats:
    """Divide rows and columns of positive matrices by their sums in turn, until both add up to 1."""
    found = np.asarray(positive, dtype=np.float64)
    for _ in range(_ROUNDS):
        found = found / found.sum(axis=-1, keepdims=True)
        columns = found.sum(axis=-2, keepdims=True)
        found = found / columns
        if np.abs(columns - 1).max() < _NEAR * found.shape[-1]:
            break
    return found
