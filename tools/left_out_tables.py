"""Leave-one-out errors of the accuracy law and of simpler rules, over the networks that the law was fitted on."""

from collections.abc import Callable
from functools import cache
from math import exp, log

import numpy as np

from tools.fit_law import read_points
from tools.later_tables import rms
from tools.markdown_tables import listed, table
from zerosnet.experiments import parasitic_modulus
from zerosnet.numerics import AccuracyLaw, Scheme, is_consistent, is_zero_stable, load_law
from zerosnet.numerics.wirings.fit import fit_law

BANDS = ((91.0, 100.0, "91 % and more"), (85.0, 91.0, "85 to 91 %"), (0.0, 85.0, "below 85 %"))
"""Ranges of predicted accuracy, and what they are called."""


@cache
def left_out() -> dict[str, tuple[int, np.ndarray]]:
    """Compute the leave-one-out misses of simple laws and of the three measures, with the number of their constants."""
    networks = load_law().networks
    accuracy = np.array([network.accuracy for network in networks])
    schemes = [Scheme.parse(network.scheme) for network in networks]
    stable = np.array([bool(is_zero_stable(scheme)) for scheme in schemes])
    modulus = np.array([parasitic_modulus(scheme) for scheme in schemes])
    count = np.array([log(max(1, network.wiring.blocks_above())) for network in networks])
    log_errors = np.log(100 - accuracy)

    def error(predict: Callable[[np.ndarray, int], float]) -> np.ndarray:
        index = np.arange(len(networks))
        return np.array([predict(index != i, i) - accuracy[i] for i in range(len(networks))])

    def misses(law: AccuracyLaw) -> np.ndarray:
        return np.array([one.left_out - one.accuracy for one in law.networks])

    def line(x: np.ndarray, y: np.ndarray, others: np.ndarray, i: int) -> float:
        slope, base = np.polyfit(x[others], y[others], 1)
        return float(base + slope * x[i])

    return {
        "a constant": (1, mean_of_others(accuracy) - accuracy),
        "root condition": (2, mean_of_others(accuracy, stable) - accuracy),
        "largest parasitic modulus": (2, error(lambda others, i: line(modulus, accuracy, others, i))),
        "blocks with a share of 10 %": (2, error(lambda o, i: 100 - exp(line(count, log_errors, o, i)))),
        "shares": (3, misses(load_law("shares"))),
        "weights in the head": (3, misses(load_law("contributions"))),
        "parts of what the head reads, of all blocks": (4, misses(fit_law(read_points("best"), floor=True))),
        "**parts of what the head reads, of blocks that survive**": (5, misses(load_law("parts"))),
    }


def mean_of_others(accuracy: np.ndarray, kinds: np.ndarray | None = None) -> np.ndarray:
    """Predict every network by the mean accuracy of all others, or of the others of its kind."""
    index, alike = np.arange(len(accuracy)), np.zeros(len(accuracy)) if kinds is None else kinds
    return np.array([accuracy[(index != i) & (alike == alike[i])].mean() for i in index])


@cache
def among_consistent() -> tuple[int, float, float, float]:
    """Count the networks of one consistent scheme; errors of the law, of the root condition and of a constant there."""
    found = [one for one in load_law().networks if one.plain and is_consistent(Scheme.parse(one.scheme))]
    accuracy = np.array([one.accuracy for one in found])
    stable = np.array([bool(is_zero_stable(Scheme.parse(one.scheme))) for one in found])
    predicted = ([one.left_out for one in found], mean_of_others(accuracy, stable), mean_of_others(accuracy))
    law, roots, constant = (rms((np.array(one) - accuracy).tolist()) for one in predicted)
    return len(found), law, roots, constant


def left_out_errors() -> str:
    """List the leave-one-out errors."""
    near = np.array([one.near for one in load_law().networks])
    rows = [
        [name, str(constants), *(f"{rms(found[kind]):.2f}" for kind in (near | ~near, ~near, near))]
        for name, (constants, found) in left_out().items()
    ]
    heads = [f"all ({len(near)})", f"clear of the threshold ({(~near).sum()})", f"near it ({near.sum()})"]
    return table(["Law", "Constants", *heads], rows)


def errors_by_prediction() -> str:
    """List the leave-one-out error of the law by the accuracy that it predicts, beside the spread of the accuracies."""
    networks = load_law().networks
    predicted = np.array([one.left_out for one in networks])
    measured = np.array([one.accuracy for one in networks])
    rows = []
    for low, high, name in BANDS:
        these = (predicted >= low) & (predicted < high)
        numbers = (rms(predicted[these] - measured[these]), measured[these].std())
        rows.append([name, str(int(these.sum())), *(f"{number:.2f}" for number in numbers)])
    return table(["Predicted accuracy", "Networks", "Error, points", "Standard deviation of their accuracies"], rows)


def _error(name: str) -> str:
    return f"{rms(left_out()[name][1].tolist()):.1f}"


TABLES: dict[str, Callable[[], str]] = {"law, left out": left_out_errors, "law, by prediction": errors_by_prediction}
VALUES: dict[str, Callable[[], str]] = {
    "root condition error": lambda: _error("root condition"),
    "constant error": lambda: _error("a constant"),
    "consistent, networks": lambda: str(among_consistent()[0]),
    "consistent, errors": lambda: listed(among_consistent()[1:]),
}
