"""The exact command that makes a number again, and the facts about a run that the card of its network shows."""

import json
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from zerosnet import files
from zerosnet.data import SCALINGS, image_size, source
from zerosnet.errors import InputError
from zerosnet.experiments import Experiment, RunEvidence, forecast_of_run, prediction_of_run
from zerosnet.numerics import Scheme
from zerosnet.training import RECIPES, RunRecord, RunSpec, recipe

_OPTIONS = {"epochs": "--epochs", "batch": "--batch", "lr": "--lr"}
"""Settings of a recipe that `zerosnet train` has an option for."""
_METRICS = {
    "test_accuracy": "test, last epoch",
    "best_test_accuracy": "test, best epoch",
    "validation_accuracy": "validation, last epoch",
    "train_accuracy": "train, last epoch",
}


def reproduce_command(experiment: Experiment, scale: str) -> str:
    """`zerosnet reproduce ...` for a whole table at a scale, or what measures it instead."""
    if experiment.command:
        return experiment.command
    words = ["zerosnet", "reproduce", experiment.name, "--scale", scale]
    return shlex.join(words + _data(spec.dataset for spec in experiment.specs(scale)))


def train_command(spec: RunSpec, seeds: Sequence[int] = ()) -> str:
    """`zerosnet train ...` for a run, or for the same run with several seeds.

    A recipe or a scheme that the command line has no options for is given as a sweep file on standard input.
    """
    given = {name: setting for name, setting in spec.changes.items() if name in _OPTIONS}
    without = {name: setting for name, setting in given.items() if name != "lr"}
    given = without if _is_made_of(spec, without) else given  # a rate may follow from the batch
    chosen = seeds or (spec.seed,)
    if not _is_made_of(spec, given) or not _can_be_written(spec.scheme) or not _has_plain_wiring(spec):
        file = json.dumps([replace(spec, seed=seed).to_json() for seed in chosen])
        return f"{shlex.join(['zerosnet', 'sweep', '/dev/stdin', *_data([spec.dataset])])} <<< {shlex.quote(file)}"
    words = ["zerosnet", "train", spec.model, "--dataset", spec.dataset, "--recipe", spec.recipe.name]
    words += _data([spec.dataset])
    words += [] if spec.scheme is None else ["--scheme", str(spec.scheme)]
    for name, setting in given.items():
        words += [_OPTIONS[name], str(setting)]
    for name in ("precision", "stage_change", "beta_growth", "init_growth", "validation"):
        setting = getattr(spec, name)
        words += [] if setting is None else [f"--{name.replace('_', '-')}", str(setting)]
    for seed in chosen:
        words += ["--seed", str(seed)]
    return shlex.join(words)


def _is_made_of(spec: RunSpec, given: dict[str, Any]) -> bool:
    """Return True if these options make the run's recipe; ImageNet's learning rate follows from its batch."""
    name = spec.recipe.name
    return name in RECIPES and recipe(name, spec.dataset, spec.model, **given) == spec.recipe


def _has_plain_wiring(spec: RunSpec) -> bool:
    """Return True if the command line has options for the run's schemes per block: an exact growth, if any."""
    inexact = any(isinstance(growth, float) for growth in (spec.beta_growth, spec.init_growth))
    return spec.block_schemes is None and not inexact


def _can_be_written(scheme: Scheme | None) -> bool:
    """Return True if the command line reads a scheme's text as the same scheme: it takes 0.1 for an exact tenth."""
    if scheme is None:
        return True
    try:
        return Scheme.parse(str(scheme)).to_json() == scheme.to_json()
    except InputError:
        return False


def attack_command(runs: Sequence[RunEvidence], name: str) -> str:
    """`zerosnet attack ...` for what was measured of runs, named as in their folders: "paper-noise+images=500"."""
    protocol, *reduced = name.split("+")
    words = ["zerosnet", "attack", *(run.record.id for run in runs), "--protocol", protocol]
    for option in reduced:
        key, _, value = option.partition("=")
        for one in value.split(","):
            words += [f"--{key}", one.replace("of", "/")]
    return shlex.join(words + _data(run.record.spec.dataset for run in runs))


def _data(datasets: Iterable[str]) -> list[str]:
    """The option for the folder of the files, if one of the data sets has some."""
    return ["--data", "DIR"] if any(not source(name).embedded for name in datasets) else []


def _prediction(record: RunRecord) -> dict[str, Any] | None:
    """What was known of a run's network before its training, and the used depth if it was measured."""
    found = forecast_of_run(record.spec)
    if found is None:
        return None
    predicted = prediction_of_run(record.spec)
    ablation = record.folder / "ablation.json"
    return {
        "effective_depth": found.effective_depth,
        "blocks": len(found.shares),
        **({"accuracy": None, "interval": None} if predicted is None else predicted.to_json()),
        "used_depth": files.read_json(ablation).get("used_blocks") if ablation.exists() else None,
    }


def run_facts(record: RunRecord) -> dict[str, Any]:
    """The facts of `zerosnet.models.model_card` for a run: metrics, recipe, command, hardware."""
    spec = record.spec
    result = {} if record.result is None else record.result.to_json()
    entry = source(spec.dataset)
    scaling = SCALINGS[spec.recipe.scaling]
    mean, std = (entry.mean, entry.std) if scaling is None else ([n] * len(entry.mean) for n in scaling)
    environment = record.folder / "environment.json"
    return {
        "run": record.id,
        "dataset": spec.dataset,
        "seed": spec.seed,
        "metrics": {name: result[key] for key, name in _METRICS.items() if key in result},
        "recipe": spec.recipe.to_json(),
        "command": train_command(spec),
        "environment": files.read_json(environment) if environment.exists() else None,
        "prediction": _prediction(record),
        "input": {"input_size": [len(mean), *image_size(spec.dataset)], "mean": list(mean), "std": list(std)},
    }
