"""Tables of residual wirings on mosaics at three learning rates, from the records in results/mosaic-wirings."""

import json
from collections.abc import Callable, Iterable
from functools import cache, partial
from math import sqrt
from statistics import mean, stdev
from typing import Any

from tools import mosaic_wiring_tables
from tools.markdown_tables import table
from tools.mosaic_rates import BOUND, FIRST_RATE, HERE, HIGHER_RATE, NETWORKS, NEW, RATES, SUMS
from tools.mosaic_wirings import NAMES, REFERENCE
from zerosnet.experiments.statistics import welch

HYPOTHESES = ("rate", "wiring")
TENFOLD = 10.0
"""A growth of products above which most networks failed; chosen afterwards."""
KINDS = ("fixed coefficients", "trained, always zero-stable", "trained, free")
NEW_NAMES = {
    "zerosnet56_stable": "three steps, trained, zero-stable",
    "zerosnet56_tra": "ZeroSNet-Tra, trained λ",
}
_BOUND = ("zerosnet{}_simplex", *BOUND)
_GAINS = ("preresnet{}_gains", "preresnet{}_x0", "streams{}")
"""Wirings whose products can grow without limit; their coefficients are free."""
_FREE = ("lmresnet{}", *_GAINS)
WORSE = ("preresnet{}_scaled", "streams{}")
"""Wirings that are worse at every rate with 110 layers, as was seen afterwards."""
SHORT_NAMES = {
    "gains": "preresnet{}_gains",
    "free streams": "streams{}",
    "doubly stochastic": "streams{}_sinkhorn",
    "scaled": "preresnet{}_scaled",
}


def kind_of(name: str) -> str:
    """Name the group of a wiring."""
    return KINDS[2 if name in _FREE else 1 if name in _BOUND else 0]


@cache
def predicted() -> dict[str, Any]:
    return json.loads((HERE / "predictions-rates.json").read_text())


@cache
def measured() -> list[dict[str, Any]]:
    """List the runs of both parts of the experiment."""
    return [run for name in ("rates", "sums") for run in json.loads((HERE / f"{name}.json").read_text())["runs"]]


def accuracies(model: str, rate: float) -> list[float]:
    """List the accuracies of a model at a rate in percent, one per seed."""
    if rate == FIRST_RATE:
        return mosaic_wiring_tables.accuracies(model)
    return [100 * run["test_accuracy"] for run in measured() if run["model"] == model and run["lr"] == rate]


def best(model: str) -> list[float]:
    """List the accuracies at the rate with the highest mean."""
    return max((accuracies(model, rate) for rate in (FIRST_RATE, *RATES)), key=mean)


def gap(name: str, layers: int) -> float:
    """Subtract the accuracy of Euler's scheme from that of a wiring, both at their best rates, in points."""
    return mean(best(name.format(layers))) - mean(best(REFERENCE.format(layers)))


def interval(name: str, layers: int) -> str:
    """Write a gap with its 95 % interval."""
    found = welch(best(name.format(layers)), best(REFERENCE.format(layers)))
    assert found is not None
    return f"{found.mean:+.1f} ({found.low:+.1f} to {found.high:+.1f})"


def networks(layers: int) -> str:
    """List the accuracies of all wirings of a depth by rate, and their gaps to Euler's scheme."""
    rows = []
    for name in NETWORKS[layers]:
        model = name.format(layers)
        by_rate = [accuracies(model, rate) for rate in (FIRST_RATE, *RATES)]
        cells = [f"{mean(values):.1f} ± {stdev(values):.1f}" for values in by_rate]
        first = "" if name == REFERENCE else f"{predicted()['gaps']['wiring'][model]:+.1f}"
        rows.append([NAMES[name], *cells, first, "" if name == REFERENCE else interval(name, layers)])
    heads = [f"Rate {rate}" for rate in (FIRST_RATE, *RATES)]
    return table(["Wiring", *heads, f"Gap at {FIRST_RATE}", "Gap, each at its best rate"], rows)


def error(hypothesis: str, but: tuple[str, ...] = ()) -> str:
    """Write the root mean square by which a hypothesis misses the gaps, in points; `but`: wirings to leave out."""
    without = {name.format(layers) for name in but for layers in NETWORKS}
    gaps = {model: value for model, value in predicted()["gaps"][hypothesis].items() if model not in without}
    found = {name.format(layers): gap(name, layers) for layers, names in NETWORKS.items() for name in names}
    return f"{sqrt(mean((found[model] - value) ** 2 for model, value in gaps.items())):.1f}"


def fails(model: str, layers: int, rate: float) -> list[bool]:
    """List which networks failed, one per seed: more than five points below Euler's scheme at the same rate."""
    return [value < _least(layers, rate) for value in accuracies(model, rate)]


def _least(layers: int, rate: float) -> float:
    """Compute the accuracy below which a network has failed, in percent."""
    return mean(accuracies(REFERENCE.format(layers), rate)) - predicted()["fails_at"]


def failed(name: str, layers: int = 110) -> str:
    """Count the networks of a wiring that failed at the three rates."""
    return _count(one for rate in (FIRST_RATE, *RATES) for one in fails(name.format(layers), layers, rate))


def failed_of(kind: str) -> str:
    """Count the networks of a group that failed at the three rates; those of `NEW` have one of these rates."""
    asked = [
        (name.format(layers), layers, rate)
        for layers, names in NETWORKS.items()
        for name in names
        if kind_of(name) == kind
        for rate in (FIRST_RATE, *RATES)
    ]
    asked += [
        (model, 56, RATES[-1]) for model in NEW if SUMS[model]["roots"] == (kind == KINDS[1]) and kind in KINDS[1:]
    ]
    return _count(one for setting in asked for one in fails(*setting))


def _count(failed: Iterable[bool]) -> str:
    found = list(failed)
    return f"{sum(found)} of {len(found)}"


def sums() -> str:
    """List trained coefficients with 56 layers at the highest rates, and how many networks failed."""
    names = {name.format(56): words for name, words in NAMES.items()} | NEW_NAMES
    rows = []
    for model in (REFERENCE.format(56), *SUMS):
        by_rate = [accuracies(model, rate) for rate in (RATES[-1], HIGHER_RATE)]
        rows.append(
            [
                names[model],
                "yes" if SUMS.get(model, {"roots": True})["roots"] else "no",
                *(f"{mean(values):.1f} ± {stdev(values):.1f}" for values in by_rate),
                _count(fails(model, 56, RATES[-1])),
            ]
        )
    heads = ["Wiring", "Always zero-stable", *(f"Rate {rate}" for rate in (RATES[-1], HIGHER_RATE))]
    return table([*heads, f"Failed at {RATES[-1]}"], rows)


def growths() -> list[tuple[float, bool]]:
    """List for every network with free coefficients the growth of its products after training, and if it failed."""
    first = [{**run, "lr": FIRST_RATE} for runs in mosaic_wiring_tables.measured().values() for run in runs]
    layers = {name.format(layers): layers for layers, names in NETWORKS.items() for name in names if name in _GAINS}
    found = [run for run in (*first, *measured()) if run["model"] in layers and run["lr"] <= RATES[-1]]
    return [
        (run["trained"]["growth"], 100 * run["test_accuracy"] < _least(layers[run["model"]], run["lr"]))
        for run in found
    ]


def grown(more: bool) -> str:
    """Count how many failed of the networks whose products grow more than tenfold, or of the others."""
    return _count(failed for growth, failed in growths() if (growth > TENFOLD) == more)


TABLES: dict[str, Callable[[], str]] = {
    **{f"mosaic wirings, rates, {layers}": partial(networks, layers) for layers in NETWORKS},
    "mosaic wirings, sums": sums,
}
VALUES: dict[str, Callable[[], str]] = {
    **{f"mosaic rates, missed by {one}": partial(error, one) for one in HYPOTHESES},
    **{f"mosaic rates, most missed by {one}": partial(error, one, WORSE) for one in HYPOTHESES},
    **{
        f"mosaic rates, failed, {words}, {layers}": partial(failed, name, layers)
        for words, name in SHORT_NAMES.items()
        for layers in NETWORKS
        if name in NETWORKS[layers]
    },
    "mosaic rates, grown": partial(grown, True),
    "mosaic rates, not grown": partial(grown, False),
    "mosaic rates, Euler at the highest": lambda: f"{mean(accuracies(REFERENCE.format(56), HIGHER_RATE)):.1f}",
    "mosaic rates, failed, always zero-stable": partial(failed_of, KINDS[1]),
    "mosaic rates, failed, free": partial(failed_of, KINDS[2]),
}
