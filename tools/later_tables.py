"""Tables about networks that were trained after a law of parts was written down: what it predicted, and what came.

Predictions are read from results/predictions as they were registered; no number is computed anew. A network may stand
in several files, since new forms of the law predicted what was not trained yet: the newest file counts, for all laws. A
network whose initial weights grow has two readings, both registered: its shares at initialisation, where it is the same
function as with growing betas, and its coefficients, as if initial weights did not matter.
"""

import json
from collections.abc import Iterable, Sequence
from functools import cache
from math import sqrt
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple

from tools.fit_law import has_learned
from tools.markdown_tables import ROOT, table
from zerosnet.numerics import FittedNetwork, Scheme

RESULTS = ROOT / "results"
CONTROL = "block-schemes-control"
GROUPS = {
    "block-schemes": "betas that grow or shrink",
    CONTROL: "initial weights that grow",
    "ten-rows": "ten rows, other depths",
    "depth": "f switched off, equal depth, restart",
    "alpha-and-k": "alpha and k",
    "recipes": "other rates and decay",
    "adam": "Adam",
    "plain-torch": "state in float32",
    "layers-110": "110 layers",
    "layers-32-and-44": "44 and 32 layers",
    "best-designs": "best designs",
    "small-betas": "small betas",
    "threshold-betas": "betas at the threshold",
    "decay": "small betas, other decay",
}
"""Files of predictions, one per sweep, and what their networks are called."""

NEWER = ("with-floor", "threshold", "survival", "pending")
"""Files in which later forms of the law predicted what was not trained before them; the newest comes last."""

LAWS = {
    "parts": "newest law registered",
    "contributions": "weights in the head",
    "shares": "shares",
    "count": "blocks with a share of 10 %",
    "root_condition": "root condition",
    "constant": "a constant",
}
SHOWN = ("parts", "shares", "root_condition")

UNKNOWN = "–"
PLAIN = "predicted_accuracy"
READINGS = {PLAIN: "", "predicted_accuracy_by_coefficients": ", read from coefficients"}
_INITIAL = ", read from initial shares"
MISS = "Miss"
LARGEST = "Largest miss"
_NONE = "None of them is trained yet."
USUAL = {"recipe": {"name": "paper"}}
_NETWORK = ("model", "scheme", "block_schemes", "beta_growth", "init_growth", "stage_change", "recipe")


class Network(NamedTuple):
    """A network with what every law predicted for it, by reading, and its mean accuracy over the seeds, in percent.

    Attributes:
        inside: Whether the accuracy lies in the 90 % interval of the law of parts; None if that has none.
        by_package: Whether the law of parts was the one in the package, which knows which blocks survive.
        learned: Whether it fits most of its training images, in every seed.
        calibrated: Whether the law was calibrated for its recipe and arithmetic; if not, it is no test of the law.
    """

    name: str
    predicted: dict[str, dict[str, float]]
    measured: float
    runs: int
    inside: bool | None
    by_package: bool
    learned: bool
    calibrated: bool


class _Entry(NamedTuple):
    """What one file predicted for a run."""

    given: dict[str, Any]
    by_package: bool


@cache
def later(results: Path = RESULTS) -> dict[str, list[Network]]:
    """Collect the networks that were trained after their prediction, by file; seeds are joined.

    A network that two files of GROUPS predict counts in the first of them.
    """
    newest = {run: entry for file in (*GROUPS, *NEWER) for run, entry in predictions_of(file, results).items()}
    found: dict[tuple[str, str], dict[str, tuple[_Entry, dict[str, Any]]]] = {}
    for file in GROUPS:
        for run, (one, _) in predictions_of(file, results).items():
            result = results / "runs" / run / "result.json"
            if result.exists():
                key = json.dumps([one.get(name, USUAL.get(name)) for name in _NETWORK])
                place = next((known for known in found if known[1] == key), (file, key))
                found.setdefault(place, {})[run] = newest[run], json.loads(result.read_text())
    groups: dict[str, list[Network]] = {}
    for (file, _), seeds in found.items():
        groups.setdefault(file, []).append(_network(list(seeds.values())))
    return groups


def predictions_of(file: str, results: Path = RESULTS) -> dict[str, _Entry]:
    """Read the accuracies that a file predicts by a law of parts, by run."""
    path = results / f"predictions/{file}.json"
    if not path.exists():
        return {}
    data = json.loads(path.read_text())
    by_package = "survival" in data["laws"]["parts"]
    return {
        one["run"]: _Entry(one, by_package)
        for one in data["predictions"]
        if one.get(PLAIN, {}).get("parts") is not None and not _was_fitted(one)
    }


class Group(NamedTuple):
    """Networks that share a row, and the reading of their predictions that it shows."""

    name: str
    networks: Sequence[Network]
    reading: str = PLAIN

    def error(self, law: str) -> str:
        """Write the error of a law, with the number of networks if it did not predict all."""
        known = [one for one in self.networks if law in one.predicted[self.reading]]
        number = "" if len(known) == len(self.networks) else f" ({len(known)})"
        return f"{rms(misses(known, law, self.reading)):.2f}{number}" if known else UNKNOWN

    def largest_miss(self) -> str:
        return f"{max((_miss(one, self.reading) for one in self.networks), key=abs):+.1f}"

    def row(self, laws: Iterable[str]) -> list[str]:
        """Write name, number of networks, errors of some laws, and the largest miss of the newest law registered."""
        return [self.name, str(len(self.networks)), *map(self.error, laws), self.largest_miss()]


def all_groups(results: Path = RESULTS) -> list[Group]:
    """List the networks that were trained after their predictions: group by group, all, and those that learned."""
    found = [
        Group(_group(file, ones) + words, ones, reading)
        for file, ones in later(results).items()
        for reading, words in _readings(file).items()
    ]
    if ones := tested(results):
        found.append(Group("**all**", ones))
        if len(some := learned(results)) < len(ones):
            found.append(Group("**all that learned**", some))
    return found


def errors(results: Path = RESULTS) -> str:
    """List the errors of all laws on networks that were trained after their predictions, per group."""
    rows = [group.row(LAWS) for group in all_groups(results)]
    return _without_empty(["Networks", "Number", *LAWS.values(), LARGEST], rows) if rows else _NONE


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
        path = results / f"predictions/{file}.json"
        runs = {one["run"]: one for one in _entries(path)} if path.exists() else {}
        missing = [one for run, one in runs.items() if not (results / "runs" / run / "result.json").exists()]
        if missing and len(missing) == len(runs):
            names.append(name)
        elif missing:
            restarts = all("stage_change" in one for one in missing)
            names.append(f"{'restart at stage changes' if restarts else name} ({len(missing)})")
    return "; ".join(names) if names else "nothing"


def is_later(runs: Iterable[str]) -> bool:
    """Check if one of a network's runs was predicted by the law of parts before it was trained."""
    return not _later_runs().isdisjoint(runs)


@cache
def _later_runs() -> set[str]:
    return {run for file in GROUPS for run in predictions_of(file)}


def _network(seeds: Sequence[tuple[_Entry, dict[str, Any]]]) -> Network:
    """Join the seeds of a network."""
    (one, by_package), _ = seeds[0]
    measured, interval = 100 * mean(result["best_test_accuracy"] for _, result in seeds), one.get("interval")
    inside = None if interval is None else interval[0] <= measured <= interval[1]
    predicted = {reading: _known(one[reading]) for reading in READINGS if reading in one}
    fits = all(has_learned(result) for _, result in seeds)
    calibrated = one.get("not_calibrated") is None
    return Network(_name(one), predicted, measured, len(seeds), inside, by_package, fits, calibrated)


def _known(accuracies: dict[str, float | None]) -> dict[str, float]:
    """Leave out laws that refused to predict."""
    return {law: accuracy for law, accuracy in accuracies.items() if accuracy is not None}


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


def _miss(one: Network, reading: str = "predicted_accuracy") -> float:
    return one.predicted[reading]["parts"] - one.measured


def misses(found: Sequence[Network], law: str, reading: str = "predicted_accuracy") -> list[float]:
    return [one.predicted[reading][law] - one.measured for one in found]


def _was_fitted(one: dict[str, Any]) -> bool:
    """Find the networks of the designs' sweep that the law had been fitted on: other seeds of them are no test."""
    return one["model"] in ("zerosnet56_opt", "preresnet56") and one.get("recipe") == {"name": "paper"}


def _entries(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(path.read_text())["predictions"]
    return found


def rms(values: Sequence[float]) -> float:
    return sqrt(mean(value * value for value in values))


def tested(results: Path = RESULTS) -> list[Network]:
    """List the networks that test the law: trained after a prediction for which it was calibrated."""
    return [one for ones in later(results).values() for one in ones if one.calibrated]


def learned(results: Path = RESULTS) -> list[Network]:
    """List those that learned: the others say nothing about depth."""
    return [one for one in tested(results) if one.learned]


def by_package(results: Path = RESULTS) -> list[Network]:
    """List those that the law in the package predicted."""
    return [one for one in tested(results) if one.by_package]


def error(found: Sequence[Network], law: str) -> str:
    """Write the error of a law on the networks that it predicted."""
    return f"{rms(misses(found, law)):.2f}" if found else UNKNOWN
