"""Write what the laws predict for the runs of a sweep file, before they are trained.

    python -m tools.register results/sweeps/NAME.json [MORE.json ...] results/predictions/NAME.json

Runs that results/runs has are left out: their accuracy is known. Shares are written if there is one sweep file.
Predictions are of the best test accuracy in percent, all fitted to the CIFAR-10 runs with recipe `paper` in
results/runs:

parts, contributions, shares   the accuracy law by its three measures (`zerosnet.numerics.load_law`)
count                          error = a n^-p, n the number of blocks with a share of at least 10 %
root_condition                 mean accuracy of the zero-stable schemes, or of the others
constant                       mean accuracy of all networks

Trained coefficients stand for their start values, which the entry notes: no law predicts what training makes of them.
Several streams have no scheme, so the root condition does not apply to them. `trained_before` marks runs that were
there already: theirs are no predictions.

If the law does not cover a run's network, only the last two predict it. `not_calibrated` names what else the law was
not fitted on. With another data set no accuracy is predicted, but `order` (1 is the best network of the sweep by
effective parameters; equal wirings share a place) and `relative_error`, the law's error divided by that of the sweep's
best network. With another recipe the accuracies are those of recipe `paper`: the laws see no recipe, so each predicts
that the change leaves the accuracy as it is. Recipe `screen` lowers all accuracies, so only their order is predicted.
The same holds for recipes of other images (`noise`, `pgd-madry`, `pgd-paper`). For these `place` is predicted too:
where a network's accuracy, clean or under attack, lies between those of the sweep's worst (0) and best (1). By the law
it is where its accuracy with recipe `paper` lies; by the root condition it is 1 for zero-stable schemes, 0 for others.

A run with `init_growth` has two readings. Its shares are those at initialisation, where it is the same function as
with `beta_growth`; `predicted_accuracy` follows from them. `predicted_accuracy_by_coefficients` follows from the
coefficients alone, as if the initial weights did not matter.

A network without normalisation has no law. `root_condition_order` puts zero-stable schemes first and the others by
their largest root; `order` is that of the same coefficients with normalisation.
"""

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from math import exp, log
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np

from zerosnet.environment import environment, today
from zerosnet.experiments import wiring_of_run
from zerosnet.models import configure
from zerosnet.numerics import AccuracyLaw, Scheme, Wiring, is_zero_stable, load_law
from zerosnet.numerics.wirings.companion import largest_root
from zerosnet.training import RunSpec, read_sweep

MEASURES = ("parts", "contributions", "shares")
NO_NORM = "_nonorm"
RUNS = Path(__file__).parents[1] / "results" / "runs"
SCREEN = "screen"
OTHER_IMAGES = ("noise", "pgd-madry", "pgd-paper")


def entry(spec: RunSpec) -> dict[str, Any]:
    """Collect the predictions for one run."""
    wiring, networks = wiring_of_run(spec, at_start=True), load_law().networks
    found: dict[str, Any] = {"run": spec.id, "model": spec.model, "dataset": spec.dataset, **_coefficients(spec)}
    found["seed"] = spec.seed
    if (RUNS / spec.id / "result.json").exists():
        found["trained_before"] = True
    predicted: dict[str, float | None] = {"constant": mean(one.accuracy for one in networks)}
    if wiring is not None and _is_trained(spec):
        found["coefficients"] = "start values of trained ones"
    scheme = spec.scheme if wiring is None or not wiring.alphas else wiring.schemes()[-1]  # all have the same alphas
    if scheme is not None:
        stable = bool(is_zero_stable(scheme))
        alike = [one.accuracy for one in networks if bool(is_zero_stable(Scheme.parse(one.scheme))) == stable]
        predicted["root_condition"] = mean(alike)
        found |= {"zero_stable": stable, "largest_root": round(largest_root(scheme), 4)}
    if (why_not := not_calibrated(spec)) is not None:
        found["not_calibrated"] = why_not
    if wiring is not None:
        laws = {measure: load_law(measure) for measure in MEASURES}
        predicted |= {name: law.predict(wiring).accuracy for name, law in laws.items()}
        predicted["count"] = by_count(wiring)
        interval = laws["parts"].predict(wiring).interval
        found |= {
            "effective_depth": round(wiring.effective_depth(), 2),
            "effective_parameters": round(laws["parts"].quantity(wiring), 2),
            "blocks_above_10_percent": int(wiring.blocks_above()),
            "survivors": survivors(wiring),
            "interval": None if interval is None or why_not else [round(end, 2) for end in interval],
            "shares": [float(f"{share:.3g}") for share in wiring.shares()],
        }
    if comparable(spec):
        found["predicted_accuracy"] = {name: None if x is None else round(x, 2) for name, x in predicted.items()}
        if spec.init_growth is not None:
            found["predicted_accuracy_by_coefficients"] = entry(replace(spec, init_growth=None))["predicted_accuracy"]
    return found


def survivors(wiring: Wiring) -> list[int]:
    """Count the blocks of every stage that survive training, by the law."""
    counted = np.split(load_law().survivors(wiring), np.cumsum(wiring.counts)[:-1])
    return [int(stage.sum()) for stage in counted]


def _is_trained(spec: RunSpec) -> bool:
    return configure(spec.model, **spec.network_options).law is not None


def comparable(spec: RunSpec) -> bool:
    """Check if accuracies of CIFAR-10 networks of the usual length mean something for a run."""
    usual = spec.dataset == "cifar10" and spec.recipe.name not in (SCREEN, *OTHER_IMAGES)
    return usual and NO_NORM not in spec.model and spec.validation is None


def not_calibrated(spec: RunSpec) -> str | None:
    """Name what the law was not fitted on, if there is something."""
    law = load_law()
    if spec.dataset != law.dataset:
        return f"fitted on {law.dataset}, not on {spec.dataset}: order and relative error only"
    if NO_NORM in spec.model:
        return "fitted on networks with normalisation: root condition and order only"
    if spec.recipe.name == SCREEN:
        return f"fitted on recipe {law.recipe}, not on {SCREEN}: order only"
    if spec.recipe.name != law.recipe or spec.changes:
        return f"fitted on recipe {law.recipe}, unchanged: {spec.changes}"
    if spec.precision is not None:
        return f"fitted on runs in the standard arithmetic, not {spec.precision} by name"
    return None


@cache
def _count_line() -> tuple[float, float]:
    """Fit log(error) = log(a) - p log(n) to the networks of the law."""
    networks = load_law().networks
    counts, errors = ([one.wiring.blocks_above() for one in networks], [100 - one.accuracy for one in networks])
    slope, log_a = np.polyfit(np.log(np.maximum(counts, 1)), np.log(errors), 1)
    return float(log_a), float(slope)


def by_count(wiring: Wiring) -> float:
    log_a, slope = _count_line()
    return 100 - exp(log_a + slope * log(max(1, int(wiring.blocks_above()))))


def ordered(specs: Sequence[RunSpec], entries: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Add each network's place in its sweep, by the law and, without normalisation, by the root condition."""
    twins = [wiring_of_run(replace(spec, model=spec.model.replace(NO_NORM, "")), at_start=True) for spec in specs]
    law = load_law()
    sizes = {i: round(law.quantity(wiring), 6) for i, wiring in enumerate(twins) if wiring is not None}
    places = sorted(set(sizes.values()), reverse=True)
    found = [dict(one) for one in entries]
    for i, size in sizes.items():
        found[i]["order"] = 1 + places.index(size)
        if specs[i].dataset != law.dataset:
            found[i]["relative_error"] = round(law.error_of(size) / law.error_of(places[0]), 3)
    found = _placed(specs, found, {i: 100 - law.error_of(size) for i, size in sizes.items()})
    unstable = {one["scheme"]: 0 if one["zero_stable"] else one["largest_root"] for one in entries if "scheme" in one}
    for spec, one in zip(specs, found):
        if NO_NORM in spec.model:
            one["root_condition_order"] = 1 + sorted(set(unstable.values())).index(unstable[one["scheme"]])
    return found


def _placed(
    specs: Sequence[RunSpec], entries: list[dict[str, Any]], accuracies: dict[int, float]
) -> list[dict[str, Any]]:
    """Add the place between the worst and the best network to runs with recipes of other images."""
    known = {i: accuracies[i] for i, spec in enumerate(specs) if spec.recipe.name in OTHER_IMAGES and i in accuracies}
    low, high = min(known.values(), default=0.0), max(known.values(), default=0.0)
    for i, accuracy in known.items():
        by_law = 1.0 if high == low else (accuracy - low) / (high - low)
        entries[i]["place"] = {"parts": round(by_law, 3), "root_condition": float(entries[i]["zero_stable"])}
    return entries


def _coefficients(spec: RunSpec) -> dict[str, Any]:
    given = {name: getattr(spec, name) for name in ("scheme", "beta_growth", "init_growth", "stage_change")}
    words: dict[str, Any] = {name: str(value) for name, value in given.items() if value is not None}
    if spec.block_schemes is not None:
        words["block_schemes"] = [str(scheme) for scheme in spec.block_schemes]
    words["recipe"] = {"name": spec.recipe.name, **spec.changes}
    return words


def _facts(law: AccuracyLaw) -> dict[str, Any]:
    return {name: value for name, value in law.to_json().items() if name != "networks"}


def check_new(target: Path) -> None:
    """Leave the program if a file of predictions exists."""
    if target.exists():
        sys.exit(f"{target} exists; predictions are never edited")


def write(target: Path, command: str, **facts: Any) -> None:
    """Write a file of predictions, with date, commit and environment."""
    commit = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
    made = {"date": today(), "parent_commit": commit, "environment": environment()}
    target.write_text(json.dumps({"command": f"python -m tools.{command}", **made, **facts}, indent=1) + "\n")


def main(*files: str) -> None:
    *sweeps, output = files
    check_new(Path(output))
    predictions = []
    for sweep in sweeps:
        specs = [spec for spec in read_sweep(sweep) if not (RUNS / spec.id / "result.json").exists()]
        entries = [{k: v for k, v in entry(spec).items() if k != "shares" or len(sweeps) == 1} for spec in specs]
        predictions += ordered(specs, entries)
    laws = {measure: _facts(load_law(measure)) for measure in MEASURES}
    command = f"register {' '.join(files)}"
    write(Path(output), command, measure="best test accuracy, %", laws=laws, predictions=predictions)


if __name__ == "__main__":
    main(*sys.argv[1:])
