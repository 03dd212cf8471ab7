"""Accuracy under noise from the coefficients alone: the accuracy law with two constants of its own for every noise.

    error under noise = a D^-p

D counts the parameters in use, as the law for clean images does, with the same tau; only a and p are fitted to networks
under noise, and there is no floor. Of a dozen other forms (straight or logistic in place of the logarithm, effective
depth beside or in place of D) none was better by more than 0.4 points on the networks at hand.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, exp, log, sqrt
from statistics import mean
from typing import Any

import numpy as np

from zerosnet.errors import InputError
from zerosnet.experiments.noise_comparison import NoisyNetwork

COVERAGE = 0.9
LEAST_NETWORKS = 4
LAWS = ("parts", "root_condition", "constant")


@dataclass(frozen=True)
class NoiseLaw:
    """error = a D^-p in percent under one noise, and what competes with it.

    Attributes:
        stable_mean: Mean accuracy of the zero-stable networks, what the root condition predicts for others like them.
        other_mean: The same for the networks that are not zero-stable.
        left_out: By law, root mean square error in points, every network predicted from the others.
        log_halfwidth: Half the width of a 90 % interval of log(error).
    """

    noise: str
    a: float
    p: float
    stable_mean: float
    other_mean: float
    constant: float
    networks: int
    left_out: dict[str, float]
    log_halfwidth: float

    def predict(self, parameters: float, zero_stable: bool) -> dict[str, float]:
        """Predict the accuracy under the noise, in percent, by all laws."""
        roots = self.stable_mean if zero_stable else self.other_mean
        return {"parts": 100 - self._error(parameters), "root_condition": roots, "constant": self.constant}

    def interval(self, parameters: float) -> tuple[float, float]:
        """The 90 % interval of the law of effective parameters."""
        error = self._error(parameters)
        low, high = (100 - min(error * exp(sign * self.log_halfwidth), 100.0) for sign in (1, -1))
        return low, high

    def _error(self, parameters: float) -> float:
        return min(self.a * parameters**-self.p, 100.0)

    def to_json(self) -> dict[str, Any]:
        return dict(vars(self))


def fit_noise_law(networks: Sequence[NoisyNetwork], noise: str) -> NoiseLaw:
    """Fit the law for one noise: a straight line of log(error) in log(D).

    Raises:
        InputError: There are fewer than four networks, or fewer than two on a side of the root condition.
    """
    sides = [sum(one.zero_stable is stable for one in networks) for stable in (True, False)]
    if len(networks) < LEAST_NETWORKS or min(sides) < 2:
        raise InputError(f"networks has {sides[0]} zero-stable and {sides[1]} others; expected two or more of each")
    found = _fit(networks, noise)
    predicted = left_out_predictions(networks, noise)
    measured = [one.noisy[noise] for one in networks]
    errors = {law: sqrt(mean((p[law] - m) ** 2 for p, m in zip(predicted, measured))) for law in LAWS}
    residuals = sorted(abs(log((100 - p["parts"]) / (100 - m))) for p, m in zip(predicted, measured))
    halfwidth = residuals[min(ceil(COVERAGE * (len(residuals) + 1)), len(residuals)) - 1]
    values = vars(found) | {"left_out": errors, "log_halfwidth": halfwidth}
    return NoiseLaw(**values)


def left_out_predictions(networks: Sequence[NoisyNetwork], noise: str) -> list[dict[str, float]]:
    """Predict every network from the others, by all laws."""
    return [
        _fit([*networks[:i], *networks[i + 1 :]], noise).predict(one.parameters, one.zero_stable)
        for i, one in enumerate(networks)
    ]


def _fit(networks: Sequence[NoisyNetwork], noise: str) -> NoiseLaw:
    noisy = [network.noisy[noise] for network in networks]
    slope, base = np.polyfit(np.log([network.parameters for network in networks]), np.log(100 - np.array(noisy)), 1)
    stable = [one.noisy[noise] for one in networks if one.zero_stable]
    others = [one.noisy[noise] for one in networks if not one.zero_stable]
    constants = exp(float(base)), -float(slope), mean(stable), mean(others), mean(noisy)
    return NoiseLaw(noise, *constants, networks=len(networks), left_out={}, log_halfwidth=0.0)
