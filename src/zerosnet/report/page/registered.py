"""Predictions that were written down before training, beside what was measured then."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from statistics import fmean
from typing import Any

from zerosnet.errors import InputError
from zerosnet.experiments import (
    NOISES,
    Evidence,
    RegisteredNoise,
    RunEvidence,
    is_about,
    late_predictions,
    prediction_entries,
    registered_errors,
    registered_noise,
    rounded_name,
)
from zerosnet.files import is_number
from zerosnet.numerics import Scheme
from zerosnet.report.page.html import Html, element
from zerosnet.report.page.schemes import named
from zerosnet.report.page.tables import plain_table

NOISE = "Gaussian 0.04"
_FILE, _FOLDER = "predictions.json", "predictions"
_DEPTH, _LAST = "effective depth", ", last"
_LAWS = {
    "effective_parameters": "shares",
    "contributions": "weights in the head",
    "count": "blocks with a share of 10 %",
    "modulus": "largest parasitic modulus",
    "constant": "a constant",
}


@dataclass(frozen=True)
class RegisteredFile:
    """A file of predictions: by network, the value of every law (accuracies in per cent, or an effective depth)."""

    name: str
    date: str
    rows: tuple[tuple[str, Mapping[str, float], float | None, float | None], ...]
    """Name of the scheme, predictions, and the accuracies of best and last epoch that were measured, if they were."""
    late: int = 0
    """How many of its networks had a result already; they are left out."""

    @property
    def measured(self) -> int:
        """How many of its networks were measured."""
        return sum(measured is not None for _, _, measured, _ in self.rows)

    @property
    def laws(self) -> list[str]:
        return list(dict.fromkeys(law for _, predicted, *_ in self.rows for law in predicted))

    def error(self, law: str) -> float | None:
        """Root mean square of a law's errors, in points; a law of the last epoch is held to the last epoch."""
        of_last = law.endswith(_LAST)
        pairs = [(given[law], last if of_last else best) for _, given, best, last in self.rows if law in given]
        errors = [(predicted - measured) ** 2 for predicted, measured in pairs if measured is not None]
        return sqrt(fmean(errors)) if errors and law != _DEPTH else None


def registered_section(evidence: Evidence) -> list[Html]:
    """A folded table per file of predictions that lies in a store, or in the folder beside it."""
    found = read_registered(evidence)
    parts = [_fold(one) for one in found if one.measured]
    waiting = [f"{one.name} ({len(one.rows)} networks, {one.date})" for one in found if not one.measured]
    late = [f"{one.late} of {one.name}" for one in found if one.late]
    if not found:
        return []
    if waiting:
        parts.append(element("p", f"Not measured yet: {', '.join(waiting)}.", class_="small muted"))
    if late:
        words = f"Left out, since their networks had a result before they were predicted: {', '.join(late)}."
        parts.append(element("p", words, class_="small muted"))
    words = (
        "These were written down, with date and commit, before the networks had any result, and were not changed "
        "since. Errors of a law are root mean squares in points of accuracy. The root condition, the largest parasitic "
        "modulus and a constant stand beside the laws of depth for comparison."
    )
    return [element("p", words), *parts]


def read_registered(evidence: Evidence) -> list[RegisteredFile]:
    """Read the files of predictions that belong to some stores; files of another kind are left out."""
    found = []
    for store in evidence.stores:
        beside = store.parent / _FOLDER
        late = late_predictions(beside, store)
        for path in (store / _FILE, *sorted(beside.glob("*.json"))):
            one = _read(path, evidence, late)
            if one.rows:
                found.append(one)
    return found


def _read(path: Path, evidence: Evidence, late: Collection[tuple[str, str]]) -> RegisteredFile:
    runs = {run.record.id: run for run in evidence.runs}
    date, entries = prediction_entries(path)
    kept = [one for one in entries if (path.stem, str(one.get("run"))) not in late]
    rows = [_row(one, runs) for one in kept]
    dates = [*([date] if date else []), *(str(one["date"]) for one in entries if "date" in one)]
    predicted = tuple(row for row in rows if row[1])
    return RegisteredFile(path.stem, min(dates, default="no date"), predicted, len(entries) - len(kept))


def _row(
    one: Mapping[str, Any], runs: Mapping[str, RunEvidence]
) -> tuple[str, Mapping[str, float], float | None, float | None]:
    given = one.get("predicted_accuracy")
    if isinstance(given, dict):
        predicted = {_law(str(law)): float(value) for law, value in given.items() if is_number(value)}
        run = runs.get(str(one.get("run")))
        matching = [] if run is None else [run]
    else:
        given = {"accuracy": one.get("accuracy"), _DEPTH: one.get("effective_depth")}
        predicted = {name: float(value) for name, value in given.items() if value is not None and is_number(value)}
        matching = [run for run in runs.values() if is_about(one, run.record.spec)]
    results = [run.record.result for run in matching if run.record.result is not None]
    best = [100 * found.best_test_accuracy for found in results if found.best_test_accuracy is not None]
    last = [100 * found.test_accuracy for found in results if found.test_accuracy is not None]
    return _name(one), predicted, fmean(best) if best else None, fmean(last) if last else None


def _law(key: str) -> str:
    """Name a law in words: "contributions, best" is "weights in the head, best"."""
    name, comma, epoch = key.partition(",")
    return _LAWS.get(name, name.replace("_", " ")) + comma + epoch.replace("_", " ")


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
    line = _line(f"{one.name}, {one.date}: {one.measured} of {len(one.rows)} measured", told and f"Errors: {told}")
    last = ("last epoch %",) if any(law.endswith(_LAST) for law in one.laws) else ()
    heads = ("scheme", *one.laws, "measured %", *last)
    table = plain_table(f"Predicted {one.date}", heads, _lines(one), right=len(heads) - 1)
    return element("details", line, table, class_="folded long")


def _line(title: str, more: str) -> Html:
    """The line that unfolds a table, with what it tells in small letters."""
    return element("summary", [element("span", title), " ", element("small", more, class_="muted")])


def _lines(one: RegisteredFile) -> Iterable[Sequence[object]]:
    epochs = 2 if any(law.endswith(_LAST) for law in one.laws) else 1
    for name, predicted, *measured in one.rows:
        numbers = (f"{predicted[law]:.1f}" if law in predicted else "" for law in one.laws)
        yield [_scheme(name), *numbers, *("" if value is None else f"{value:.1f}" for value in measured[:epochs])]


def registered_noise_section(evidence: Evidence) -> list[Html]:
    """The errors of all laws per noise, and every network under one of the noises; nothing if none was measured."""
    every = registered_noise(evidence)
    there = [one for one in every if one.measured is not None]
    if not there:
        return []
    errors = registered_errors(there, NOISE)
    line = _line(
        f"Under noise, {min(one.date for one in there)}: {len(there)} of {len(every)} runs measured",
        f"Errors under {NOISE}: effective parameters {errors['parts']:.2f}; root condition "
        f"{errors['root_condition']:.2f}; a constant {errors['constant']:.2f}",
    )
    heads = ("noise", "effective parameters", "root condition", "a constant", "in the 90 % interval")
    laws = plain_table("Root mean square errors, points", heads, _noise_laws(there), len(heads) - 1)
    runs_heads = ("run", "zero-stable", "clean %", "predicted %", "90 % interval", "measured %")
    runs = plain_table(f"{NOISE}, run by run", runs_heads, map(_noise_line, there), len(runs_heads) - 2)
    return [element("details", line, laws, runs, class_="folded long")]


def _noise_laws(there: Sequence[RegisteredNoise]) -> list[list[object]]:
    rows: list[list[object]] = []
    for noise in NOISES:
        inside = sum(one.is_inside(noise) for one in there)
        errors = [f"{error:.1f}" for error in registered_errors(there, noise).values()]
        rows.append([noise, *errors, f"{inside} of {len(there)}"])
    return rows


def _noise_line(one: RegisteredNoise) -> list[object]:
    assert one.measured is not None and one.clean is not None
    low, high = one.intervals[NOISE]
    numbers = [f"{one.clean:.1f}", f"{one.predicted[NOISE]['parts']:.1f}", f"{low:.1f} to {high:.1f}"]
    name = rounded_name(one.name) or one.run.partition("-")[0]
    return [name, "yes" if one.zero_stable else "no", *numbers, f"{one.measured[NOISE]:.1f}"]
