"""Tables of the experiment on small betas, from the records in results/flow-time: predicted beside measured."""

import json
from collections.abc import Callable
from functools import cache, partial
from math import log, log2, sqrt
from statistics import mean
from typing import Any

import numpy as np

from tools.flow_time import ADAM_CALIBRATION, CALIBRATION, HERE, middle_of, recipe_of, weight
from tools.markdown_tables import listed, span, table
from zerosnet.numerics import Scheme

LAWS = {"time": "by flow time", "epochs": "by epochs", "constant": "constant"}
TRAIN, TEST = "train_accuracy", "test_accuracy"
LEARNED = "32 epochs"
"""After these, networks without multistep blocks fit the training images, too."""

SAME_TIME = (CALIBRATION, "8 epochs, lr 0.05", "16 epochs, lr 0.025")
DEFINITIONS = [(by, level) for by in (TRAIN, TEST) for level in (0.25, 0.5, 0.75)]
"""Accuracies, and parts of the way up, that the middle may be defined by; half-way in training was registered."""


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


def measured(row: str, by: str = TRAIN, level: float = 0.5) -> float:
    """Find the weight of the blocks at which accuracy is half-way up, or another part of the way."""
    return weight(middle_of([run[by] for run in runs()[row]], level))


def least_used() -> float:
    """Compute the weight of the blocks at the smallest beta but the last, with which no block is used."""
    return weight(sorted(map(beta_of, runs()[CALIBRATION]))[1])


def cell(row: str, by: str) -> str:
    """Write the weight at the middle in percent; between the last two betas, far apart, it is only bounded."""
    found = measured(row, by)
    return f"{100 * found:.1f}" if found > least_used() else f"below {100 * least_used():.1f}"


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
        rows.append([row, time, *laws, cell(row, TRAIN), cell(row, TEST)])
    heads = ["Training", "Flow time", *(f"Predicted {words}, %" for words in LAWS.values())]
    return table([*heads, "Measured, %", "in test accuracy, %"], rows)


def error(law: str, by: str = TRAIN, *, but: str = "") -> float:
    """Compute the root mean square miss of a law over the rows with SGD that it predicted, as a factor.

    but: A row that is left out.
    """
    rows = [one for one in predicted()["predictions"] if not is_adam(one["row"]) and one["row"] != but]
    return 2 ** sqrt(mean(log2(one["weights"][law] / measured(one["row"], by)) ** 2 for one in rows))


def _errors(by: str, but: str = "") -> str:
    return listed(error(law, by, but=but) for law in LAWS)


def powers(by: str = TEST, level: float = 0.5) -> list[tuple[float, float]]:
    """Fit the middle of the rows with SGD by powers of epochs and of learning rate / (1 - momentum).

    Returns:
        Each power with its standard error. In training accuracy the row LEARNED is left out.
    """
    rows = [row for row in runs() if not is_adam(row) and (by, row) != (TRAIN, LEARNED)]
    recipes = [recipe_of(row) for row in rows]
    columns = np.array([[1, log(one.epochs), log(one.lr / (1 - one.momentum))] for one in recipes])
    values = np.log([measured(row, by, level) for row in rows])
    found = np.linalg.lstsq(columns, values, rcond=None)[0]
    rest = values - columns @ found
    variance = rest @ rest / (len(rows) - len(found)) * np.linalg.inv(columns.T @ columns).diagonal()
    return [(float(power), float(error)) for power, error in zip(found[1:], np.sqrt(variance[1:]))]


def _power(place: int) -> str:
    power, error = powers()[place]
    return f"{power:.2f} ± {error:.2f}"


def _powers_by_definition(place: int) -> str:
    """Write the range of a power over all definitions of the middle."""
    return span([powers(*definition)[place][0] for definition in DEFINITIONS])


def _best(*rows: str) -> str:
    """Write the best test accuracy of rows."""
    return listed(100 * max(run[TEST] for run in runs()[row]) for row in rows)


TABLES: dict[str, Callable[[], str]] = {"flow time, weights": weights}
VALUES: dict[str, Callable[[], str]] = {
    "flow time, missed": partial(_errors, TRAIN),
    "flow time, missed in test accuracy": partial(_errors, TEST),
    "flow time, falls": lambda: listed(100 * measured(f"{epochs} epochs", TEST) for epochs in (4, 8, 16, 32)),
    "flow time, same": lambda: listed(100 * measured(row, TEST) for row in SAME_TIME),
    "flow time, no decay": lambda: f"{100 * measured('8 epochs, no decay', TEST):.1f}",
    "flow time, with Adam": lambda: f"{100 * least_used():.1f}",
    "flow time, best": lambda: _best("Adam, 16 epochs", "16 epochs"),
    "flow time, missed before": lambda: _errors(TRAIN, but=LEARNED),
    "flow time, power of epochs": partial(_power, 0),
    "flow time, power of rates": partial(_power, 1),
    "flow time, powers of epochs": partial(_powers_by_definition, 0),
    "flow time, powers of rates": partial(_powers_by_definition, 1),
}
