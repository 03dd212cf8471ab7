"""Tables of networks without normalisation, from the records in results/without-norm: predicted beside measured."""

import json
from collections.abc import Callable, Iterable
from functools import cache, partial
from typing import Any

from tools.markdown_tables import table
from tools.without_norm import HERE, LAYERS, RATES
from zerosnet.numerics import Scheme

LAWS = {
    "same": "every scheme learns at the rates of Euler's",
    "root_condition": "zero-stable schemes learn at the rates of Euler's, others never",
    "sensitivity": "both ends of Euler's window fall like $1 / \\kappa$",
    "refined": "the lower end falls like $\\kappa^{-1/2}$, the upper one like $\\kappa^{-1/4}$",
}


@cache
def recorded() -> list[dict[str, Any]]:
    """List all runs but Euler's, each with what was predicted for its scheme."""
    known = json.loads((HERE / "predictions.json").read_text())["predictions"]
    again = json.loads((HERE / "predictions-20.json").read_text())["predictions"]
    networks = {(one["scheme"], one["layers"]): one for one in known}
    for one in again:
        networks[one["scheme"], one["layers"]]["learns"]["refined"] = one["learns"]
    runs = json.loads((HERE / "runs.json").read_text())["runs"]
    return [run | {"predicted": networks[run["scheme"], run["layers"]]} for run in runs]


def of_layers(layers: int) -> list[dict[str, Any]]:
    return [run for run in recorded() if run["layers"] == layers]


def misjudged(law: str, layers: int) -> int | None:
    """Count the runs of which a law predicted wrongly whether they learn; None if it predicted nothing."""
    runs = of_layers(layers)
    if not all(law in run["predicted"]["learns"] for run in runs):
        return None
    return sum((run["lr"] in run["predicted"]["learns"][law]) != run["learned"] for run in runs)


def laws() -> str:
    """List the laws with the number of runs that each misjudges."""
    rows = []
    for law, words in LAWS.items():
        counts = (misjudged(law, layers) for layers in LAYERS)
        rows.append((words, *("not predicted" if count is None else str(count) for count in counts)))
    heads = ("Predicted before training", *(f"Wrong, of {len(of_layers(n))} runs of {n} layers" for n in LAYERS))
    return table(heads, rows)


def networks(layers: int) -> str:
    """List the networks by sensitivity: the rates at which they learn."""
    runs = of_layers(layers)
    known = {run["scheme"]: run["predicted"] for run in runs}
    rows = []
    for name in sorted(known, key=lambda name: float(known[name]["log10_sensitivity"])):
        mine = [run for run in runs if run["scheme"] == name]
        accuracies = [run["test_accuracy"] for run in mine if run["status"] == "finished"]
        rows.append(
            (
                f"`{Scheme.parse(name).short_name}`",
                "yes" if known[name]["zero_stable"] else "no",
                f"{known[name]['log10_sensitivity']:+.1f}",
                _rates(run["lr"] for run in mine if run["learned"]),
                f"{100 * max(accuracies):.1f}" if accuracies else "diverges",
            )
        )
    return table(("Scheme", "Zero-stable", "$\\log_{10} \\kappa$", "Learns at rates", "Best accuracy, %"), rows)


def _rates(rates: Iterable[float]) -> str:
    """Write rates that follow one another as a range."""
    found = sorted(rates)
    if not found:
        return "none"
    order = sorted(RATES)
    whole = order[order.index(found[0]) : order.index(found[-1]) + 1] == found
    return f"{found[0]:g} to {found[-1]:g}" if whole and len(found) > 1 else ", ".join(f"{rate:g}" for rate in found)


def _unstable(layers: int) -> str:
    """Count the schemes that are not zero-stable and learn at some rate."""
    found: dict[str, bool] = {}
    for run in of_layers(layers):
        if not run["predicted"]["zero_stable"]:
            found[run["scheme"]] = found.get(run["scheme"], False) or run["learned"]
    return f"{sum(found.values())} of {len(found)}"


TABLES: dict[str, Callable[[], str]] = {
    "without norm, laws": laws,
    "without norm, 56 layers": lambda: networks(LAYERS[0]),
    "without norm, 20 layers": lambda: networks(LAYERS[1]),
}
VALUES: dict[str, Callable[[], str]] = {
    "without norm, runs": lambda: str(len(recorded())),
    **{f"without norm, unstable that learn, {layers}": partial(_unstable, layers) for layers in LAYERS},
}
