"""The reference stepper: a scheme applied to an initial value problem, and a few problems with known solutions."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from zerosnet.errors import InputError
from zerosnet.numerics.scheme import Scheme

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Problem:
    """y' = f(t, y) on [start, end], and its solution there."""

    name: str
    f: Callable[[float, Floats], Floats]
    solution: Callable[[float], Floats]
    start: float
    end: float


def _hopf_slope(t: float, y: Floats) -> Floats:
    growth = 1 - y @ y
    return np.array([growth * y[0] - y[1], y[0] + growth * y[1]])


def _hopf_solution(t: float) -> Floats:
    radius = (1 + 3 * np.exp(-2 * t)) ** -0.5
    return radius * np.array([np.cos(t), np.sin(t)])


_ALL = (
    Problem("decay", lambda t, y: -y, lambda t: np.array([np.exp(-t)]), 0.0, 2.0),
    Problem(
        "oscillator",
        lambda t, y: np.array([y[1], -y[0]]),
        lambda t: np.array([np.cos(t), -np.sin(t)]),
        0.0,
        3.0,
    ),
    Problem("logistic", lambda t, y: y * (1 - y), lambda t: np.array([1 / (1 + 3 * np.exp(-t))]), 0.0, 2.0),
    Problem("nonautonomous", lambda t, y: y * np.cos(t), lambda t: np.array([np.exp(np.sin(t))]), 0.0, 2.0),
    Problem("limit cycle", _hopf_slope, _hopf_solution, 0.0, 2.0),  # a spiral onto the unit circle, from radius 1/2
)

PROBLEMS: dict[str, Problem] = {each.name: each for each in _ALL}


def problem(name: str) -> Problem:
    if name not in PROBLEMS:
        raise InputError(f"unknown problem {name!r}; expected one of {', '.join(PROBLEMS)}")
    return PROBLEMS[name]


@dataclass(frozen=True)
class Trajectory:
    """times (n+1,) and states (n+1, dimension), the starting values included."""

    times: Floats
    states: Floats


def _exact(problem: Problem, t: float, y: Floats, h: float) -> Floats:
    return problem.solution(t + h)


def _euler(problem: Problem, t: float, y: Floats, h: float) -> Floats:
    return y + h * problem.f(t, y)


def _runge_kutta(problem: Problem, t: float, y: Floats, h: float) -> Floats:
    k1 = problem.f(t, y)
    k2 = problem.f(t + h / 2, y + h / 2 * k1)
    k3 = problem.f(t + h / 2, y + h / 2 * k2)
    k4 = problem.f(t + h, y + h * k3)
    return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


# how the states before the first full step are found: from the solution, by plain residual steps (as the networks do),
# or by the classical Runge-Kutta method of order 4
STARTS: dict[str, Callable[[Problem, float, Floats, float], Floats]] = {
    "exact": _exact,
    "euler": _euler,
    "runge-kutta": _runge_kutta,
}


def integrate(scheme: Scheme, problem: Problem, n: int, start: str = "exact") -> Trajectory:
    """Take n steps of equal size over the problem's interval; f is called once for every state.

    Examples:
        >>> from zerosnet.numerics.methods.stepper import PROBLEMS
        >>> float(integrate(Scheme([1], [1]), PROBLEMS["decay"], 2).states[-1, 0])
        0.0
    """
    if start not in STARTS:
        raise InputError(f"start is {start!r}; expected one of {', '.join(STARTS)}")
    if n < scheme.steps:
        raise InputError(f"n is {n}; expected at least the {scheme.steps} steps of the scheme")
    alphas, betas = [float(a) for a in scheme.alphas], [float(b) for b in scheme.betas]
    h = (problem.end - problem.start) / n
    times = np.linspace(problem.start, problem.end, n + 1)
    states = [problem.solution(problem.start)]
    for t in times[: scheme.steps - 1]:
        states.append(STARTS[start](problem, float(t), states[-1], h))
    slopes: deque[Floats] = deque(maxlen=len(betas))  # newest first
    for t, y in zip(times, states):
        slopes.appendleft(problem.f(float(t), y))
    for t in times[scheme.steps :]:
        new = sum((a * y for a, y in zip(alphas, reversed(states)) if a), np.zeros_like(states[0]))
        new = new + h * sum((b * slope for b, slope in zip(betas, slopes) if b), np.zeros_like(states[0]))
        states.append(new)
        slopes.appendleft(problem.f(float(t), new))
    return Trajectory(times, np.array(states))


def largest_error(scheme: Scheme, problem: Problem, n: int, start: str = "exact") -> float:
    """The largest distance of the n-step trajectory from the solution; inf if it overflows."""
    with np.errstate(over="ignore", invalid="ignore"):
        trajectory = integrate(scheme, problem, n, start)
    solution = np.array([problem.solution(float(t)) for t in trajectory.times])
    error = float(np.abs(trajectory.states - solution).max())
    return error if np.isfinite(error) else np.inf


def observed_order(scheme: Scheme, problem: Problem, n: int, start: str = "exact") -> float:
    """Return log2 of the error with n steps over that with 2n: the order, if n is large enough."""
    return float(np.log2(largest_error(scheme, problem, n, start) / largest_error(scheme, problem, 2 * n, start)))
