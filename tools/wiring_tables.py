"""The table of residual wirings under one protocol: what was predicted, what was measured, what training did."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tools.markdown_tables import ROOT, table
from tools.run_tables import evidence
from zerosnet.experiments import Evidence, RunEvidence, trained_wiring
from zerosnet.models import configure
from zerosnet.numerics import effective_depth
from zerosnet.training import RunSpec, read_sweep

SWEEPS = tuple(ROOT / f"results/sweeps/{name}.json" for name in ("wirings", "wirings-110"))
PREDICTIONS = tuple(ROOT / f"results/predictions/{name}.json" for name in ("wirings", "pending", "wirings-110"))
"""Files of predictions; the newest that predicts an accuracy counts."""
NOISE = "Gaussian 0.04"
NAMES = {
    "preresnet{}": "PreResNet: Euler's scheme",
    "zerosnet{}_opt": "ZeroSNet-Opt",
    "lmresnet{}": "LM-ResNet, trained k",
    "zerosnet{}_simplex": "simplex, trained",
    "preresnet{}_gains": "gains, trained",
    "preresnet{}_scaled": "branch over the square root of n",
    "preresnet{}_x0": "gains and first state, trained",
    "streams{}": "4 streams, free",
    "streams{}_sinkhorn": "4 streams, doubly stochastic",
}
OLD = tuple(NAMES)[:3]
"""Networks that other tables have, too: without one of the others there is no comparison."""

NOT_TRAINED = "Not trained yet: predictions are on record in `results/predictions/wirings.json`."
_HEADS = (
    "Layers",
    "Wiring",
    "Best epoch, %",
    "Predicted, %",
    f"{NOISE}, %",
    "Depth predicted",
    "by trained coefficients",
    "measured",
    "Used depth",
    "Blocks outside",
    "Largest modulus",
    "Growth of products",
)
LEGEND = """\
*Blocks outside* are those whose own matrix has an eigenvalue outside the unit circle: each by itself would not be
zero-stable. Free gains and free streams start on the circle, so a step in any direction takes some of them across it;
whether that matters is what the growth of products shows. Weights of a simplex cannot leave the set. Doubly stochastic
matrices cannot either, but twenty rounds of Sinkhorn's iteration leave rows that add up to 1 nearly, not exactly."""


def comparison(found: Evidence, sweeps: Sequence[Path] = SWEEPS, predictions: Sequence[Path] = PREDICTIONS) -> str:
    """List every network of the sweeps, and explain its columns; networks not trained yet have predictions only.

    Sweeps of which only the old networks are trained are left out.
    """
    asked = [read_sweep(path) for path in sweeps]
    specs = [spec for each in asked if any(_is_new(found, spec) for spec in each) for spec in each]
    runs = {spec.id: found.sound.get(spec.id) for spec in specs}
    if not specs:
        return NOT_TRAINED
    known: dict[str, dict[str, Any]] = {}
    for path in predictions:
        for one in json.loads(path.read_text(encoding="utf-8"))["predictions"]:
            if one["run"] not in known or one.get("predicted_accuracy", {}).get("parts") is not None:
                known[one["run"]] = one
    rows = [_row(spec, runs[spec.id], known.get(spec.id, {})) for spec in specs]
    return f"{table(_HEADS, rows)}\n\n{LEGEND}"


def _is_new(found: Evidence, spec: RunSpec) -> bool:
    """Check if a run of a wiring that other tables do not have has ended."""
    run = found.sound.get(spec.id)
    return _kind(spec)[0] not in OLD and run is not None and run.record.result is not None


def _row(spec: RunSpec, run: RunEvidence | None, predicted: Mapping[str, Any]) -> list[str]:
    kind, layers = _kind(spec)
    accuracy = predicted.get("predicted_accuracy", {}).get("parts")
    depth = predicted.get("effective_depth")
    ours = [_number(accuracy, 1), _number(depth, 1)]
    result = None if run is None else run.record.result
    if run is None or result is None:
        return [str(layers), NAMES[kind], "not trained", ours[0], "", ours[1], "", "", "", "", "", ""]
    best = "diverged" if result.status == "diverged" else _number(_percent(result.best_test_accuracy), 2)
    trained = trained_wiring(spec, run.record.metrics())  # evidence has the numbers only
    ablation = run.ablation
    shares = None if ablation is None else [ratio or 0.0 for ratio in ablation.ratios]
    return [
        str(layers),
        NAMES[kind],
        best,
        ours[0],
        _number(_noisy(run), 1),
        ours[1],
        _without(spec) if trained is None else _number(trained.wiring.effective_depth(), 1),
        "" if shares is None else _number(float(effective_depth(shares)), 1),
        "" if ablation is None else f"{ablation.used_blocks} of {ablation.blocks}",
        "" if trained is None else f"{trained.outside} of {trained.blocks}",
        "" if trained is None else f"{trained.largest_modulus:.3f}",
        "" if trained is None else f"{trained.growth:.3g}",
    ]


def _without(spec: RunSpec) -> str:
    """Write why a run has no trained coefficients on record."""
    return "fixed" if configure(spec.model, **spec.network_options).law is None else "not kept"


def _kind(spec: RunSpec) -> tuple[str, int]:
    """Split a model's name into its kind and its layers."""
    name, layers, rest = re.split(r"(\d+)", spec.model, maxsplit=1)
    return f"{name}{{}}{rest}", int(layers)


def _noisy(run: RunEvidence) -> float | None:
    attack = run.attack("paper-noise")
    rows = {} if attack is None else {row.label: row.accuracy for row in attack.rows}
    return _percent(rows.get(NOISE))


def _percent(value: float | None) -> float | None:
    return None if value is None else 100 * value


def _number(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:.{digits}f}"


TABLES: dict[str, Callable[[], str]] = {"residual wirings": lambda: comparison(evidence())}
