"""Statistics of few numbers: means with sample deviations, intervals of differences, rank correlations."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import permutations
from typing import Any

import numpy as np

_EXACT = 7  # up to so many points all permutations are taken, 5040
_DRAWS = 20_000
EQUAL = 0.5
"""Points of accuracy below which two schemes count as equal."""


@dataclass(frozen=True)
class Summary:
    """Mean and sample standard deviation (n - 1; None for a single number) of n numbers."""

    mean: float
    deviation: float | None
    n: int

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    def __str__(self) -> str:
        return f"{self.mean:.2f}" + ("" if self.deviation is None else f"±{self.deviation:.2f}")


def summarise(values: Sequence[float]) -> Summary | None:
    """
    Examples:
        >>> str(summarise([91.69, 92.07, 91.94]))
        '91.90±0.19'
    """
    if not values:
        return None
    mean = math.fsum(values) / len(values)
    if len(values) == 1:
        return Summary(mean, None, 1)
    return Summary(mean, math.sqrt(math.fsum((v - mean) ** 2 for v in values) / (len(values) - 1)), len(values))


@dataclass(frozen=True)
class Difference:
    """mean(a) - mean(b) with its interval, by `welch` or `pooled_difference`."""

    mean: float
    low: float
    high: float
    level: float
    n: tuple[int, int]
    p: float
    """Two-sided p-value of no difference."""

    @property
    def certain(self) -> bool:
        """The interval does not contain 0."""
        return not self.low <= 0 <= self.high

    @property
    def negligible(self) -> bool:
        """The interval lies within half a point: a test of equivalence, at a level of (1 - `level`) / 2."""
        return self.low > -EQUAL and self.high < EQUAL

    @property
    def verdict(self) -> str:
        return "a difference" if self.certain else f"equal within {EQUAL:g}" if self.negligible else "undecided"

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"n": list(self.n)}

    def __str__(self) -> str:
        return f"{self.mean:+.2f} ({100 * self.level:.0f} % interval {self.low:+.2f} to {self.high:+.2f})"


def welch(a: Sequence[float], b: Sequence[float], level: float = 0.95) -> Difference | None:
    """Interval of mean(a) - mean(b); None if a side has fewer than two numbers, or nothing varies at all.

    nu = (s_a^2/n_a + s_b^2/n_b)^2 / ((s_a^2/n_a)^2/(n_a-1) + (s_b^2/n_b)^2/(n_b-1))   (Welch 1947, Satterthwaite)
    """
    first, second = summarise(a), summarise(b)
    if first is None or second is None or first.deviation is None or second.deviation is None:
        return None
    parts = [first.deviation**2 / first.n, second.deviation**2 / second.n]
    error, mean = math.sqrt(sum(parts)), first.mean - second.mean
    if error == 0:
        return None
    nu = sum(parts) ** 2 / (parts[0] ** 2 / (first.n - 1) + parts[1] ** 2 / (second.n - 1))
    return _with_interval(mean, error, nu, level, (first.n, second.n))


def pooled_difference(
    a: Sequence[float],
    b: Sequence[float],
    like_a: Iterable[Sequence[float]],
    like_b: Iterable[Sequence[float]] | None = None,
    level: float = 0.95,
) -> Difference | None:
    """Interval of mean(a) - mean(b) from deviations pooled over groups, since two or three seeds alone tell little.

        s^2 = sum_g sum_i (x_gi - mean_g)^2 / nu,   nu = sum_g (n_g - 1)

    Args:
        a: The seeds of one scheme, at least one.
        b: Those of the other.
        like_a: Groups that vary as a does, a among them; equal groups count once.
        like_b: Groups that vary as b does; None for those of a.
        level: How often such intervals hold the difference.

    Returns:
        None if a side is empty, or if the groups do not vary or have no second seed.
    """
    first, second = summarise(a), summarise(b)
    if first is None or second is None:
        return None
    pool_a = _pooled(like_a)
    pool_b = pool_a if like_b is None else _pooled(like_b)
    if pool_a is None or pool_b is None:
        return None
    parts = [pool_a[0] / first.n, pool_b[0] / second.n]
    if sum(parts) == 0:
        return None
    nu = float(pool_a[1])
    if like_b is not None:
        nu = sum(parts) ** 2 / (parts[0] ** 2 / pool_a[1] + parts[1] ** 2 / pool_b[1])
    return _with_interval(first.mean - second.mean, math.sqrt(sum(parts)), nu, level, (first.n, second.n))


def _pooled(groups: Iterable[Sequence[float]]) -> tuple[float, int] | None:
    """Pool the variance within groups; return it with its degrees of freedom."""
    found = [one for one in map(summarise, dict.fromkeys(map(tuple, groups))) if one is not None]
    freedom = sum(one.n - 1 for one in found)
    squares = math.fsum((one.n - 1) * one.deviation**2 for one in found if one.deviation is not None)
    return (squares / freedom, freedom) if freedom else None


def _with_interval(mean: float, error: float, nu: float, level: float, n: tuple[int, int]) -> Difference:
    from scipy.special import stdtr, stdtrit  # Student's t; scipy.stats would take a second to load

    reach = float(stdtrit(nu, 0.5 + level / 2)) * error
    return Difference(mean, mean - reach, mean + reach, level, n, float(2 * stdtr(nu, -abs(mean) / error)))


@dataclass(frozen=True)
class Correlation:
    """Spearman's rank correlation of n pairs, with the two-sided p-value of a permutation test."""

    rho: float
    p: float
    n: int

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    def __str__(self) -> str:
        least = 1 / (1 + _DRAWS)  # none of the permutations that were drawn
        p = "< 1e-4" if self.n > _EXACT and self.p <= least else f"= {self.p:.2g}"
        return f"{self.rho:+.2f} (p {p}, n = {self.n})"


def spearman(x: Sequence[float], y: Sequence[float]) -> Correlation | None:
    """Rank correlation; None below four pairs, or if one side is constant.

    All permutations up to seven pairs, 20,000 drawn by a fixed seed above, the one that is counted among them.
    """
    if len(x) != len(y):
        raise ValueError(f"{len(x)} and {len(y)} numbers; expected as many")
    if len(x) < 4 or len(set(x)) == 1 or len(set(y)) == 1:
        return None
    a, b = _standardised(ranks(x)), _standardised(ranks(y))
    rho = float(a @ b)
    if len(x) <= _EXACT:
        shuffled = np.array([[b[i] for i in order] for order in permutations(range(len(x)))])
        p = float(np.mean(np.abs(shuffled @ a) >= abs(rho) - 1e-12))
    else:
        shuffled = np.random.default_rng(0).permuted(np.tile(b, (_DRAWS, 1)), axis=1)
        p = float((1 + np.sum(np.abs(shuffled @ a) >= abs(rho) - 1e-12)) / (1 + _DRAWS))
    return Correlation(rho, p, len(x))


def ranks(values: Sequence[float]) -> np.ndarray:
    """Ranks from 1, equal values sharing the mean of theirs."""
    array = np.asarray(values, dtype=np.float64)
    below = (array[:, None] > array).sum(1)
    equal = (array[:, None] == array).sum(1)
    return below + (equal + 1) / 2


def _standardised(values: np.ndarray) -> np.ndarray:
    centred = values - values.mean()
    return np.asarray(centred / np.sqrt(centred @ centred))
