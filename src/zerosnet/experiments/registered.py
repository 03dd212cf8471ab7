"""Predictions on record: written down with date and commit before a training, and never edited.

registered.json holds those of this project, by run; `tools/package_numbers.py` writes it. Others lie in stores and
beside them. The rows of a table get theirs, or what the law forecasts today.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from zerosnet.environment import environment, today
from zerosnet.errors import InputError
from zerosnet.experiments.definition import Cell
from zerosnet.experiments.evidence import Evidence, RunEvidence
from zerosnet.experiments.measured import Measured
from zerosnet.experiments.readings import ACCURACY, CLEAN_UNDER_NOISE
from zerosnet.experiments.run_networks import known_wiring, prediction_of_run, scheme_of_run
from zerosnet.experiments.verification.predictions import late_predictions
from zerosnet.files import is_number, read_json, write_json
from zerosnet.models import find_name
from zerosnet.numerics import Scheme, load_law
from zerosnet.training import RunSpec

IN_STORE, BESIDE_STORE = "predictions.json", "predictions"
KEY = ("scheme", "layers", "dataset", "stage_change", "beta_growth")
LAWS = {"parts": "parts of what the head reads", "effective_parameters": "shares"}
"""The laws of accuracy that were the best known one when they were registered, the newest first."""
_CLEAN = (ACCURACY, CLEAN_UNDER_NOISE)


def register_predictions(file: str | Path, predictions: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Append predictions to a file of them, and return what was added.

    Args:
        file: A JSON file; it is made if it is missing.
        predictions: What `Forecast.to_json` gives.

    Raises:
        InputError: The file holds something else, or one of the networks already: predictions are never edited.
    """
    path = Path(file)
    known = read_predictions(path) if path.exists() else []
    seen = {_key(one) for one in known}
    here = environment()
    made = {"date": today(), **{name: here[name] for name in ("git", "source", "zerosnet", "python", "packages")}}
    added = []
    for one in predictions:
        if _key(one) in seen:
            raise InputError(f"{path} has a prediction for {one['scheme']} already; predictions are never edited")
        seen.add(_key(one))
        added.append({**made, **one})
    write_json(path, {"predictions": [*known, *added]})
    return added


def read_predictions(path: Path) -> list[dict[str, Any]]:
    """Read a file of predictions."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read as predictions: {error}") from None
    if not isinstance(data, dict) or not isinstance(data.get("predictions"), list):
        raise InputError(f"{path} holds no list of predictions; expected a file that predict --register has written")
    return list(data["predictions"])


@dataclass(frozen=True)
class Registered:
    """A test accuracy in per cent that was predicted before training.

    Attributes:
        file: Name of the file of predictions.
        date: When it was written down.
        law: Which law predicted it.
    """

    accuracy: float
    file: str
    date: str
    law: str

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


class Register:
    """All predictions of accuracies that are known: by run, and by network for those of `zerosnet predict`."""

    def __init__(self, evidence: Evidence) -> None:
        self._runs = {run.record.id: run for run in evidence.runs}
        self._by_run = dict(packaged())
        self._by_network: list[dict[str, Any]] = []
        for store in evidence.stores:
            self._by_run |= read_folder(store.parent / BESIDE_STORE, store)
            if (store / IN_STORE).is_file():
                self._by_network += _entries(store / IN_STORE)

    def find(self, spec: RunSpec) -> Registered | None:
        """The newest prediction of a run's accuracy that is older than the run; None if there is none."""
        for one in reversed(self._by_network):
            accuracy, usual = one.get("accuracy"), not spec.changes and spec.recipe.name == load_law().recipe
            if is_number(accuracy) and usual and is_about(one, spec) and not _is_late(one, self._runs.get(spec.id)):
                return Registered(float(accuracy), IN_STORE, str(one.get("date", "")), LAWS["parts"])
        return self._by_run.get(spec.id)


@cache
def packaged() -> Mapping[str, Registered]:
    """The predictions that come with the package, by run."""
    data = json.loads(resources.files(__package__).joinpath("registered.json").read_text(encoding="utf-8"))
    return {run: Registered(**one) for run, one in data.items()}


def read_folder(folder: Path, store: Path) -> dict[str, Registered]:
    """Read the files of predictions in a folder, by run: the newest one counts.

    Predictions that are not older than the results of their runs in the store, and damaged files, are left out.
    """
    late = late_predictions(folder, store) if folder.is_dir() else set()
    found: dict[str, Registered] = {}
    for path in sorted(folder.glob("*.json")):
        for one in _entries(path):
            made = _registered(one, path.stem)
            run = str(one.get("run"))
            if made is not None and (path.stem, run) not in late:
                found[run] = max(found.get(run, made), made, key=lambda known: known.date)
    return found


def is_about(one: Mapping[str, Any], spec: RunSpec) -> bool:
    """Check if a prediction of `zerosnet predict` is about the network of a run, on its data."""
    scheme = scheme_of_run(spec)
    if scheme is None or spec.init_growth is not None or "_nonorm" in spec.model:
        return False
    try:
        layers = find_name(spec.model)[1]
        same = Scheme.parse(str(one.get("scheme"))) == scheme
    except InputError:
        return False
    said = (one.get("layers"), one.get("dataset"), one.get("stage_change", "project-each"))
    growth = "1" if spec.beta_growth is None else str(spec.beta_growth)
    has = (layers, spec.dataset, spec.stage_change or "project-each")
    return same and said == has and str(one.get("beta_growth", 1)) == growth


def _is_late(one: Mapping[str, Any], run: RunEvidence | None) -> bool:
    """Check if a prediction is younger than the beginning of a run; what has no date is not."""
    begun = None if run is None else run.environment.get("begun")
    date = one.get("date")
    return isinstance(begun, str) and isinstance(date, str) and date > begun


def prediction_entries(path: Path) -> tuple[str, list[dict[str, Any]]]:
    """Read a file of predictions: its date, "" if it has none, and its entries; no entries of a damaged file."""
    try:
        data = read_json(path)
    except (InputError, OSError, RecursionError, ValueError):
        return "", []
    listed = data.get("predictions") if isinstance(data, dict) else None
    entries = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    return (str(data.get("date", "")) if entries else ""), entries


def _entries(path: Path) -> list[dict[str, Any]]:
    """Read the predictions of a file, each with its date."""
    date, entries = prediction_entries(path)
    return [{"date": date, **one} for one in entries]


def _registered(one: Mapping[str, Any], file: str) -> Registered | None:
    predicted = one.get("predicted_accuracy")
    for law, name in LAWS.items():
        value = predicted.get(law) if isinstance(predicted, dict) else None
        if value is not None and is_number(value):
            return Registered(float(value), file, str(one["date"]), name)
    return None


def _key(prediction: Mapping[str, Any]) -> str:
    return json.dumps([prediction.get(name) for name in KEY])


@dataclass(frozen=True)
class Predicted:
    """What was predicted of a row's networks.

    Attributes:
        effective_depth: From the coefficients.
        blocks: How many blocks they have.
        accuracy: Test accuracy in per cent; None if the law was not calibrated for data, recipe or network.
        column: The column that the accuracy is a prediction of; None if no column has it, as under noise.
        registered: The file in which it was written down before training; None for what the law forecasts today. A
            network that the law was fitted on is then predicted by the law that is fitted to the others.
    """

    effective_depth: float
    blocks: int
    accuracy: float | None = None
    column: str | None = None
    registered: str | None = None

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def predicted_rows(table: Measured, evidence: Evidence) -> dict[str, Predicted]:
    """Collect what was predicted of the rows of a table; rows whose coefficients tell nothing are left out."""
    register, found = Register(evidence), dict[str, Predicted]()
    for cell in sorted(table.experiment.cells, key=lambda cell: cell.reading not in _CLEAN):
        if (known := found.get(cell.row)) is not None and known.accuracy is not None:
            continue
        one = _of_cell(table, cell, register)
        if one is not None and (known is None or one.accuracy is not None):
            found[cell.row] = one
    return found


def _of_cell(table: Measured, cell: Cell, register: Register) -> Predicted | None:
    specs = table.experiment.cell_specs(cell, table.scale)
    wiring = known_wiring(specs[0]) if specs else None
    if wiring is None:
        return None
    column = cell.column if cell.reading in _CLEAN else None
    depth, blocks = wiring.effective_depth(), len(wiring.steps)
    known = next((one for spec in specs if (one := register.find(spec)) is not None), None)
    if known is not None:
        return Predicted(depth, blocks, known.accuracy, column, known.file)
    today = prediction_of_run(specs[0], epoch="best" if cell.reading == ACCURACY else "last")
    return Predicted(depth, blocks, None if today is None else today.accuracy, column)
