"""Tables about the networks of 20 layers: accuracy, and what training made of their coefficients."""

import json
from collections.abc import Callable, Iterable

import numpy as np

from tools.markdown_tables import span, table
from tools.run_tables import best, last, of_model, told
from zerosnet.experiments import RunEvidence, pooled_difference, summarise

SHALLOW = {
    "zerosnet20_tra": "ZeroSNet-Tra",
    "preresnet20": "PreResNet",
    "zerosnet20_stable": "ZeroSNet-stable",
    "zerosnet20_opt": "ZeroSNet-Opt",
    "lmresnet20": "LM-ResNet",
}


def twenty_layers() -> str:
    """Compare the five networks of 20 layers, seed by seed."""
    every = {model: [best(run) for run in of_model(model)] for model in SHALLOW}
    rows = []
    for model, name in SHALLOW.items():
        runs = of_model(model)
        values = every[model]
        same = model == "preresnet20"
        against = "" if same else told(pooled_difference(values, every["preresnet20"], every.values()))
        rows.append((name, str(summarise(values)), str(summarise([last(run) for run in runs])), against))
    heads = ("20 layers, CIFAR-10", "Best epoch, %", "Last epoch, %", "Best epoch less PreResNet's")
    return table(heads, rows)


def coefficients() -> str:
    """List what training made of the coefficients, in all blocks but the last and in the last."""
    readings: dict[str, tuple[str, str, Callable[[list[float]], float]]] = {
        "zerosnet20_tra": ("λ", "(1/3, ∞) or (-∞, -1]", lambda alphas: 1 / (4 * alphas[2] - 1)),
        "zerosnet20_stable": ("largest parasitic modulus", "below 0.99, by construction", _modulus),
        "lmresnet20": ("k", "(-1, 1]", lambda alphas: alphas[1]),
    }
    rows = []
    for model, (what, region, reading) in readings.items():
        ended = [_coefficients(run, reading) for run in of_model(model)]
        before = [value for blocks in ended for value in blocks[:-1]]
        rows.append((SHALLOW[model], what, region, span(before), span(blocks[-1] for blocks in ended)))
    heads = ("20 layers", "Number", "Zero-stable if in", "At the end, all blocks but the last", "The last block")
    return table(heads, rows)


def _coefficients(run: RunEvidence, reading: Callable[[list[float]], float]) -> list[float]:
    """Read a number off every block that looks back, at the end of the last epoch."""
    lines = (run.record.folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    blocks = [[float(alpha) for alpha in block["alphas"]] for block in json.loads(lines[-1])["coefficients"]]
    return [reading(alphas) for alphas in blocks if len(alphas) > 1]


def _modulus(alphas: Iterable[float]) -> float:
    roots = np.roots([1.0, *(-alpha for alpha in alphas)])
    return float(max(map(abs, sorted(roots, key=lambda root: abs(root - 1))[1:])))


TABLES: dict[str, Callable[[], str]] = {"twenty layers": twenty_layers, "trained coefficients": coefficients}
