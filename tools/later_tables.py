"""Tables about networks that were trained after the law of parts was written down: what it predicted, and what came.

Predictions are read from results/predictions as they were registered; no number is computed anew. A network whose
initial weights grow has two readings, both registered: its shares at initialisation, where it is the same function as
with growing betas, and its coefficients, as if initial weights did not matter.
"""

import json
from collections.abc import Iterable, Sequence
from functools import cache
from math import sqrt
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple

from tools.markdown_tables import ROOT, table
from zerosnet.numerics import FittedNetwork, Scheme

RESULTS = ROOT / "results"
CONTROL = "block-schemes-control"
GROUPS = {
    "block-schemes": "betas that grow or shrink",
    CONTROL: "initial weights that grow",
    "ten-rows": "ten rows, 32 and 44 layers",
    "depth": "f switched off, equal depth, restart",
    "alpha-and-k": "alpha and k",
    "recipes": "other rates and decay",
    "adam": "Adam",
    "plain-torch": "state in float32",
    "layers-110": "110 layers",
    "best-designs": "best designs",
    "small-betas": "small betas",
}
"""Files whose networks were predicted by the law of parts before training, without and with a floor."""

SINCE = ("small-betas",)
"""Files that were written after the threshold: their law of parts has one."""

KNOWN = ("plain-torch",)
"""Groups of networks that the law was fitted on, trained in another arithmetic: no test of the law."""

LAWS = {
    "threshold": "parts above a threshold",
    "with floor": "parts, with floor",
    "parts": "parts, without floor",
    "shares": "shares",
    "count": "blocks with a share of 10 %",
    "root_condition": "root condition",
    "constant": "a constant",
}
SHOWN = ("threshold", "with floor", "shares", "root_condition")
FILES = {"threshold": "threshold", "with floor": "with-floor"}
"""Files of predictions by later forms of the law of parts; a form predicts only what was not trained before it."""

UNKNOWN = "–"
PLAIN = "predicted_accuracy"
READINGS = {PLAIN: "", "predicted_accuracy_by_coefficients": ", read from coefficients"}
_INITIAL = ", read from initial shares"
MISS = "Miss of the newest"
LARGEST = "Largest miss, by the newest law that predicted it"
_NONE = "None of them is trained yet."
_NETWORK = ("model", "scheme", "block_schemes", "beta_growth", "init_growth", "stage_change", "recipe")


class Network(NamedTuple):
    """A network with what every law predicted for it, by reading, and its mean accuracy over the seeds, in percent.

    Attributes:
        newest: What every law predicted in the file of the newest form, by reading; empty if that has none. All laws
            there are fitted to the same runs.
        inside: Whether the accuracy lies in the 90 % interval of the newest form; None if that has none.
    """

    name: str
    predicted: dict[str, dict[str, float]]
    measured: float
    runs: int
    newest: dict[str, float]
    inside: bool | None


@cache
def later(results: Path = RESULTS) -> dict[str, list[Network]]:
    """Collect the networks that were trained after their prediction, by file; seeds are joined.

    A network that two files predict counts in the first of them.
    """
    forms = {law: _by_run(results / f"predictions/{file}.json") for law, file in FILES.items()}
    found: dict[tuple[str, str], dict[str, tuple[dict[str, Any], float]]] = {}
    for file in GROUPS:
        for one in _entries(results / f"predictions/{file}.json"):
            result = results / "runs" / one["run"] / "result.json"
            if result.exists() and "parts" in one["predicted_accuracy"] and not _was_fitted(one):
                key = json.dumps([one.get(name) for name in _NETWORK])
                place = next((known for known in found if known[1] == key), (file, key))
                accuracy = 100 * json.loads(result.read_text())["best_test_accuracy"]
                found.setdefault(place, {})[one["run"]] = one, accuracy
    groups: dict[str, list[Network]] = {}
    for (file, _), seeds in found.items():
        runs = list(seeds.values())
        groups.setdefault(file, []).append(_network(runs, forms, since=file in SINCE))
    return groups


def errors(results: Path = RESULTS) -> str:
    """List the errors of all laws on networks that were trained after their predictions, per group."""
    if not later(results):
        return _NONE
    rows = []
    for file, found in later(results).items():
        for reading, words in _readings(file).items():
            name = _group(file, found) + words
            rows.append([name, str(len(found)), *_cells(found, reading)])
    if tests := tested(results):
        same = [error(tests, law, by_newest=True) for law in LAWS]
        rows.append(["**predicted by the law in the package**", str(len(tests)), *same, largest(tests)])
    every = [(file, one) for file, networks in later(results).items() if file not in KNOWN for one in networks]
    if every:
        rows.append(["**all**, as predicted", str(len(every)), *_cells([one for _, one in every])])
    rest = [one for file, one in every if file != CONTROL]
    if rest and len(rest) < len(every):
        rows.append(["all but initial weights", str(len(rest)), *_cells(rest)])
    heads = ["Networks", "Number", *LAWS.values(), LARGEST]
    return _without_empty(heads, rows)


def networks(results: Path = RESULTS) -> str:
    """List every network that was trained after its prediction, misses included."""
    if not later(results):
        return _NONE
    rows = []
    for file, found in later(results).items():
        for one in sorted(found, key=lambda one: one.measured):
            for reading, words in _readings(file).items():
                given = one.predicted[reading]
                cells = [f"{given[law]:.1f}" if law in given else UNKNOWN for law in SHOWN]
                miss = f"{_miss(one, reading):+.1f}"
                rows.append([_group(file, found), one.name + words, *cells, f"{one.measured:.1f}", str(one.runs), miss])
    heads = ["Group", "Network", *(LAWS[law] for law in SHOWN), "Measured", "Seeds", MISS]
    return _without_empty(heads, rows)


def _group(file: str, found: Sequence[Network]) -> str:
    """Name a group after the networks that are in it."""
    name = GROUPS[file]
    return name if any("restart" in one.name for one in found) else name.removesuffix(", restart")


def _without_empty(heads: list[str], rows: list[list[str]]) -> str:
    """Make a table without the columns in which nothing is known."""
    kept = [i for i in range(len(heads)) if any(row[i] != UNKNOWN for row in rows)]
    return table([heads[i] for i in kept], [[row[i] for i in kept] for row in rows])


def waiting(results: Path = RESULTS) -> str:
    """Name the groups that are predicted and not trained, with the number of runs if only some are missing."""
    names = []
    for file, name in GROUPS.items():
        runs = {one["run"]: one for one in _entries(results / f"predictions/{file}.json")}
        missing = [one for run, one in runs.items() if not (results / "runs" / run / "result.json").exists()]
        if len(missing) == len(runs):
            names.append(name)
        elif missing:
            restarts = all("stage_change" in one for one in missing)
            names.append(f"{'restart at stage changes' if restarts else name} ({len(missing)})")
    return "; ".join(names) if names else "nothing"


def is_later(runs: Iterable[str]) -> bool:
    """Tell whether all of these runs were predicted by the law of parts before they were trained."""
    return set(runs) <= _later_runs()


@cache
def _later_runs() -> set[str]:
    return {
        one["run"]
        for file in GROUPS
        for one in _entries(RESULTS / f"predictions/{file}.json")
        if "parts" in one["predicted_accuracy"] and not _was_fitted(one)
    }


def _network(
    seeds: Sequence[tuple[dict[str, Any], float]], forms: dict[str, dict[str, Any]], *, since: bool = False
) -> Network:
    """Join the seeds of a network; `since`: it was predicted by the law with a threshold only."""
    one = seeds[0][0]
    predicted = {}
    measured, newest = mean(value for _, value in seeds), one if since else forms["threshold"].get(one["run"])
    given = {} if newest is None else dict(newest["predicted_accuracy"])
    if given:
        given["threshold"] = given.pop("parts")
    for reading in (reading for reading in READINGS if reading in one and not since):
        later_forms = {law: known[one["run"]] for law, known in forms.items() if one["run"] in known}
        newer = {law: entry[reading]["parts"] for law, entry in later_forms.items()}
        predicted[reading] = {**later_forms["with floor"][reading], **one[reading], **newer}
        given |= {law: predicted[reading][law] for law in ("with floor", "parts") if given and reading == PLAIN}
    if since:
        predicted[PLAIN] = given
    inside = None if newest is None else newest["interval"][0] <= measured <= newest["interval"][1]
    return Network(_name(one), predicted, measured, len(seeds), given, inside)


def _name(one: dict[str, Any]) -> str:
    """Name a network by its scheme, and in brackets by what is unusual."""
    per_block = tuple(one.get("block_schemes", ()))
    scheme = one.get("scheme") or (per_block[0] if per_block else None)
    recipe = {name: value for name, value in one.get("recipe", {}).items() if name != "name"}
    unusual = [f"{name} {value}" for name, value in recipe.items()]
    if "init_growth" in one:
        unusual.append(f"initial weights times {float(Scheme([one['init_growth']], [1]).alphas[0]):g}^n")
    more = f", {', '.join(unusual)}" if unusual else ""
    if scheme is None:
        return one["model"] + more
    kind = (one.get("stage_change", "project-each"), 1, 0.0, 0.0, 0.0)
    named = FittedNetwork(scheme, (), *kind, beta_growth=one.get("beta_growth", "1"), block_schemes=per_block)
    layers = "".join(letter for letter in one["model"] if letter.isdigit())
    return f"{named.label}, {layers} layers{more}"


def _readings(file: str) -> dict[str, str]:
    """The readings that a file has: two for initial weights that grow."""
    if file != CONTROL:
        return {"predicted_accuracy": ""}
    return {**READINGS, "predicted_accuracy": _INITIAL}


def _cells(found: Sequence[Network], reading: str = "predicted_accuracy") -> list[str]:
    """Write the error of every law, with the number of networks if it did not predict all, and the largest miss."""
    cells = []
    for law in LAWS:
        known = [one for one in found if law in one.predicted[reading]]
        number = "" if len(known) == len(found) else f" ({len(known)})"
        cells.append(f"{rms(misses(known, law, reading)):.2f}{number}" if known else UNKNOWN)
    return [*cells, f"{max((_miss(one, reading) for one in found), key=abs):+.1f}"]


def _miss(one: Network, reading: str = "predicted_accuracy") -> float:
    """The miss of the newest form of the law of parts that predicted a network."""
    given = one.predicted[reading]
    return given.get("threshold", given.get("with floor", 0.0)) - one.measured


def misses(found: Sequence[Network], law: str, reading: str = "predicted_accuracy") -> list[float]:
    return [one.predicted[reading][law] - one.measured for one in found]


def _was_fitted(one: dict[str, Any]) -> bool:
    """Tell the networks of the designs' sweep that the law had been fitted on: other seeds of them are no test."""
    return one["model"] in ("zerosnet56_opt", "preresnet56") and one.get("recipe") == {"name": "paper"}


def _entries(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(path.read_text())["predictions"]
    return found


def _by_run(path: Path) -> dict[str, dict[str, Any]]:
    return {one["run"]: one for one in _entries(path)}


def rms(values: Sequence[float]) -> float:
    return sqrt(mean(value * value for value in values))


def tested(results: Path = RESULTS) -> list[Network]:
    """List the networks that the newest form of the law predicted before they were trained."""
    return [one for file, ones in later(results).items() if file not in KNOWN for one in ones if one.newest]


def error(found: Sequence[Network], law: str, *, by_newest: bool = False) -> str:
    """Write the error of a law; `by_newest`: as fitted to the same runs as the newest form."""
    given = [one.newest if by_newest else one.predicted["predicted_accuracy"] for one in found]
    misses = [predicted[law] - one.measured for predicted, one in zip(given, found) if law in predicted]
    return f"{rms(misses):.2f}" if misses else UNKNOWN


def largest(found: Sequence[Network]) -> str:
    return f"{max((one.newest['threshold'] - one.measured for one in found), key=abs):+.1f}"
