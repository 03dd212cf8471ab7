"""A small zoo of initial value problems y' = f(t, y) with known solutions."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from zerosnet.errors import InputError

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
