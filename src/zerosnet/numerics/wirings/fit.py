"""Fit the accuracy law: least squares of log(error).

Without a floor it is a straight line in log(D) for every tau; tau is found on a grid and then by golden section. With a
floor all four constants are then improved by damped Gauss-Newton steps, from three values of tau. Nothing is random, so
the result is the same everywhere. Every network is also predicted by the law that is fitted to the others.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import exp, log, sqrt

import numpy as np

from zerosnet.errors import InputError
from zerosnet.numerics.wirings.companion import typical_root
from zerosnet.numerics.wirings.fitted import FittedNetwork
from zerosnet.numerics.wirings.law import COUNTS, EVERY_BLOCK, AccuracyLaw, schemes_of, used
from zerosnet.numerics.wirings.stages import parameters_by_stage
from zerosnet.numerics.wirings.step import Bools, Floats
from zerosnet.numerics.wirings.survival import Survival
from zerosnet.numerics.wirings.wiring import Wiring

_LOG_TAU = (log(1e-4), log(10.0))
_GRID = 60
_ROUNDS = 40
_GOLDEN = (sqrt(5) - 1) / 2
_LEAST_POINTS = 6
_LEAST_QUANTITY = 1e-9  # of D, if tau is above all parts of a network
_BELOW = 0.99  # the floor stays below the least error times this
_STEPS, _DIFFERENCE = 60, 1e-6
_MOST_DAMPING, _LEAST_GAIN = 1e9, 1e-13
_SHIFTS = (-0.4, 0.0, 0.4)  # of log(tau): blocks begin to count at a kink, and the misfit has several minima


@dataclass(frozen=True)
class Point:
    """A trained network: its wiring, its accuracy in percent (mean over runs), and what it is called."""

    wiring: Wiring
    accuracy: float
    scheme: str = ""
    stage_change: str = "project-each"
    runs: int = 1
    beta_growth: str = "1"
    block_schemes: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Constants:
    log_tau: float
    log_a: float
    p: float
    floor: float = 0.0

    def log_errors(self, log_quantities: Floats) -> Floats:
        return np.asarray(np.log(np.exp(self.log_a - self.p * log_quantities) + self.floor))


def fit_law(
    points: Sequence[Point],
    measure: str = "parts",
    *,
    floor: bool = False,
    survival: Survival = EVERY_BLOCK,
    dataset: str = "cifar10",
    recipe: str = "paper",
    epoch: str = "best",
) -> AccuracyLaw:
    """Find the law that fits these networks best, with its leave-one-out predictions.

    Args:
        floor: Fit an error that no depth removes, too.
        survival: Which blocks of a law of parts survive training; it is not fitted to accuracies.
    """
    if len(points) < _LEAST_POINTS:
        raise InputError(f"points has {len(points)} entries; expected at least {_LEAST_POINTS} for the constants")
    for point in points:
        if not 0 <= point.accuracy < 100:
            raise InputError(f"accuracy is {point.accuracy!r}; expected percent, from 0 to below 100")
    quantities = _Quantities(points, measure, survival.least)
    log_errors = np.log([100 - point.accuracy for point in points])
    everything = np.ones(len(points), dtype=np.bool_)
    best = _fit(quantities, log_errors, everything, floor)
    constants = exp(best.log_a), exp(best.log_tau), best.p
    law = AccuracyLaw(measure, *constants, dataset, recipe, epoch, (), best.floor, survival)
    networks = []
    for i, point in enumerate(points):
        others = everything.copy()
        others[i] = False
        found = _fit(quantities, log_errors, others, floor)
        left_out = 100 - exp(found.log_errors(quantities(found.log_tau))[i])
        networks.append(
            FittedNetwork(
                *(point.scheme, point.wiring.counts, point.stage_change, point.runs, point.accuracy),
                left_out=left_out,
                quantity=exp(quantities(best.log_tau)[i]),
                root=typical_root(schemes_of(point.wiring)),
                near=law.is_near(point.wiring),
                spread=law.spread(point.wiring),
                beta_growth=point.beta_growth,
                block_schemes=point.block_schemes,
            )
        )
    return replace(law, networks=tuple(networks))


class _Quantities:
    """log(D) of all networks as a function of log(tau)."""

    def __init__(self, points: Sequence[Point], measure: str, least: float) -> None:
        self.count = COUNTS[measure]
        longest = max(len(point.wiring.steps) for point in points)
        self.weights, self.parameters = (np.zeros((len(points), longest)) for _ in range(2))
        for row, point in enumerate(points):
            wiring, blocks = point.wiring, len(point.wiring.steps)
            parameters = parameters_by_stage(wiring.counts)
            self.weights[row, :blocks] = used(measure, wiring.shares(), wiring.head_parts(), parameters, least)
            self.parameters[row, :blocks] = parameters

    def __call__(self, log_tau: float) -> Floats:
        counted = self.count(self.weights, self.parameters, exp(log_tau))
        return np.asarray(np.log(np.maximum(counted, _LEAST_QUANTITY)))


def _fit(log_quantities: Callable[[float], Floats], log_errors: Floats, chosen: Bools, floor: bool) -> _Constants:
    log_tau, log_a, p = _constants(log_quantities, log_errors, chosen)
    if not floor:
        return _Constants(log_tau, log_a, p)
    starts = [_Constants(log_tau + shift, log_a, p) for shift in _SHIFTS]
    found = [_with_floor(start, log_quantities, log_errors, chosen) for start in starts]

    def misfit(one: _Constants) -> float:
        rest = (one.log_errors(log_quantities(one.log_tau)) - log_errors)[chosen]
        return float(rest @ rest)

    return min(found, key=misfit)


def _with_floor(
    start: _Constants, log_quantities: Callable[[float], Floats], log_errors: Floats, chosen: Bools
) -> _Constants:
    """Improve all four constants from a fit without floor; a step that makes it worse is shortened."""
    most = _BELOW * exp(log_errors[chosen].min())

    def residuals(values: Floats) -> Floats:
        constants = _Constants(*(float(x) for x in values))
        return np.asarray((constants.log_errors(log_quantities(constants.log_tau)) - log_errors)[chosen])

    def inside(values: Floats) -> Floats:
        clipped = values.copy()
        clipped[0] = min(max(values[0], _LOG_TAU[0]), _LOG_TAU[1])
        clipped[3] = min(max(values[3], 0.0), most)
        return clipped

    best = np.array([start.log_tau, start.log_a, start.p, most / 2])
    rest, damping = residuals(best), 1e-3
    for _ in range(_STEPS):
        columns = [(residuals(best + step) - rest) / _DIFFERENCE for step in _DIFFERENCE * np.eye(4)]
        jacobian = np.stack(columns, axis=1)
        normal = jacobian.T @ jacobian
        change = np.linalg.solve(normal + damping * np.diag(normal.diagonal() + 1e-12), jacobian.T @ rest)
        tried = inside(best - change)
        new = residuals(tried)
        gained = rest @ rest - new @ new
        if gained > 0:
            best, rest, damping = tried, new, damping / 3
        else:
            damping *= 5
        if damping > _MOST_DAMPING or 0 < gained < _LEAST_GAIN:
            break
    return _Constants(*(float(x) for x in best))


def _constants(
    log_quantities: Callable[[float], Floats], log_errors: Floats, chosen: Bools
) -> tuple[float, float, float]:
    """(log tau, log a, p) of the best fit to the chosen networks, without a floor."""

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
