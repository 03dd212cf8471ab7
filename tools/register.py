"""Write down what the laws predict for the runs of a sweep file, before they are trained.

    python -m tools.register results/sweeps/NAME.json results/predictions/NAME.json

Predictions of the best test accuracy in percent, all fitted to the CIFAR-10 runs in results/runs:

parts, contributions, shares   the accuracy law by its three measures (`zerosnet.numerics.load_law`)
root_condition                 mean accuracy of the zero-stable schemes, or of the others
constant                       mean accuracy of all networks

If the law does not cover a run's network, only the last two predict it.

A run with `init_growth` has two readings. Its shares are those at initialisation, where it is the same function as
with `beta_growth`; `predicted_accuracy` follows from them. `predicted_accuracy_by_coefficients` follows from the
coefficients alone, as if the initial weights did not matter.
"""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from statistics import mean
from typing import Any

from zerosnet.environment import environment, today
from zerosnet.experiments import wiring_of_run
from zerosnet.numerics import AccuracyLaw, Scheme, is_zero_stable, load_law
from zerosnet.training import RunSpec, read_sweep

MEASURES = ("parts", "contributions", "shares")


def entry(spec: RunSpec) -> dict[str, Any]:
    """Collect the predictions for one run."""
    wiring, networks = wiring_of_run(spec), load_law().networks
    predicted: dict[str, float | None] = {"constant": mean(one.accuracy for one in networks)}
    found: dict[str, Any] = {"run": spec.id, "model": spec.model, **_coefficients(spec), "seed": spec.seed}
    scheme = spec.scheme if wiring is None else wiring.schemes()[-1]  # the alphas are the same in all blocks
    if scheme is not None:
        stable = bool(is_zero_stable(scheme))
        alike = [one.accuracy for one in networks if bool(is_zero_stable(Scheme.parse(one.scheme))) == stable]
        predicted["root_condition"] = mean(alike)
        found["zero_stable"] = stable
    if wiring is not None:
        laws = {measure: load_law(measure) for measure in MEASURES}
        predicted |= {name: law.predict(wiring, spec.dataset).accuracy for name, law in laws.items()}
        interval = laws["parts"].predict(wiring, spec.dataset).interval
        found |= {
            "effective_depth": round(wiring.effective_depth(), 2),
            "effective_parameters": round(laws["parts"].quantity(wiring), 2),
            "interval": None if interval is None else [round(end, 2) for end in interval],
            "shares": [float(f"{share:.3g}") for share in wiring.shares()],
        }
    found["predicted_accuracy"] = {name: None if x is None else round(x, 2) for name, x in predicted.items()}
    if spec.init_growth is not None:
        found["predicted_accuracy_by_coefficients"] = entry(replace(spec, init_growth=None))["predicted_accuracy"]
    return found


def _coefficients(spec: RunSpec) -> dict[str, Any]:
    given = {name: getattr(spec, name) for name in ("scheme", "beta_growth", "init_growth", "stage_change")}
    words: dict[str, Any] = {name: str(value) for name, value in given.items() if value is not None}
    if spec.block_schemes is not None:
        words["block_schemes"] = [str(scheme) for scheme in spec.block_schemes]
    return words


def _facts(law: AccuracyLaw) -> dict[str, Any]:
    return {name: value for name, value in law.to_json().items() if name != "networks"}


def main(sweep: str, output: str) -> None:
    target = Path(output)
    if target.exists():
        sys.exit(f"{target} exists; predictions are never edited")
    commit = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
    record = {
        "command": f"python -m tools.register {sweep} {output}",
        "date": today(),
        "parent_commit": commit,
        "environment": environment(),
        "measure": "best test accuracy, %",
        "laws": {measure: _facts(load_law(measure)) for measure in MEASURES},
        "predictions": [entry(spec) for spec in read_sweep(sweep)],
    }
    target.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
