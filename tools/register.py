"""Write down what several laws predict for the runs of a sweep file, before they are trained.

    python tools/register.py results/sweeps/sign-pairs.json results/predictions/sign-pairs.json

Five predictions per run, all fitted to the 56-layer CIFAR-10 runs in results/runs (best test epoch, mean over seeds):

effective_parameters   error = a D^-p with D = sum_n 4^stage(n) s_n / (s_n + tau); the constants are fixed below
count                  error = a n^-p with n the number of blocks whose share is at least 10 %; constants fixed below
root_condition         mean accuracy of the zero-stable schemes, or of the others
modulus                a straight line in the largest modulus of a parasitic root
constant               mean accuracy of all schemes

The share s_n of block n is rms(beta f_n) / rms(y_{n+1}) at initialisation, from second moments: f_n has second moment 1
and is uncorrelated with the state, the stem has 0.375, start-up blocks have beta 1, and independent projections at a
stage change remove the cross moments of the states.
"""

import json
import subprocess
import sys
from collections import defaultdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from zerosnet.numerics import Scheme, root_condition
from zerosnet.training import RunSpec, read_sweep

BLOCKS = (9, 9, 9)  # 56 layers
STEM = 0.375
PARAMETERS_LAW = {"a": 30.8, "tau": 0.074, "p": 0.30}
COUNT_LAW = {"a": 38.0, "p": 0.534, "least_share": 0.1}


def shares(scheme: Scheme, blocks: tuple[int, ...] = BLOCKS) -> np.ndarray:
    """Share of every block of the network of a scheme, at initialisation."""
    alphas, beta, steps = np.array(scheme.alphas, float), float(scheme.betas[0]), len(scheme.alphas)
    moments = np.zeros((steps, steps))
    moments[0, 0] = STEM
    found, changes = [], set(np.cumsum(blocks)[:-1].tolist())
    for block in range(sum(blocks)):
        if block in changes:
            moments = np.diag(np.diag(moments))
        start_up = block < steps - 1
        row, gain = (np.eye(steps)[0], 1.0) if start_up else (alphas, beta)
        advance = np.vstack([row, np.eye(steps)[:-1]])
        moments = advance @ moments @ advance.T
        moments[0, 0] += gain**2
        found.append(abs(gain) / np.sqrt(moments[0, 0]))
    return np.array(found)


def effective_parameters(scheme: Scheme) -> float:
    s, weights = shares(scheme), np.repeat(4.0 ** np.arange(len(BLOCKS)), BLOCKS)
    return float((weights * s / (s + PARAMETERS_LAW["tau"])).sum())


def parasitic_modulus(scheme: Scheme) -> float:
    return max(map(abs, root_condition(scheme).parasitic_roots), default=0.0)


def measured(store: Path) -> dict[Scheme, float]:
    """Best test accuracy in percent per scheme of 56 layers on CIFAR-10, mean over seeds."""
    found = defaultdict(list)
    for path in sorted(store.glob("zerosnet56*-cifar10-paper-*/spec.json")):
        spec, result = RunSpec.from_json(json.loads(path.read_text())), path.with_name("result.json")
        scheme = spec.scheme or Scheme.parse("zerosnet(-9/5)")
        if result.exists():
            found[scheme].append(100 * json.loads(result.read_text())["best_test_accuracy"])
    return {scheme: float(np.mean(values)) for scheme, values in found.items()}


def predictions(scheme: Scheme, known: dict[Scheme, float]) -> dict[str, float]:
    """Predicted best test accuracy in percent, per law."""
    count = int((shares(scheme) >= COUNT_LAW["least_share"]).sum())
    stable = root_condition(scheme).zero_stable
    alike = [accuracy for other, accuracy in known.items() if root_condition(other).zero_stable == stable]
    slope, base = np.polyfit([parasitic_modulus(other) for other in known], list(known.values()), 1)
    found = {
        "effective_parameters": 100 - PARAMETERS_LAW["a"] * effective_parameters(scheme) ** -PARAMETERS_LAW["p"],
        "count": 100 - COUNT_LAW["a"] * max(count, 1) ** -COUNT_LAW["p"],
        "root_condition": float(np.mean(alike)),
        "modulus": base + slope * parasitic_modulus(scheme),
        "constant": float(np.mean(list(known.values()))),
    }
    return {name: round(value, 2) for name, value in found.items()}


def entry(spec: RunSpec, known: dict[Scheme, float]) -> dict[str, Any]:
    assert spec.scheme is not None, f"{spec.id} has no scheme of its own"
    return {
        "run": spec.id,
        "scheme": str(spec.scheme),
        "seed": spec.seed,
        "zero_stable": root_condition(spec.scheme).zero_stable,
        "parasitic_modulus": round(parasitic_modulus(spec.scheme), 4),
        "shares": [float(f"{s:.4g}") for s in shares(spec.scheme)],
        "effective_parameters": round(effective_parameters(spec.scheme), 2),
        "blocks_of_10_percent": int((shares(spec.scheme) >= COUNT_LAW["least_share"]).sum()),
        "predicted_accuracy": predictions(spec.scheme, known),
    }


def main(sweep: str, output: str) -> None:
    target = Path(output)
    if target.exists():
        sys.exit(f"{target} exists; predictions are never edited")
    known = measured(Path("results/runs"))
    commit = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
    record = {
        "command": f"python tools/register.py {sweep} {output}",
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "parent_commit": commit,
        "measure": "best test accuracy of 160 epochs, CIFAR-10, recipe paper, %",
        "laws": {"effective_parameters": PARAMETERS_LAW, "count": COUNT_LAW, "fitted_on": f"{len(known)} schemes"},
        "predictions": [entry(spec, known) for spec in read_sweep(sweep)],
    }
    target.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
