"""Ordinary least squares with few explanations: coefficients with intervals, and the error on what was left out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from zerosnet.errors import InputError


@dataclass(frozen=True)
class Coefficient:
    """A slope with its interval and the two-sided p-value of no effect.

    Attributes:
        alone: The part of the variance that is lost if this explanation is dropped.
    """

    name: str
    value: float
    low: float
    high: float
    p: float
    alone: float

    def __str__(self) -> str:
        return f"{self.value:+.2f} ({self.low:+.2f} to {self.high:+.2f})"


@dataclass(frozen=True)
class Regression:
    """y = intercept + sum of coefficient * explanation, fitted to n points.

    Attributes:
        explained: R^2, the part of the variance that the line explains.
        left_out: Root mean square error, every point predicted from the others.
    """

    intercept: float
    coefficients: tuple[Coefficient, ...]
    explained: float
    left_out: float
    n: int
    level: float

    def __getitem__(self, name: str) -> Coefficient:
        return next(one for one in self.coefficients if one.name == name)


def regress(y: Sequence[float], explanations: Mapping[str, Sequence[float]], level: float = 0.95) -> Regression:
    """Fit a straight line in all explanations at once; none of them gives the mean.

    Intervals and p-values are Student's, with n - 1 - len(explanations) degrees of freedom. A point that is left out
    has the error e_i / (1 - h_i), with h the leverages.

    Raises:
        InputError: Sizes differ, there are too few points, or an explanation follows from the others.
    """
    target = np.asarray(y, dtype=np.float64)
    n, names = len(target), list(explanations)
    if any(len(values) != n for values in explanations.values()):
        raise InputError(f"explanations have {[len(v) for v in explanations.values()]} points; expected {n} each")
    free = n - 1 - len(names)
    if free < 1:
        raise InputError(f"y has {n} points; expected at least {len(names) + 2} for {len(names)} explanations")
    design = np.column_stack([np.ones(n), *(np.asarray(v, dtype=np.float64) for v in explanations.values())])
    if np.linalg.matrix_rank(design) < design.shape[1]:
        raise InputError(f"explanations are {', '.join(names)}; expected none that is constant or follows from others")
    from scipy.special import stdtr, stdtrit  # Student's t; scipy.stats would take a second to load

    inverse = np.linalg.inv(design.T @ design)
    found = inverse @ design.T @ target
    rest = target - design @ found
    centred = target - target.mean()
    total, unexplained = float(centred @ centred), float(rest @ rest)
    errors = np.sqrt(np.diag(inverse) * unexplained / free)
    reach = float(stdtrit(free, 0.5 + level / 2)) * errors
    leverage = np.einsum("ij,jk,ik->i", design, inverse, design)
    coefficients = tuple(
        Coefficient(
            name,
            value=float(found[i]),
            low=float(found[i] - reach[i]),
            high=float(found[i] + reach[i]),
            p=float(2 * stdtr(free, -abs(found[i]) / errors[i])) if errors[i] > 0 else 0.0,
            alone=float(found[i] ** 2 / inverse[i, i]) / total if total > 0 else 0.0,
        )
        for i, name in enumerate(names, start=1)
    )
    explained = 1 - unexplained / total if total > 0 else 1.0
    left_out = float(np.sqrt(np.mean((rest / (1 - leverage)) ** 2)))
    return Regression(float(found[0]), coefficients, explained, left_out, n, level)
