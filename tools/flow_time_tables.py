"""Tables of the experiment on small betas, from the records in results/flow-time: predicted beside measured."""

import json
from collections.abc import Callable
from functools import cache, partial
from math import log2, sqrt
from statistics import mean
from typing import Any

from tools.flow_time import ADAM_CALIBRATION, CALIBRATION, HERE, middle_of, recipe_of, weight
from tools.markdown_tables import listed, table
from zerosnet.numerics import Scheme

LAWS = {"time": "by flow time", "epochs": "by epochs", "constant": "constant"}
TRAIN, TEST = "train_accuracy", "test_accuracy"


@cache
def predicted() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((HERE / "predictions.json").read_text())
    return found


@cache
def runs() -> dict[str, list[dict[str, Any]]]:
    """List the runs of every row, those of the calibration first, from the largest beta to the smallest."""
    found: dict[str, list[dict[str, Any]]] = {}
    for name in ("calibration", "runs"):
        for run in json.loads((HERE / f"{name}.json").read_text())["runs"]:
            found.setdefault(run["row"], []).append(run)
    return found


def beta_of(run: dict[str, Any]) -> float:
    return float(Scheme.parse(f"1;{run['beta']}").betas[0])


def measured(row: str, by: str = TRAIN) -> float:
    """Find the weight of the blocks at which accuracy is half-way up."""
    return weight(middle_of([run[by] for run in runs()[row]]))


def is_adam(row: str) -> bool:
    return recipe_of(row).optimiser == "adam"


def weights() -> str:
    """List the weight at the middle of every row: predicted, and measured in training and in test accuracy."""
    times = {one["row"]: one for one in predicted()["predictions"]}
    rows = []
    for row in runs():
        known = row in (CALIBRATION, ADAM_CALIBRATION)
        laws = ["" if known else f"{100 * times[row]['weights'][law]:.1f}" for law in LAWS]
        time = "" if known or is_adam(row) else f"{times[row]['time']:.0f}"
        rows.append([row, time, *laws, f"{100 * measured(row):.1f}", f"{100 * measured(row, TEST):.1f}"])
    heads = ["Training", "Flow time", *(f"Predicted {words}, %" for words in LAWS.values())]
    return table([*heads, "Measured, %", "in test accuracy, %"], rows)


def error(law: str, by: str = TRAIN, *, adam: bool = False) -> float:
    """Compute the root mean square miss of a law over the rows that it predicted, as a factor."""
    rows = [one for one in predicted()["predictions"] if is_adam(one["row"]) == adam]
    return 2 ** sqrt(mean(log2(one["weights"][law] / measured(one["row"], by)) ** 2 for one in rows))


def _errors(by: str) -> str:
    return listed(error(law, by) for law in LAWS)


def _with_adam() -> str:
    """Write the weight of the smallest beta at which networks trained by Adam are as good as with larger ones."""
    *betas, _ = sorted((beta_of(run) for run in runs()["Adam, 16 epochs"]), reverse=True)
    return f"{100 * weight(betas[-1]):.1f}"


TABLES: dict[str, Callable[[], str]] = {"flow time, weights": weights}
VALUES: dict[str, Callable[[], str]] = {
    "flow time, missed": partial(_errors, TRAIN),
    "flow time, missed in test accuracy": partial(_errors, TEST),
    "flow time, falls": lambda: listed(100 * measured(f"{epochs} epochs", TEST) for epochs in (4, 8, 16, 32)),
    "flow time, slow": lambda: f"{100 * measured('16 epochs, lr 0.025', TEST):.1f}",
    "flow time, no decay": lambda: f"{100 * measured('8 epochs, no decay', TEST):.1f}",
    "flow time, with Adam": _with_adam,
}
