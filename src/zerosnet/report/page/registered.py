"""Predictions that were written down before training, beside what was measured then."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from statistics import fmean
from typing import Any

from zerosnet import files
from zerosnet.checks import is_number
from zerosnet.errors import InputError
from zerosnet.experiments import Evidence, RunEvidence
from zerosnet.numerics import Scheme
from zerosnet.report.page.html import Html, element
from zerosnet.report.page.names import named
from zerosnet.report.page.tables import plain_table

_FILE, _FOLDER = "predictions.json", "predictions"
_DEPTH = "effective depth"


@dataclass(frozen=True)
class RegisteredFile:
    """A file of predictions: by network, the value of every law (accuracies in per cent, or an effective depth)."""

    name: str
    date: str
    rows: tuple[tuple[str, Mapping[str, float], float | None], ...]
    """Name of the scheme, predictions, and the accuracy that was measured, if it was."""

    @property
    def measured(self) -> int:
        """How many of its networks were measured."""
        return sum(measured is not None for _, _, measured in self.rows)

    @property
    def laws(self) -> list[str]:
        return list(dict.fromkeys(law for _, predicted, _ in self.rows for law in predicted))

    def error(self, law: str) -> float | None:
        """Root mean square of a law's errors, in points."""
        pairs = [(row[1][law], row[2]) for row in self.rows if law in row[1] and row[2] is not None]
        return sqrt(fmean((p - m) ** 2 for p, m in pairs)) if pairs and law != _DEPTH else None


def registered_section(evidence: Evidence) -> list[Html]:
    """A folded table per file of predictions that lies in a store, or in the folder beside it."""
    found = read_registered(evidence)
    parts = [_fold(one) for one in found if one.measured]
    waiting = [f"{one.name} ({len(one.rows)} networks, {one.date})" for one in found if not one.measured]
    if not found:
        return []
    if waiting:
        parts.append(element("p", f"Not measured yet: {', '.join(waiting)}.", class_="small muted"))
    words = (
        "These were written down, with date and commit, before the networks were trained, and were not changed since. "
        "Errors are root mean squares in points of accuracy."
    )
    return [element("p", words), *parts]


def read_registered(evidence: Evidence) -> list[RegisteredFile]:
    """Read the files of predictions that belong to some stores; files of another kind are left out."""
    found = []
    for store in evidence.stores:
        for path in (store / _FILE, *sorted((store.parent / _FOLDER).glob("*.json"))):
            if path.is_file() and (one := _read(path, evidence)) is not None and one.rows:
                found.append(one)
    return found


def _read(path: Path, evidence: Evidence) -> RegisteredFile | None:
    try:
        data = files.read_json(path)
    except (OSError, ValueError, RecursionError, InputError):
        return None
    listed = data.get("predictions") if isinstance(data, dict) else None
    if not isinstance(listed, list):
        return None
    runs = {run.record.id: run for run in evidence.runs}
    rows = [_row(one, runs) for one in listed if isinstance(one, dict)]
    dates = [str(one["date"]) for one in (data, *listed) if isinstance(one, dict) and "date" in one]
    return RegisteredFile(path.stem, min(dates, default="no date"), tuple(row for row in rows if row[1]))


def _row(one: Mapping[str, Any], runs: Mapping[str, RunEvidence]) -> tuple[str, Mapping[str, float], float | None]:
    given = one.get("predicted_accuracy")
    if isinstance(given, dict):
        predicted = {str(law).replace("_", " "): float(value) for law, value in given.items() if is_number(value)}
        run = runs.get(str(one.get("run")))
        matching = [] if run is None else [run]
    else:
        given = {"accuracy": one.get("accuracy"), _DEPTH: one.get("effective_depth")}
        predicted = {name: float(value) for name, value in given.items() if value is not None and is_number(value)}
        matching = [run for run in runs.values() if _is_about(one, run)]
    results = [run.record.result for run in matching if run.record.result is not None]
    best = [100 * found.best_test_accuracy for found in results if found.best_test_accuracy is not None]
    return _name(one), predicted, fmean(best) if best else None


def _is_about(one: Mapping[str, Any], run: RunEvidence) -> bool:
    """Match a prediction of `zerosnet predict` by scheme, layers and data."""
    spec = run.record.spec
    layers = "".join(letter for letter in spec.model if letter.isdigit())
    return (
        run.scheme is not None
        and (str(run.scheme), layers, spec.dataset) == (one.get("scheme"), str(one.get("layers")), one.get("dataset"))
        and (spec.stage_change or "project-each") == one.get("stage_change", "project-each")
        and spec.block_schemes is None
    )


def _name(one: Mapping[str, Any]) -> str:
    text = one.get("scheme")
    return str(text) if isinstance(text, str) else str(one.get("run", "a scheme per block"))


def _scheme(text: str) -> object:
    try:
        return named(Scheme.parse(text))
    except InputError:
        return text


def _fold(one: RegisteredFile) -> Html:
    errors = [(law, error) for law in one.laws if (error := one.error(law)) is not None]
    told = "; ".join(f"{law} {error:.2f}" for law, error in errors)
    line = f"{one.name}, {one.date}: {one.measured} of {len(one.rows)} measured{f'. Errors: {told}' if told else ''}"
    heads = ("scheme", *(f"{law}" for law in one.laws), "measured %")
    table = plain_table(f"Predicted {one.date}", heads, _lines(one), right=len(heads) - 1)
    return element("details", element("summary", line), table, class_="folded long")


def _lines(one: RegisteredFile) -> Iterable[Sequence[object]]:
    for name, predicted, measured in one.rows:
        numbers = (f"{predicted[law]:.1f}" if law in predicted else "" for law in one.laws)
        yield [_scheme(name), *numbers, "" if measured is None else f"{measured:.1f}"]
