"""Accuracy under noise from the coefficients alone: the law, and what was registered before training by it.

    error under noise = a D^-p

D counts the parameters in use, as the law for clean images does, with the same tau; only a and p are fitted to networks
under noise, and there is no floor. Of a dozen other forms (straight or logistic in place of the logarithm, effective
depth beside or in place of D) none was better by more than 0.4 points on the networks at hand.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, exp, log, sqrt
from pathlib import Path
from statistics import fmean, mean
from typing import Any

import numpy as np

from zerosnet.errors import InputError
from zerosnet.experiments.evidence import Evidence, RunEvidence
from zerosnet.experiments.noise_comparison import NOISES, PROTOCOL, NoisyNetwork
from zerosnet.experiments.registered import prediction_entries
from zerosnet.experiments.run_networks import wired_name
from zerosnet.experiments.verification.predictions import late_predictions
from zerosnet.files import is_number

COVERAGE = 0.9
LEAST_NETWORKS = 4
LAWS = ("parts", "root_condition", "constant")
FOLDER = "predictions"


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


@dataclass(frozen=True)
class RegisteredNoise:
    """One run as it was predicted, and as it was measured; accuracies are in percent.

    Attributes:
        file: The name of the file of predictions.
        name: The scheme and what is unusual about it; empty for a model without a scheme of its own.
        predicted: Accuracy by noise and law.
        intervals: The 90 % interval of the law of effective parameters, by noise.
        measured: Accuracy by noise; None if the run has not been measured.
        clean: The same without noise.
    """

    file: str
    date: str
    run: str
    name: str
    zero_stable: bool
    predicted: Mapping[str, Mapping[str, float]]
    intervals: Mapping[str, tuple[float, float]]
    measured: Mapping[str, float] | None
    clean: float | None

    def is_inside(self, noise: str) -> bool:
        """Check if the measured accuracy lies in the interval that was registered."""
        low, high = self.intervals[noise]
        return self.measured is not None and low <= self.measured[noise] <= high


def registered_noise(evidence: Evidence) -> list[RegisteredNoise]:
    """Read all predictions under noise beside the stores, in the order of their files.

    Runs that had a result before their prediction are left out, and so are files that are damaged.
    """
    runs = {run.record.id: run for run in evidence.runs}
    found = []
    for store in evidence.stores:
        folder = store.parent / FOLDER
        late = late_predictions(folder, store)
        for path in sorted(folder.glob("*.json")):
            found += _read(path, runs, late)
    return found


def registered_errors(rows: Sequence[RegisteredNoise], noise: str) -> dict[str, float]:
    """The root mean square error of every law over the rows that were measured, in points."""
    there = [(one.predicted[noise], one.measured[noise]) for one in rows if one.measured is not None]
    return {law: sqrt(fmean((given[law] - found) ** 2 for given, found in there)) for law in LAWS} if there else {}


def _read(path: Path, runs: Mapping[str, RunEvidence], late: Collection[tuple[str, str]]) -> list[RegisteredNoise]:
    date, entries = prediction_entries(path)
    kept = [one for one in entries if _is_of_noise(one) and (path.stem, str(one.get("run"))) not in late]
    return [_row(path.stem, date or "no date", one, runs.get(str(one.get("run")))) for one in kept]


def _is_of_noise(entry: Mapping[str, Any]) -> bool:
    """Check if an entry predicts accuracies under all noises by all laws, with intervals."""
    given = entry.get("predicted_accuracy")
    return isinstance(given, dict) and all(
        isinstance(one := given.get(noise), dict)
        and all(is_number(one.get(law)) for law in LAWS)
        and isinstance(one.get("interval"), list)
        and list(map(is_number, one["interval"])) == [True, True]
        for noise in NOISES
    )


def _row(file: str, date: str, entry: Mapping[str, Any], run: RunEvidence | None) -> RegisteredNoise:
    given = entry["predicted_accuracy"]
    attack = None if run is None or not run.whole else run.attack(PROTOCOL)
    rows = () if attack is None else attack.rows
    measured = {row.label: 100 * row.accuracy for row in rows if row.method == "noise"}
    clean = next((100 * row.accuracy for row in rows if row.method == "clean"), None)
    scheme = str(entry.get("scheme") or ("a scheme per block" if "block_schemes" in entry else ""))
    return RegisteredNoise(
        file,
        date,
        str(entry.get("run")),
        scheme if run is None else wired_name(run.record.spec, scheme),
        bool(entry.get("zero_stable")),
        {noise: {law: float(given[noise][law]) for law in LAWS} for noise in NOISES},
        {noise: (float(given[noise]["interval"][0]), float(given[noise]["interval"][1])) for noise in NOISES},
        measured if all(noise in measured for noise in NOISES) else None,
        clean,
    )
