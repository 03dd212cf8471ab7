"""Train networks with small betas for different times, after a prediction of the beta from which their blocks learn.

    python -m tools.flow_time calibrate STORE    # four epochs, results/flow-time/calibration.json
    python -m tools.flow_time predict            # results/flow-time/predictions.json, once
    python -m tools.flow_time train STORE        # all other trainings, results/flow-time/runs.json

The images are the mosaics (no files needed), the networks have 32 layers and Euler's scheme with one beta, the recipe
is `paper` with batches of 64. A training has a flow time: the sum of its learning rates, divided by 1 - momentum. The
*middle* of a row of trainings is the beta at which training accuracy is half-way between that of the smallest beta and
the best one. Two cores train all of it in about 50 minutes.

Predictions of the middle of each row, from that of the calibration:

time       the weight of a block in what the head reads (root of its part) at the middle is c / sqrt(flow time)
constant   it is the same in all rows
epochs     it is c / sqrt(epochs), whatever the learning rate and momentum are

With Adam, whose steps do not scale with the gradient, `time` predicts c / (sum of learning rates) from the first of
its rows, and the others as above.
"""

import json
import sys
from dataclasses import replace
from math import exp, log, sqrt
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from tools.markdown_tables import ROOT
from tools.without_norm import train_all, write_once
from zerosnet.data import load
from zerosnet.environment import environment, today
from zerosnet.numerics import Scheme, Wiring
from zerosnet.training import Recipe, RunSpec, Store, flow_time, lr_at, recipe

HERE = ROOT / "results/flow-time"
LAYERS, BLOCKS = 32, (5, 5, 5)
BETAS = ("2", "1", "1/2", "7/20", "1/4", "9/50", "1/8", "1/11", "1/16", "1/1000")
"""From large to small; with the last one no multistep block adds anything."""

CALIBRATION = "4 epochs"
ROWS: dict[str, dict[str, Any]] = {
    CALIBRATION: {"epochs": 4},
    "8 epochs": {"epochs": 8},
    "16 epochs": {"epochs": 16},
    "32 epochs": {"epochs": 32},
    "8 epochs, lr 0.05": {"epochs": 8, "lr": 0.05},
    "16 epochs, lr 0.025": {"epochs": 16, "lr": 0.025},
    "8 epochs, lr 0.2": {"epochs": 8, "lr": 0.2},
    "8 epochs, no momentum, lr 0.5": {"epochs": 8, "lr": 0.5, "momentum": 0.0},
    "8 epochs, no decay": {"epochs": 8, "weight_decay": 0.0},
    "Adam, 4 epochs": {"epochs": 4, "lr": 0.001, "optimiser": "adam", "beta2": 0.999},
    "Adam, 16 epochs": {"epochs": 16, "lr": 0.001, "optimiser": "adam", "beta2": 0.999},
}
"""Changes of the recipe, by the name of the row."""

ADAM_CALIBRATION = "Adam, 4 epochs"


def recipe_of(row: str) -> Recipe:
    return replace(recipe("paper", "mosaics"), batch=64, **ROWS[row])


def specs(row: str) -> list[RunSpec]:
    """Describe the trainings of a row."""
    model, how = f"zerosnet{LAYERS}", recipe_of(row)
    return [RunSpec(model, "mosaics", how, 1, Scheme.parse(f"1,0,0;{beta}")) for beta in BETAS]


def weight(beta: float) -> float:
    """Compute the median weight of the multistep blocks in what the head reads, before training."""
    parts = Wiring.of(Scheme([1, 0, 0], [beta]), BLOCKS).head_parts()
    return sqrt(median(parts[2:]))


def beta_of(wanted: float) -> float | None:
    """Find the beta at which the blocks have a weight, by bisection; None if no beta reaches it."""
    low, high = 1e-4, 10.0
    if not weight(low) <= wanted <= weight(high):
        return None
    for _ in range(60):
        middle = sqrt(low * high)
        low, high = (middle, high) if weight(middle) < wanted else (low, middle)
    return sqrt(low * high)


def middle_of(accuracies: list[float], level: float = 0.5) -> float:
    """Find the beta at which accuracy is half-way up: accuracies are in the order of BETAS, from large to small.

    level: Another part of the way from the accuracy of the smallest beta to the best one.
    """
    betas = [float(Scheme.parse(f"1;{beta}").betas[0]) for beta in BETAS]
    best = int(np.argmax(accuracies))
    half = accuracies[-1] + level * (accuracies[best] - accuracies[-1])
    for i in range(best, len(betas) - 1):
        above, below = accuracies[i], accuracies[i + 1]
        if above >= half > below:
            part = (above - half) / (above - below)
            return exp(log(betas[i]) + part * (log(betas[i + 1]) - log(betas[i])))
    raise SystemExit(f"accuracies {accuracies} do not fall to half-way")


def outcome(store: Store, one: RunSpec) -> dict[str, Any]:
    """Describe a run that has ended in a line."""
    record = store.get(one)
    if record is None or record.result is None or one.scheme is None:
        raise SystemExit(f"{one.id} has not ended")
    result = record.result
    row = next(name for name in ROWS if recipe_of(name) == one.recipe)
    return {
        "run": one.id,
        "row": row,
        "beta": str(one.scheme.betas[0]),
        "status": record.status,
        "train_accuracy": result.train_accuracy,
        "test_accuracy": result.test_accuracy,
        "begun": record.environment().get("begun"),
    }


def read_middles(path: Path) -> dict[str, float]:
    """Read the middle of every row of a file of runs."""
    accuracies: dict[str, dict[str, float]] = {}
    for run in json.loads(path.read_text())["runs"]:
        accuracies.setdefault(run["row"], {})[run["beta"]] = run["train_accuracy"]
    return {row: middle_of([found[beta] for beta in BETAS]) for row, found in accuracies.items()}


def time_of(row: str) -> float:
    """Compute the flow time of a row; with Adam the sum of its learning rates."""
    how, images = recipe_of(row), len(load("mosaics").train.images)
    if how.optimiser == "sgd":
        return flow_time(how, images)
    steps = images // how.batch
    return sum(lr_at(how, step, steps) for step in range(how.epochs * steps))


def predictions() -> dict[str, Any]:
    """Predict the middle of every row from that of the calibration."""
    known = read_middles(HERE / "calibration.json")
    found: dict[str, Any] = {
        "command": "python -m tools.flow_time predict",
        "date": today(),
        "parent_commit": environment()["git"]["commit"],
        "calibration": {row: {"beta": beta, "weight": weight(beta)} for row, beta in known.items()},
        "predictions": [],
    }
    for row in ROWS:
        if row in known:
            continue
        adam = recipe_of(row).optimiser == "adam"
        origin = ADAM_CALIBRATION if adam else CALIBRATION
        start, longer = weight(known[origin]), time_of(row) / time_of(origin)
        weights = {
            "time": start / (longer if adam else sqrt(longer)),
            "constant": start,
            "epochs": start / sqrt(recipe_of(row).epochs / recipe_of(origin).epochs),
        }
        betas = {law: beta_of(value) for law, value in weights.items()}
        found["predictions"].append({"row": row, "time": time_of(row), "weights": weights, "betas": betas})
    return found


def main(*arguments: str) -> None:
    command = " ".join(["python -m tools.flow_time", *arguments[:1], *(["STORE"] if arguments[1:] else [])])
    first = [CALIBRATION, ADAM_CALIBRATION]
    match arguments:
        case ("calibrate", store):
            wanted = [one for row in first for one in specs(row)]
            train_all(Store(Path(store)), wanted, HERE / "calibration.json", command, outcome)
        case ("predict",):
            write_once(HERE / "predictions.json", predictions())
        case ("train", store):
            wanted = [one for row in ROWS if row not in first for one in specs(row)]
            train_all(Store(Path(store)), wanted, HERE / "runs.json", command, outcome)
        case _:
            raise SystemExit(__doc__)


if __name__ == "__main__":
    main(*sys.argv[1:])
