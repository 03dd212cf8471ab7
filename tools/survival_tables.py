"""Numbers about blocks that survive training: the threshold, where it is wrong, and small betas."""

import json
from collections.abc import Callable
from decimal import Decimal
from functools import cache
from math import inf
from pathlib import Path
from statistics import median

import numpy as np

from tools.fit_law import RUNS, trained_blocks
from tools.markdown_tables import ROOT, table
from zerosnet.numerics import Scheme, forecast, load_law
from zerosnet.numerics.wirings.survival import ALIVE, BAND
from zerosnet.training import RunSpec

REGISTERED = ROOT / "results/predictions/threshold-betas.json"
"""What was predicted for networks that were chosen close to the threshold."""

OPTIMUM, NOTHING = "1/3,5/9,1/9", "1/1000000"
"""The optimum's alphas, and a beta with which no multistep block adds anything."""


@cache
def _judged(close: bool) -> str:
    """Count the blocks that the threshold misjudges, far from it or within the band around it."""
    found, least = trained_blocks(), load_law().survival.least
    chosen = [
        (start >= least) != alive
        for start, alive in zip(found.start, found.alive)
        if (least / BAND < start < least * BAND) is close
    ]
    return f"{sum(chosen)} of {len(chosen):,}"


def _judged_before() -> str:
    """Count the blocks of the networks that were predicted at the threshold, by the threshold of that day."""
    file = json.loads(REGISTERED.read_text())
    least = file["laws"]["parts"]["survival"]["least"]
    found = trained_blocks(only=[one["run"] for one in file["predictions"]])
    wrong = sum((start >= least) != alive for start, alive in zip(found.start, found.alive))
    return f"{wrong} of {len(found.start)}"


def _registered_law(name: str) -> float:
    """Read a fact of the law as it was registered for the networks at the threshold."""
    return float(json.loads(REGISTERED.read_text())["laws"]["parts"][name])


def _shares_from(low: float, high: float = inf) -> str:
    shares = trained_blocks().share
    return f"{100 * sum(low <= share < high for share in shares) / len(shares):.0f}"


def small_betas(least: float = 0.01, most: float = 0.07) -> str:
    """List small betas with the optimum's alphas at 56 layers: accuracy, seeds, and when training accuracy rises."""
    known = [one for one in load_law().networks if one.plain and one.blocks == (9, 9, 9)]
    betas = {Scheme.parse(one.scheme).betas[0]: one for one in known if one.scheme.startswith(f"{OPTIMUM};")}
    chosen = sorted((beta for beta in betas if least < beta < most), reverse=True)
    rows = [[f"{float(x):.3f}", f"{betas[x].accuracy:.1f}", str(betas[x].runs), _leaves(str(x))] for x in chosen]
    return table(["Beta", "Accuracy, %", "Seeds", "Training accuracy rises"], rows)


def at_the_threshold() -> str:
    """List the networks chosen close to the threshold: blocks expected to survive, blocks alive, accuracies."""
    rows = []
    for one in json.loads(REGISTERED.read_text())["predictions"]:
        folder = RUNS / one["run"]
        result = json.loads((folder / "result.json").read_text())
        alive = np.array(json.loads((folder / "ablation.json").read_text())["ratios"]) >= ALIVE
        found = [str(int(stage.sum())) for stage in np.split(alive, len(one["survivors"]))]
        accuracies = (100 * result[name] for name in ("best_test_accuracy", "test_accuracy"))
        expected = ", ".join(map(str, one["survivors"]))
        predicted = f"{one['predicted_accuracy']['parts']:.1f}"
        rows.append([f"`{one['scheme']}`", expected, ", ".join(found), predicted, *(f"{x:.1f}" for x in accuracies)])
    heads = ["Scheme", "Expected to survive, by stage", "Alive", "Predicted, %", "Best epoch, %", "Last epoch, %"]
    return table(heads, rows)


@cache
def _folders(scheme: str) -> tuple[Path, ...]:
    """Find the runs of a scheme at 56 layers, as all others are trained, in the order of their ids."""
    found = []
    for path in sorted(RUNS.glob("zerosnet56-cifar10-paper-*/spec.json")):
        spec = RunSpec.from_json(json.loads(path.read_text()))
        usual = not spec.changes and not spec.rewired and spec.precision is None
        if usual and spec.scheme is not None and str(spec.scheme) == scheme:
            found.append(path.parent)
    return tuple(found)


def _training(beta: str) -> np.ndarray:
    """Training accuracy of the optimum's alphas with a beta, in percent: a row per seed, a column per epoch."""
    journals = [(folder / "metrics.jsonl").read_text().splitlines() for folder in _folders(f"{OPTIMUM};{beta}")]
    return np.array([[100 * json.loads(line)["train_accuracy"] for line in lines] for lines in journals])


def _leaves(beta: str) -> str:
    """Name the epoch from which accuracy stays more than a point above that of a network without multistep blocks."""
    apart = _training(beta).mean(axis=0) - _training(NOTHING).mean(axis=0)
    together = np.flatnonzero(apart <= 1)
    first = int(together[-1]) + 2 if len(together) else 1
    return f"at epoch {first}" if first <= len(apart) else "never"


def _shrinks() -> str:
    """Write the median share of the last nine blocks before and after training, for Euler's scheme and a small beta."""
    scheme = "1,0,0;2/125"
    after = json.loads((_folders(scheme)[0] / "ablation.json").read_text())["ratios"]
    first, last = (100 * median(shares[-9:]) for shares in (forecast(scheme).shares, after))
    return f"from {first:.1f} % to {Decimal(f'{last:.0e}'):f} %"


TABLES: dict[str, Callable[[], str]] = {
    "survival, at the threshold": at_the_threshold,
    "survival, small betas": small_betas,
}
VALUES: dict[str, Callable[[], str]] = {
    "survival, threshold": lambda: f"{load_law().survival.least:.3f}",
    "survival, threshold %": lambda: f"{100 * load_law().survival.least:.1f}",
    "survival, blocks": lambda: f"{load_law().survival.blocks:,}",
    "survival, far": lambda: _judged(close=False),
    "survival, close": lambda: _judged(close=True),
    "survival, predicted": _judged_before,
    "survival, large shares %": lambda: _shares_from(0.1),
    "survival, tiny shares %": lambda: _shares_from(0, 0.001),
    "law before the threshold, error": lambda: f"{_registered_law('leave_one_out_rmse'):.2f}",
    "law error": lambda: f"{load_law().rmse:.2f}",
    "a small beta shrinks": _shrinks,
}
