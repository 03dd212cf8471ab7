"""Train residual wirings on mosaics, after a prediction of how many of their blocks survive.

    python -m tools.mosaic_wirings predict          # results/mosaic-wirings/predictions.json, once
    python -m tools.mosaic_wirings train STORE      # results/mosaic-wirings/runs.json

The nine wirings of results/sweeps/wirings.json are trained at 20, 56 and 110 layers on mosaics (made images, no files
needed), with recipe `quick` and eight epochs, three seeds each. Two cores train all of it in about an hour.

A block survives if its weight in what the head reads, before training, is at least the middle that `tools.flow_time`
measured with this recipe, on networks of 32 layers with other coefficients. Predictions, of all networks of a depth:

survivors        a wiring of which at least nine tenths of the blocks survive is as accurate as Euler's, within two
                 points; any other is less accurate, by more than two points
root_condition   all wirings are as accurate as Euler's, within two points: each is zero-stable when training begins

Trained coefficients stand for their start values.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np

from tools import flow_time
from tools.markdown_tables import ROOT
from tools.train_queue import measure
from tools.without_norm import train_all, write_once
from zerosnet.environment import environment, today
from zerosnet.experiments import Ablation, trained_wiring, wiring_of_run
from zerosnet.files import read_json
from zerosnet.numerics import effective_depth
from zerosnet.training import Lines, RunSpec, Store, find_device

HERE = ROOT / "results/mosaic-wirings"
REFERENCE = "preresnet{}"
NAMES = {
    REFERENCE: "PreResNet: Euler's scheme",
    "zerosnet{}_opt": "ZeroSNet-Opt",
    "lmresnet{}": "LM-ResNet, trained k",
    "zerosnet{}_simplex": "simplex, trained",
    "preresnet{}_gains": "gains, trained",
    "preresnet{}_scaled": "branch over the square root of n",
    "preresnet{}_x0": "gains and first state, trained",
    "streams{}": "4 streams, free",
    "streams{}_sinkhorn": "4 streams, doubly stochastic",
}
LAYERS = (56, 20, 110)
SEEDS = (1, 2, 3)
ROW = "8 epochs"
"""The row of `tools.flow_time` that has the recipe, and that the threshold is from."""

MOST_SURVIVE, EQUAL = 0.9, 2.0


def spec(name: str, layers: int, seed: int) -> RunSpec:
    """Describe one training."""
    return RunSpec(name.format(layers), "mosaics", flow_time.recipe_of(ROW), seed)


def specs() -> list[RunSpec]:
    return [spec(name, layers, seed) for layers in LAYERS for name in NAMES for seed in SEEDS]


def prediction(name: str, layers: int, threshold: float) -> dict[str, Any]:
    """Predict how many blocks of a network survive, and whether it is as accurate as Euler's scheme."""
    wiring = wiring_of_run(spec(name, layers, SEEDS[0]), at_start=True)
    assert wiring is not None
    weights = np.sqrt(wiring.head_parts())
    survivors = int((weights >= threshold).sum())
    return {
        "model": name.format(layers),
        "layers": layers,
        "blocks": len(weights),
        "effective_depth": round(wiring.effective_depth(), 2),
        "survivors": survivors,
        "as_accurate_as_euler": {"survivors": survivors >= MOST_SURVIVE * len(weights), "root_condition": True},
    }


def predictions() -> dict[str, Any]:
    threshold = flow_time.weight(flow_time.read_middles(flow_time.HERE / "runs.json")[ROW])
    return {
        "command": "python -m tools.mosaic_wirings predict",
        "date": today(),
        "parent_commit": environment()["git"]["commit"],
        "threshold": round(threshold, 5),
        "predictions": [prediction(name, layers, threshold) for layers in LAYERS for name in NAMES],
    }


def outcome(store: Store, one: RunSpec) -> dict[str, Any]:
    """Describe a run that has ended in a line."""
    record = store.get(one)
    if record is None or record.result is None:
        raise SystemExit(f"{one.id} has not ended")
    result, folder = record.result, record.folder
    ablation = Ablation.from_json(read_json(folder / "ablation.json"))
    noisy = read_json(folder / "attacks/paper-noise.json")["rows"]
    found: dict[str, Any] = {
        "run": one.id,
        "model": one.model,
        "seed": one.seed,
        "status": record.status,
        "test_accuracy": result.test_accuracy,
        "train_accuracy": result.train_accuracy,
        "noisy": {row["label"]: row["accuracy"] for row in noisy},
        "used_blocks": ablation.used_blocks,
        "alive": ablation.effective_depth,
        "effective_depth": round(float(effective_depth([ratio or 0.0 for ratio in ablation.ratios])), 2),
        "begun": record.environment().get("begun"),
    }
    if (trained := trained_wiring(one, record.metrics())) is not None:
        found["trained"] = {
            "effective_depth": round(trained.wiring.effective_depth(), 2),
            "outside": trained.outside,
            "largest_modulus": round(trained.largest_modulus, 4),
            "growth": float(f"{trained.growth:.4g}"),
        }
    return found


def measured(store: Store, one: RunSpec) -> dict[str, Any]:
    """Measure a run that has ended under noise and with blocks switched off, and describe it."""
    record = store.get(one)
    if record is not None and not (record.folder / "ablation.json").exists():
        measure([record], find_device("cpu"), None, Lines(quiet=True).report)
    return outcome(store, one)


def main(*arguments: str) -> None:
    match arguments:
        case ("predict",):
            write_once(HERE / "predictions.json", predictions())
        case ("train", store):
            command = "python -m tools.mosaic_wirings train STORE"
            train_all(Store(Path(store)), specs(), HERE / "runs.json", command, measured)
        case _:
            raise SystemExit(__doc__)


if __name__ == "__main__":
    main(*sys.argv[1:])
