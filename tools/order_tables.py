"""Tables of predicted beside measured order, for sweeps without a predicted accuracy: other data, no normalisation.

Orders are read from results/predictions as they were registered (`order`, `relative_error`, `root_condition_order`; see
tools/register.py); the newest file counts. The seeds of a network are joined, and in a search its learning rates. A
network that diverged comes last.
"""

import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple

from tools.markdown_tables import ROOT, table
from zerosnet.experiments import Correlation, spearman

RESULTS = ROOT / "results"
PENDING = "pending"
GROUPS = {
    "cifar100": ("CIFAR-100", ("cifar100", PENDING)),
    "cifar100-preresnet": ("CIFAR-100, PreResNet", ("cifar100-preresnet", PENDING)),
    "cifar100-depths": ("CIFAR-100, three depths", ("cifar100-depths",)),
    "generalisation-gap": ("CIFAR-100, 500 epochs", ("generalisation-gap",)),
    "fgsm-seeds": ("MNIST", ("fgsm-seeds", PENDING)),
    "no-norm-search": ("without normalisation, search", ("no-norm-search",)),
    "no-norm": ("without normalisation", ("no-norm",)),
}
"""What the networks of a sweep are called, and the files that predict their order, the newest last."""

UNKNOWN = "–"
_NETWORK = ("model", "scheme", "block_schemes", "beta_growth", "stage_change")
_HEAD = "## Order on other data and without normalisation"
_INTRO = """\
No accuracy is predicted here, but which network comes before which. Rank correlation of the measured accuracy (best
test epoch, mean over the seeds; in a search accuracy on validation images) with the order by the law, and with that by
the root condition: zero-stable schemes first, the others by their largest root."""


class Ordered(NamedTuple):
    """A network with its predicted places, 1 being the best, and its measured accuracy in percent.

    Attributes:
        relative_error: The predicted error divided by that of the network on place 1; None if there is no prediction.
        accuracy: The mean over its runs; None if all diverged.
    """

    name: str
    recipe: str
    by_law: int | None
    by_roots: float | None
    relative_error: float | None
    accuracy: float | None
    runs: int


def networks(results: Path, group: str) -> list[Ordered]:
    """Collect the networks of a group that were trained, by recipe and, within one, from the best to the worst."""
    _, files = GROUPS[group]
    asked = {one["run"] for one in _entries(results, files[0])}
    newest = {one["run"]: one for file in files for one in _entries(results, file) if one["run"] in asked}
    found: dict[str, list[tuple[dict[str, Any], dict[str, Any]]]] = {}
    for run, one in newest.items():
        path = results / "runs" / run / "result.json"
        if path.exists():
            key = json.dumps([one["recipe"]["name"], *(one.get(part) for part in _NETWORK)])
            found.setdefault(key, []).append((one, json.loads(path.read_text(encoding="utf-8"))))
    joined = [_join(seeds) for seeds in found.values()]
    return sorted(joined, key=lambda one: (one.recipe, -(one.accuracy or 0.0)))


def _entries(results: Path, file: str) -> list[dict[str, Any]]:
    path = results / f"predictions/{file}.json"
    found: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["predictions"] if path.exists() else []
    return found


def _join(seeds: Sequence[tuple[dict[str, Any], dict[str, Any]]]) -> Ordered:
    """Join the runs of a network."""
    one = seeds[0][0]
    known = [value for _, result in seeds if (value := _accuracy(result)) is not None]
    root = one.get("root_condition_order")
    if root is None and "zero_stable" in one:
        root = 0.0 if one["zero_stable"] else one["largest_root"]
    scheme = one.get("scheme")
    name = one["model"] if scheme is None else f"{one['model']} {scheme}"
    accuracy = 100 * mean(known) if known else None
    return Ordered(name, one["recipe"]["name"], one.get("order"), root, one.get("relative_error"), accuracy, len(seeds))


def _accuracy(result: dict[str, Any]) -> float | None:
    if result["status"] == "diverged":
        return None
    value: float | None = result.get("validation_accuracy", result.get("best_test_accuracy"))
    return value


def by_recipe(found: Sequence[Ordered]) -> dict[str, list[Ordered]]:
    """Split networks by recipe: accuracies of two recipes are not compared."""
    recipes: dict[str, list[Ordered]] = {}
    for one in found:
        recipes.setdefault(one.recipe, []).append(one)
    return recipes


def correlate(found: Sequence[Ordered], place: Callable[[Ordered], float | None]) -> Correlation | None:
    """Correlate places with accuracies, so that 1 is full agreement; None below four networks."""
    pairs = [(-at, one.accuracy or 0.0) for one in found if (at := place(one)) is not None]
    return spearman([at for at, _ in pairs], [accuracy for _, accuracy in pairs])


def ranks(results: Path = RESULTS) -> str:
    """List rank correlations by group and recipe; empty if nothing was trained."""
    rows = []
    for group, (name, _) in GROUPS.items():
        for recipe, some in by_recipe(networks(results, group)).items():
            cells = (
                UNKNOWN if one is None else f"{one.rho:.2f}"
                for one in (correlate(some, lambda one: one.by_law), correlate(some, lambda one: one.by_roots))
            )
            rows.append([name, f"`{recipe}`", str(len(some)), *cells])
    return table(["Group", "Recipe", "Networks", "By the law", "By the root condition"], rows) if rows else ""


def places(results: Path = RESULTS) -> str:
    """List every network with its predicted place and error, and what was measured."""
    rows = []
    for group, (name, _) in GROUPS.items():
        for some in by_recipe(networks(results, group)).values():
            best = next((one.accuracy for one in some if one.relative_error == 1 and one.accuracy is not None), None)
            for one in some:
                rows.append([name, f"`{one.name}`", *_cells(one, best)])
    heads = ["Group", "Network", "Place by the law", "Error against the first, predicted", "Measured", "Accuracy, %"]
    return table([*heads, "Runs"], rows) if rows else ""


def _cells(one: Ordered, best: float | None) -> list[str]:
    """Write a network's numbers; `best` is the accuracy of the network that is predicted to be the best."""
    against = best is not None and one.accuracy is not None and one.relative_error is not None
    return [
        UNKNOWN if one.by_law is None else str(one.by_law),
        UNKNOWN if one.relative_error is None else f"{one.relative_error:.2f}",
        f"{(100 - (one.accuracy or 0.0)) / (100 - (best or 0.0)):.2f}" if against else UNKNOWN,
        "diverged" if one.accuracy is None else f"{one.accuracy:.2f}",
        str(one.runs),
    ]


def section(results: Path = RESULTS) -> str:
    """Write the section of the page; empty until a network of these groups has been trained."""
    found = ranks(results)
    return "\n\n".join([_HEAD, _INTRO, found, places(results)]) if found else ""


TABLES: dict[str, Callable[[], str]] = {"orders": partial(section, RESULTS)}
