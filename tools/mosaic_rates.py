"""Train residual wirings on mosaics at higher learning rates: does the wiring decide, or the rate?

    python -m tools.mosaic_rates predict          # results/mosaic-wirings/predictions-rates.json, once
    python -m tools.mosaic_rates train STORE      # results/mosaic-wirings/rates.json
    python -m tools.mosaic_rates predict-sums     # results/mosaic-wirings/predictions-sums.json, once
    python -m tools.mosaic_rates train-sums STORE # results/mosaic-wirings/sums.json

`tools.mosaic_wirings` trained all wirings at a rate of 0.1. Here they are trained at 0.2 and 0.4 as well: all nine with
56 layers, five of them with 110, three seeds each. Two free cores train all of it in about an hour and a half.

A *gap* is the mean accuracy of a wiring minus that of Euler's scheme, each at the best of its three rates. Two
hypotheses predict it:

rate      no gap: a wiring that was better at a rate of 0.1 suited that rate better
wiring    the gap is the one that was measured at a rate of 0.1

A network *fails* if it is more than five points below the mean of Euler's scheme at the same rate. The third
prediction: some networks fail whose coefficients may leave the zero-stable set (gains, free streams), and none of those
that cannot (doubly stochastic streams).

The last two commands test what was seen in the first trainings, with 56 layers: at a rate of 0.4 gains failed, and
LM-ResNet did not, whose coefficients leave the zero-stable set as well, but sum to 1. New are a rate of 0.8, and two
more wirings whose coefficients sum to 1, one of which stays zero-stable:

sums     none fails whose trained coefficients sum to 1; of those with free gains at least half fail
roots    at least half of those fail whose trained coefficients may leave the zero-stable set; of the others none

Both are void at a rate at which Euler's scheme itself is below 90 % on average.
"""

import sys
from dataclasses import replace
from pathlib import Path
from statistics import mean
from typing import Any

from tools.flow_time import recipe_of
from tools.mosaic_wiring_tables import accuracies, difference
from tools.mosaic_wirings import HERE, NAMES, REFERENCE, ROW, SEEDS
from tools.without_norm import train_all, write_once
from zerosnet.environment import environment, today
from zerosnet.experiments import trained_wiring
from zerosnet.training import RunSpec, Store

FIRST_RATE = 0.1
RATES = (0.2, 0.4)
FREE = ("preresnet{}_gains", "streams{}")
"""Wirings whose coefficients may leave the zero-stable set, and that are trained with 110 layers."""
BOUND = ("streams{}_sinkhorn",)
DEEP = (REFERENCE, "preresnet{}_scaled", *FREE, *BOUND)
NETWORKS = {56: tuple(NAMES), 110: DEEP}
FAILS = 5.0
SEEN = {"preresnet110": {"0.2": 0.994, "0.4": 0.99}}
"""Accuracies of seed 11, which were known when the predictions were written."""


def spec(name: str, layers: int, rate: float, seed: int) -> RunSpec:
    """Describe one training."""
    return RunSpec(name.format(layers), "mosaics", replace(recipe_of(ROW), lr=rate), seed)


def specs() -> list[RunSpec]:
    """List all trainings, those of one stream first: they take the least time."""
    found = [
        (name, layers, rate, seed)
        for layers, names in NETWORKS.items()
        for name in names
        for rate in RATES
        for seed in SEEDS
    ]
    return [spec(*one) for one in sorted(found, key=lambda one: "streams" in one[0])]


SUMS = {
    "zerosnet56_simplex": {"sums": True, "roots": True},
    "zerosnet56_stable": {"sums": True, "roots": True},
    "zerosnet56_tra": {"sums": True, "roots": False},
    "lmresnet56": {"sums": True, "roots": False},
    "preresnet56_gains": {"sums": False, "roots": False},
    "preresnet56_x0": {"sums": False, "roots": False},
}
"""Which hypothesis expects that no network of a model fails."""
HIGHER_RATE = 0.8
NEW = ("zerosnet56_stable", "zerosnet56_tra")
"""Models of `SUMS` that `specs` has not."""


def sum_specs() -> list[RunSpec]:
    """List the trainings that test what was seen in the first ones."""
    asked = [(model, HIGHER_RATE) for model in (REFERENCE.format(56), *SUMS)] + [(model, RATES[-1]) for model in NEW]
    return [spec(model, 56, rate, seed) for model, rate in asked for seed in SEEDS]


def sum_predictions() -> dict[str, Any]:
    return {
        "command": "python -m tools.mosaic_rates predict-sums",
        "date": today(),
        "parent_commit": environment()["git"]["commit"],
        "rates": [RATES[-1], HIGHER_RATE],
        "fails_at": FAILS,
        "void_below": 90.0,
        "none_fails": SUMS,
    }


def gaps_at_first() -> dict[str, float]:
    """List the gaps at the first rate, in points."""
    return {
        name.format(layers): round(difference(name, layers), 2)
        for layers, names in NETWORKS.items()
        for name in names
        if name != REFERENCE
    }


def predictions() -> dict[str, Any]:
    gaps = gaps_at_first()
    return {
        "command": "python -m tools.mosaic_rates predict",
        "date": today(),
        "parent_commit": environment()["git"]["commit"],
        "seen_before": SEEN,
        "rates": [FIRST_RATE, *RATES],
        "gaps": {"rate": dict.fromkeys(gaps, 0.0), "wiring": gaps},
        "fails_at": FAILS,
        "some_fail": [name.format(110) for name in FREE],
        "none_fails": [name.format(110) for name in BOUND],
        "euler_at_first": {layers: round(mean(accuracies(REFERENCE.format(layers))), 2) for layers in NETWORKS},
    }


def outcome(store: Store, one: RunSpec) -> dict[str, Any]:
    """Describe a run that has ended in a line."""
    record = store.get(one)
    if record is None or record.result is None:
        raise SystemExit(f"{one.id} has not ended")
    found: dict[str, Any] = {
        "run": one.id,
        "model": one.model,
        "lr": one.recipe.lr,
        "seed": one.seed,
        "status": record.status,
        "test_accuracy": record.result.test_accuracy,
        "train_accuracy": record.result.train_accuracy,
        "begun": record.environment().get("begun"),
    }
    if (trained := trained_wiring(one, record.metrics())) is not None:
        found["trained"] = {
            "outside": trained.outside,
            "largest_modulus": round(trained.largest_modulus, 4),
            "growth": float(f"{trained.growth:.4g}"),
        }
    return found


def main(*arguments: str) -> None:
    match arguments:
        case ("predict",):
            write_once(HERE / "predictions-rates.json", predictions())
        case ("train", store):
            train_all(
                Store(Path(store)), specs(), HERE / "rates.json", "python -m tools.mosaic_rates train STORE", outcome
            )
        case ("predict-sums",):
            write_once(HERE / "predictions-sums.json", sum_predictions())
        case ("train-sums", store):
            command = "python -m tools.mosaic_rates train-sums STORE"
            train_all(Store(Path(store)), sum_specs(), HERE / "sums.json", command, outcome)
        case _:
            raise SystemExit(__doc__)


if __name__ == "__main__":
    main(*sys.argv[1:])
