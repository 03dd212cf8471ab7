"""Tables of networks without normalisation, from the records in results/without-norm: predicted beside measured."""

import json
from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from itertools import pairwise
from math import log10
from statistics import stdev
from typing import Any

import numpy as np

from tools.markdown_tables import table
from tools.without_norm import HERE, LAYERS, LEARNED, RATES
from zerosnet.numerics import Scheme

LAWS = {
    "none": "no network learns",
    "same": "every scheme learns at the rates of Euler's",
    "root_condition": "zero-stable schemes learn at the rates of Euler's, others never",
    "sensitivity": "the lowest and the highest rate that learn are Euler's divided by $\\kappa$",
    "refined": "the lowest is Euler's divided by $\\kappa^{1/2}$, the highest by $\\kappa^{1/4}$",
}


@cache
def recorded() -> list[dict[str, Any]]:
    """List all runs but Euler's, each with what was predicted for its scheme."""
    known = json.loads((HERE / "predictions.json").read_text())["predictions"]
    again = json.loads((HERE / "predictions-20.json").read_text())["predictions"]
    networks = {(one["scheme"], one["layers"]): one for one in known}
    for one in known:
        one["learns"]["none"] = []
    for one in again:
        networks[one["scheme"], one["layers"]]["learns"]["refined"] = one["learns"]
    runs = json.loads((HERE / "runs.json").read_text())["runs"]
    return [run | {"predicted": networks[run["scheme"], run["layers"]]} for run in runs]


def euler() -> list[dict[str, Any]]:
    """List the runs of Euler's scheme."""
    runs: list[dict[str, Any]] = json.loads((HERE / "euler.json").read_text())["runs"]
    return runs


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
    heads = ("Law", *(f"Wrong, of {len(of_layers(n))} runs of {n} layers" for n in LAYERS))
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


def shared() -> str:
    """List two schemes with independent and with shared projections: the rates at which they learn."""
    known = json.loads((HERE / "predictions-shared.json").read_text())["predictions"]
    runs = json.loads((HERE / "shared.json").read_text())["runs"]
    rows = []
    for one in known:
        each = [run for run in of_layers(LAYERS[0]) if run["scheme"] == one["scheme"]]
        mine = [run for run in runs if run["scheme"] == one["scheme"]]
        rows.append(
            (
                f"`{one['scheme']}`",
                f"{each[0]['predicted']['log10_sensitivity']:+.1f}",
                _rates(run["lr"] for run in each if run["learned"]),
                f"{one['log10_sensitivity']:+.1f}",
                _rates(one["learns"]),
                _rates(run["lr"] for run in mine if run["learned"]),
            )
        )
    heads = ("Scheme", "$\\log_{10} \\kappa$, independent", "Learns at rates")
    return table((*heads, "$\\log_{10} \\kappa$, shared", "Predicted", "Learns at rates"), rows)


def crossings(accuracy: float = LEARNED, depths: Sequence[int] = LAYERS) -> list[tuple[float, float]]:
    """List sensitivity and lowest rate that reaches an accuracy, as decimal logarithms, one per network that does."""
    found = []
    for layers in depths:
        runs = of_layers(layers)
        for name in sorted({run["scheme"] for run in runs}):
            mine = sorted((run for run in runs if run["scheme"] == name), key=lambda run: float(run["lr"]))
            finished = [run for run in mine if run["status"] == "finished"]
            for before, after in pairwise(finished):
                low, high = before["test_accuracy"], after["test_accuracy"]
                if low < accuracy <= high:
                    rates = log10(before["lr"]), log10(after["lr"])
                    place = rates[0] + (rates[1] - rates[0]) * (accuracy - low) / (high - low)
                    found.append((after["predicted"]["log10_sensitivity"], place))
                    break
    return found


def _spread(power: float, depths: Sequence[int] = LAYERS) -> str:
    return f"{stdev(place + power * size for size, place in crossings(depths=depths)):.2f}"


def _power(accuracy: float) -> str:
    sizes, places = np.transpose(crossings(accuracy))
    return f"{-np.polyfit(sizes, places, 1)[0]:.2f}"


def _diverged() -> str:
    """Count the wrong predictions of the refined law that are networks that diverged."""
    wrong = [
        run for run in of_layers(LAYERS[1]) if (run["lr"] in run["predicted"]["learns"]["refined"]) != run["learned"]
    ]
    return f"{sum(run['status'] == 'diverged' for run in wrong)} of its {len(wrong)}"


def _known() -> str:
    """Count the runs of 56 layers that had begun when the refined law was registered."""
    registered = json.loads((HERE / "predictions-20.json").read_text())["date"]
    return str(sum(run["begun"] <= registered for run in of_layers(LAYERS[0])))


def _unstable(layers: int) -> str:
    """Count the schemes that are not zero-stable and learn at some rate."""
    return f"{len(_learning(layers))} of {len({run['scheme'] for run in _not_stable(layers)})}"


def _at_eulers_rates(layers: int) -> str:
    """Count those of them that learn at a rate at which Euler's scheme does."""
    learning = _learning(layers)
    euler = {lr for run in of_layers(layers) for lr in run["predicted"]["learns"]["same"]}
    return str(len({run["scheme"] for run in _not_stable(layers) if run["learned"] and run["lr"] in euler} & learning))


def _not_stable(layers: int) -> list[dict[str, Any]]:
    return [run for run in of_layers(layers) if not run["predicted"]["zero_stable"]]


def _learning(layers: int) -> set[str]:
    return {run["scheme"] for run in _not_stable(layers) if run["learned"]}


TABLES: dict[str, Callable[[], str]] = {
    "without norm, laws": laws,
    "without norm, 56 layers": lambda: networks(LAYERS[0]),
    "without norm, 20 layers": lambda: networks(LAYERS[1]),
    "without norm, shared": shared,
}
VALUES: dict[str, Callable[[], str]] = {
    "without norm, runs": lambda: str(len(recorded())),
    "without norm, known": _known,
    "without norm, spread": lambda: _spread(0),
    "without norm, spread, scaled": lambda: _spread(1 / 2),
    "without norm, spread, scaled, 20": lambda: _spread(1 / 2, LAYERS[1:]),
    "without norm, power": lambda: _power(LEARNED),
    "without norm, power at 95 %": lambda: _power(0.95),
    "without norm, diverged": _diverged,
    **{f"without norm, unstable that learn, {layers}": partial(_unstable, layers) for layers in LAYERS},
    **{f"without norm, at Euler's rates, {layers}": partial(_at_eulers_rates, layers) for layers in LAYERS},
}
