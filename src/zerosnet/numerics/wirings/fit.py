"""Fit the accuracy law: least squares of log(error), which is a straight line in log(D) for every tau.

tau is found on a grid and then by golden section, so that the result is the same everywhere. Every network is also
predicted by the law that is fitted to the others.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import exp, log, sqrt

import numpy as np

from zerosnet.errors import InputError
from zerosnet.numerics.wirings.law import AccuracyLaw, FittedNetwork, used
from zerosnet.numerics.wirings.measures import effective_parameters
from zerosnet.numerics.wirings.stages import parameters_by_stage
from zerosnet.numerics.wirings.step import Floats
from zerosnet.numerics.wirings.wiring import Wiring

_LOG_TAU = (log(1e-4), log(10.0))
_GRID = 60
_ROUNDS = 40
_GOLDEN = (sqrt(5) - 1) / 2


@dataclass(frozen=True)
class Point:
    """A trained network: its wiring, its accuracy in percent (mean over runs), and what it is called."""

    wiring: Wiring
    accuracy: float
    scheme: str = ""
    stage_change: str = "project-each"
    runs: int = 1


def fit_law(
    points: Sequence[Point],
    measure: str = "parts",
    *,
    dataset: str = "cifar10",
    recipe: str = "paper",
    epoch: str = "best",
) -> AccuracyLaw:
    """The law that fits these networks best, with its leave-one-out predictions."""
    if len(points) < 5:
        raise InputError(f"points has {len(points)} entries; expected at least 5 for three constants")
    for point in points:
        if not 0 <= point.accuracy < 100:
            raise InputError(f"accuracy is {point.accuracy!r}; expected percent, from 0 to below 100")
    weights = [used(point.wiring, measure) for point in points]
    per_block = [np.array([float(p) for p in parameters_by_stage(point.wiring.stages)]) for point in points]
    log_errors = np.log([100 - point.accuracy for point in points])

    def log_quantities(log_tau: float) -> Floats:
        return np.log([float(effective_parameters(u, p, exp(log_tau))) for u, p in zip(weights, per_block)])

    log_tau, log_a, p = _constants(log_quantities, log_errors, np.ones(len(points), dtype=np.bool_))
    constants = exp(log_a), exp(log_tau), p
    quantities = np.exp(log_quantities(log_tau))
    networks = []
    for i, point in enumerate(points):
        others = np.arange(len(points)) != i
        log_tau, log_a, p = _constants(log_quantities, log_errors, others)
        left_out = 100 - exp(log_a - p * log_quantities(log_tau)[i])
        blocks = point.wiring.counts
        networks.append(
            FittedNetwork(
                *(point.scheme, blocks, point.stage_change, point.runs, point.accuracy),
                left_out=float(left_out),
                quantity=float(quantities[i]),
            )
        )
    return AccuracyLaw(measure, *constants, dataset, recipe, epoch, tuple(networks))


def _constants(
    log_quantities: Callable[[float], Floats], log_errors: Floats, chosen: Floats
) -> tuple[float, float, float]:
    """(log tau, log a, p) of the best fit to the chosen networks."""

    def misfit(log_tau: float) -> float:
        return _line(log_quantities(log_tau)[chosen], log_errors[chosen])[2]

    grid = np.linspace(*_LOG_TAU, _GRID)
    best = int(np.argmin([misfit(x) for x in grid]))
    log_tau = _golden_section(misfit, float(grid[max(best - 1, 0)]), float(grid[min(best + 1, _GRID - 1)]))
    log_a, slope, _ = _line(log_quantities(log_tau)[chosen], log_errors[chosen])
    return log_tau, log_a, -slope


def _line(x: Floats, y: Floats) -> tuple[float, float, float]:
    """Intercept, slope and sum of squares of the straight line through points."""
    dx, dy = x - x.mean(), y - y.mean()
    spread = float(dx @ dx)
    slope = float(dx @ dy) / spread if spread > 0 else 0.0
    rest = dy - slope * dx
    return float(y.mean() - slope * x.mean()), slope, float(rest @ rest)


def _golden_section(function: Callable[[float], float], low: float, high: float) -> float:
    """Find the minimum of a function that has one between low and high."""
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    f_left, f_right = function(left), function(right)
    for _ in range(_ROUNDS):
        if f_left <= f_right:
            high, right, f_right = right, left, f_left
            left = high - _GOLDEN * (high - low)
            f_left = function(left)
        else:
            low, left, f_left = left, right, f_right
            right = low + _GOLDEN * (high - low)
            f_right = function(right)
    return (low + high) / 2
