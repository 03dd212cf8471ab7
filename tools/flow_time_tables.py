"""Tables of the experiment on small betas, from the records in results/flow-time: predicted beside measured."""

import json
from collections.abc import Callable, Iterable
from functools import cache, partial
from math import log2, sqrt
from statistics import mean
from typing import Any

from tools.flow_time import HERE, LAWS, read_middles, weight
from tools.markdown_tables import table
from zerosnet.numerics import Scheme


@cache
def predicted() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((HERE / "predictions.json").read_text())
    return found


@cache
def measured() -> dict[str, float]:
    """Read the middle of every row, those of the calibration among them."""
    return read_middles(HERE / "calibration.json") | read_middles(HERE / "runs.json")


def middles() -> str:
    """List the rows by what was predicted of them, and what came."""
    rows = []
    for one in predicted()["predictions"]:
        betas = [one["betas"][law] for law in LAWS]
        cells = [f"{beta:.3f}" if beta is not None else "none" for beta in betas]
        middle = measured()[one["row"]]
        rows.append((one["row"], f"{one['time']:.3g}", *cells, f"{middle:.3f}", f"{weight(middle):.3f}"))
    heads = ("Training", "Flow time", *(f"Predicted: {words}" for words in LAWS.values()), "Measured", "Its weight")
    return table(heads, rows)


def errors(law: str, adam: bool = False) -> float:
    """Compute the root mean square error of a law over the rows, in factors of two of the weight."""
    rows = [one for one in predicted()["predictions"] if one["row"].startswith("Adam") == adam]
    return sqrt(mean(log2(one["weights"][law] / weight(measured()[one["row"]])) ** 2 for one in rows))


def accuracies(row: str) -> list[tuple[float, float, float]]:
    """List beta, training and test accuracy of the networks of a row, from the smallest beta to the largest."""
    runs = [
        run
        for name in ("calibration", "runs")
        for run in json.loads((HERE / f"{name}.json").read_text())["runs"]
        if run["row"] == row
    ]
    found = ((float(Scheme.parse(f"1;{r['beta']}").betas[0]), r["train_accuracy"], r["test_accuracy"]) for r in runs)
    return sorted(found)


def _ratio(rows: Iterable[str]) -> str:
    """Write the largest weight at the middle of some rows, divided by the smallest."""
    weights = [weight(measured()[row]) for row in rows]
    return f"{max(weights) / min(weights):.1f}"


TABLES: dict[str, Callable[[], str]] = {"flow time, middles": middles}
VALUES: dict[str, Callable[[], str]] = {
    f"flow time, error of {law}": partial(lambda law: f"{2 ** errors(law):.2f}", law) for law in LAWS
}
