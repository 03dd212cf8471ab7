"""Write what the laws predict under noise for the runs of sweep files, before they are trained.

    python -m tools.register_noise results/predictions/NAME.json results/sweeps/A.json results/sweeps/B.json

Predictions of the accuracy of the last epoch under five noises of protocol `paper-noise`, in percent:

parts            error = a D^-p, two constants per noise, fitted to the networks in results/runs (`fit_noise_law`)
root_condition   mean accuracy of the zero-stable schemes, or of the others
constant         mean accuracy of all networks

A run with a changed recipe, such as fewer epochs, is outside of what these were fitted to. Of it the relative loss is
predicted, in percent of its clean accuracy: by depth and by the root condition, each alone (`explain_loss`), and by the
clean accuracy itself, as intercept and slope of a straight line in percent.

Runs that have been trained are left out, and seeds share their prediction. A run with `init_growth` is read at
initialisation, as in `tools.register`.
"""

import sys
from math import log
from pathlib import Path
from typing import Any

from tools import register
from tools.run_tables import RUNS, evidence
from zerosnet.experiments import (
    DEPTH,
    NOISES,
    ROOTS,
    NoiseLaw,
    NoisyNetwork,
    explain_loss,
    fit_noise_law,
    noisy_networks,
    regress,
    wiring_of_run,
)
from zerosnet.numerics import load_law
from zerosnet.training import RunSpec, read_sweep

CLEAN = ("interval", "shares", "predicted_accuracy", "predicted_accuracy_by_coefficients")  # of the law without noise


def entry(spec: RunSpec, laws: list[NoiseLaw]) -> dict[str, Any] | None:
    """Collect the predictions for one run; None if the laws do not cover its network."""
    known = _known(spec)
    if known is None:
        return None
    facts, parameters = known
    predicted = {
        law.noise: {
            **{name: round(value, 2) for name, value in law.predict(parameters, facts["zero_stable"]).items()},
            "interval": [round(end, 2) for end in law.interval(parameters)],
        }
        for law in laws
    }
    return facts | {"predicted_accuracy": predicted}


def loss_entry(spec: RunSpec, networks: list[NoisyNetwork]) -> dict[str, Any] | None:
    """Collect the predictions of the relative loss for a run with a changed recipe; None as for `entry`."""
    known = _known(spec)
    if known is None:
        return None
    facts, parameters = known
    predicted = {}
    for noise in NOISES:
        depth, roots = (explain_loss(networks, noise, [by]) for by in (DEPTH, ROOTS))
        clean = regress([one.loss(noise) for one in networks], {"clean": [one.clean for one in networks]})
        by_depth = depth.intercept + depth[DEPTH].value * log(parameters)
        by_roots = roots.intercept + roots[ROOTS].value * facts["zero_stable"]
        predicted[noise] = {
            "parts": round(by_depth, 2),
            "root_condition": round(by_roots, 2),
            "clean_accuracy_line": [round(clean.intercept, 3), round(clean["clean"].value, 4)],
        }
    return {**facts, "changes": spec.changes, "predicted_loss": predicted}


def _known(spec: RunSpec) -> tuple[dict[str, Any], float] | None:
    """Return the facts of a run without predictions for clean images, and its effective parameters."""
    wiring = wiring_of_run(spec)
    if wiring is None:
        return None
    facts = {name: value for name, value in register.entry(spec).items() if name not in CLEAN}
    return facts, load_law().quantity(wiring)


def main(output: str, *sweeps: str) -> None:
    register.check_new(Path(output))
    networks = noisy_networks(evidence())
    laws = [fit_noise_law(networks, noise) for noise in NOISES]
    specs = [spec for sweep in sweeps for spec in read_sweep(sweep) if not (RUNS / spec.id).exists()]
    made = [loss_entry(spec, networks) if spec.changes else entry(spec, laws) for spec in specs]
    register.write(
        Path(output),
        f"register_noise {output} {' '.join(sweeps)}",
        measure="accuracy of the last epoch under noise (protocol paper-noise), %",
        laws={law.noise: {k: v for k, v in law.to_json().items() if k != "noise"} for law in laws},
        predictions=[found for found in made if found is not None],
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
