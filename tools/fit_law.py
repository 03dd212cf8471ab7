"""Fit the accuracy law to the records of trained networks; the constants go to src/zerosnet/numerics/wirings/law.json.

    python -m tools.fit_law

Networks on CIFAR-10 with recipe `paper` count, none of its settings changed, in the standard arithmetic, trained on all
images, with normalisation and with coefficients that are not trained. LM-ResNet, which trains its k, stands for
k = -1/20, the mean of its start values. Runs of one wiring count once, by their mean.
"""

import json
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from zerosnet.numerics import Scheme
from zerosnet.numerics.wirings.fit import Point, fit_law
from zerosnet.numerics.wirings.law import LAW_FILE, MEASURES
from zerosnet.numerics.wirings.wiring import Wiring
from zerosnet.training import RunSpec

RUNS = Path(__file__).parents[1] / "results" / "runs"
EPOCHS = {"best": "best_test_accuracy", "last": "test_accuracy"}
NAMED = {
    "zerosnet_opt": (Scheme.parse("zerosnet(-9/5)"), "project-each"),
    "preresnet": (Scheme([1], [1]), "project-each"),
    "lmresnet": (Scheme(["21/20", "-1/20"], [1]), "restart"),
}
BASIC_LAYERS = (20, 32, 44, 56, 110)


def read_points(epoch: str, dataset: str = "cifar10", recipe: str = "paper") -> list[Point]:
    """The trained networks of a store, one point per wiring."""
    found = defaultdict(list)
    for path in sorted(RUNS.glob("*/spec.json")):
        spec, result = json.loads(path.read_text()), path.with_name("result.json")
        key = _wiring_of(spec)
        if key is not None and result.exists() and _is_usual(spec, dataset, recipe):
            found[key].append(100 * json.loads(result.read_text())[EPOCHS[epoch]])
    points = []
    for (text, blocks, change, growth), values in sorted(found.items(), key=str):
        wiring = Wiring.of(Scheme.parse(text), blocks, change, growth)
        points.append(Point(wiring, float(np.mean(values)), text, change, len(values)))
    return points


def _is_usual(spec: dict[str, Any], dataset: str, recipe: str) -> bool:
    """Tell whether a run is on these data, by this recipe as it is in the book, in the standard arithmetic."""
    if (spec["dataset"], spec["recipe"]["name"]) != (dataset, recipe) or {"precision", "validation"} & set(spec):
        return False
    return not RunSpec.from_json(spec).changes


def _wiring_of(spec: dict[str, Any]) -> tuple[str, tuple[int, ...], str, str] | None:
    match = re.fullmatch(r"([a-z]+)(\d+)(_[a-z]+)?", spec["model"])
    if match is None or int(match[2]) not in BASIC_LAYERS or {"block_schemes", "init_growth"} & set(spec):
        return None
    n = (int(match[2]) - 2) // 6
    name = match[1] + (match[3] or "")
    if name not in (*NAMED, "zerosnet"):
        return None
    scheme, change = NAMED.get(name, (None, "project-each"))
    scheme = Scheme.from_json(spec["scheme"]) if spec.get("scheme") else scheme
    if scheme is None:
        return None
    return str(scheme), (n, n, n), spec.get("stage_change") or change, str(spec.get("beta_growth") or 1)


def write() -> None:
    laws = [fit_law(read_points(epoch), measure, epoch=epoch).to_json() for measure in MEASURES for epoch in EPOCHS]
    LAW_FILE.write_text(json.dumps({"written_by": "python -m tools.fit_law", "laws": laws}, indent=1) + "\n")
    for law in laws:
        constants = ", ".join(f"{name} {law[name]:.4g}" for name in ("a", "tau", "p"))
        print(f"{law['measure']:14} {law['epoch']}: {constants}; leave-one-out {law['leave_one_out_rmse']:.2f} points")


if __name__ == "__main__":
    write()
