"""Predictions of accuracy under noise that were registered before training, beside what was measured then."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from statistics import fmean
from typing import Any

from zerosnet import files
from zerosnet.errors import InputError
from zerosnet.experiments.evidence import Evidence, RunEvidence
from zerosnet.experiments.noise_comparison import NOISES, PROTOCOL
from zerosnet.experiments.noise_law import LAWS
from zerosnet.experiments.run_networks import wired_name
from zerosnet.experiments.verification.predictions import late_predictions
from zerosnet.files import is_number

FOLDER = "predictions"


@dataclass(frozen=True)
class RegisteredNoise:
    """One run as it was predicted, and as it was measured; accuracies are in percent.

    Attributes:
        file: The name of the file of predictions.
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
        """Tell whether the measured accuracy lies in the interval that was registered."""
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
    try:
        data = files.read_json(path)
    except (OSError, ValueError, RecursionError, InputError):
        return []
    entries = data.get("predictions") if isinstance(data, dict) else None
    if not isinstance(entries, list):
        return []
    of_noise = [one for one in entries if isinstance(one, dict) and _is_of_noise(one)]
    kept = [one for one in of_noise if (path.stem, str(one.get("run"))) not in late]
    date = str(data.get("date", "no date"))
    return [_row(path.stem, date, one, runs.get(str(one.get("run")))) for one in kept]


def _is_of_noise(entry: Mapping[str, Any]) -> bool:
    """Tell whether an entry predicts accuracies under all noises by all laws, with intervals."""
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
    scheme = str(entry.get("scheme") or "a scheme per block")
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
