"""The exact command that makes a number again."""

import json
import shlex
from collections.abc import Sequence

from zerosnet.report.evidence import RunEvidence
from zerosnet.training import RunSpec

_EMBEDDED = {"digits"}


def train_command(spec: RunSpec, seeds: Sequence[int] = ()) -> str:
    """`zerosnet train ...` for a run, or for the same run with several seeds.

    A recipe with changes that the command line has no option for is given as a sweep file on standard input.
    """
    changes = dict(spec.changes)
    epochs = changes.pop("epochs", None)
    if changes:
        return f"zerosnet sweep /dev/stdin <<< {shlex.quote(json.dumps([spec.to_json()]))}"
    words = ["zerosnet", "train", spec.model, "--dataset", spec.dataset, "--recipe", spec.recipe.name]
    words += [] if spec.dataset in _EMBEDDED else ["--data", "DIR"]
    words += [] if spec.scheme is None else ["--scheme", str(spec.scheme)]
    words += [] if epochs is None else ["--epochs", str(epochs)]
    words += [] if spec.precision is None else ["--precision", spec.precision]
    words += [] if spec.validation is None else ["--validation", str(spec.validation)]
    for seed in seeds or (spec.seed,):
        words += ["--seed", str(seed)]
    return shlex.join(words)


def attack_command(runs: Sequence[RunEvidence], name: str) -> str:
    """`zerosnet attack ...` for what was measured of runs, named as in their folders: "paper-noise+images=500"."""
    protocol, *reduced = name.split("+")
    words = ["zerosnet", "attack", *(run.record.id for run in runs), "--protocol", protocol]
    for option in reduced:
        key, _, value = option.partition("=")
        words += [f"--{key}", value]
    words += [] if all(run.record.spec.dataset in _EMBEDDED for run in runs) else ["--data", "DIR"]
    return shlex.join(words)
