"""Check what was measured on a trained network: attacks and ablations belong to their run."""

import json
from math import sqrt
from pathlib import Path
from typing import Any

from zerosnet.environment import UNCOMMITTED, origin_problem
from zerosnet.experiments.verification.history import GitHistory
from zerosnet.experiments.verification.one_run import RunFolder, check_origin
from zerosnet.experiments.verification.outcome import Verification

# of accuracy: the same network in another arithmetic; the sanity checks of attacks allow as much
_TOLERANCE = 0.01
_OTHER_KERNELS = 0.1  # a difference up to this, if the kernels differ, depends on the arithmetic
_FEW = 1000  # images; an accuracy on fewer, or on a part of the test images, is allowed four standard errors more


def check_measurements(run: RunFolder, found: Verification, history: GitHistory) -> None:
    """Check the attacks and the ablation in a run's folder."""
    for path in sorted((run.folder / "attacks").glob("*.json")):
        data = _read(path, run, found)
        if data is not None:
            _check_owner(data, f"attacks/{path.name}", run, found, history)
            _check_attack(data, path, run, found)
    path = run.folder / "ablation.json"
    data = _read(path, run, found) if path.exists() else None
    if data is not None:
        _check_owner(data, path.name, run, found, history)
        _check_accuracy(data.get("accuracy"), path.name, run, found, data.get("images", _FEW), data.get("kernels"))


def _read(path: Path, run: RunFolder, found: Verification) -> dict[str, Any] | None:
    try:
        data = json.loads(path.read_bytes()) if path.is_file() else None
    except (OSError, RecursionError, ValueError):
        data = None
    if isinstance(data, dict):
        return data
    found.problem(run.name, f"{path.relative_to(run.folder)} is damaged")
    return None


def _check_owner(data: dict[str, Any], name: str, run: RunFolder, found: Verification, history: GitHistory) -> None:
    """Check the run that a measurement names, its data, and its origin."""
    found.check("measurements", run.name, data.get("run") == run.name, f"{name} is that of {data.get('run')}")
    found.check("measurements", run.name, run.result is not None, f"{name} is there, and the run has not ended")
    environment = data.get("environment")
    environment = environment if isinstance(environment, dict) else {}
    mark = origin_problem(environment) if environment else "no environment recorded"
    if mark is not None:
        found.note(run.name, f"{name}: {'measured with ' if mark == UNCOMMITTED else ''}{mark}")
    check_origin(found, run.name, environment, history)
    theirs, ours = data.get("data"), run.environment.get("data")
    if theirs is not None and ours is not None and run.spec is not None and run.spec.validation is None:
        alike = theirs == ours or run.is_on_a_folder  # of which one part is trained on, and another tested
        found.check("data", run.name, alike, f"{name} was measured on other data ({theirs}) than it was trained on")


def _check_attack(data: dict[str, Any], path: Path, run: RunFolder, found: Verification) -> None:
    """Check the name of the file, the counts of its rows, and the accuracy on clean images."""
    name, rows = f"attacks/{path.name}", data.get("rows")
    protocol = path.stem.partition("+")[0]
    found.check("measurements", run.name, data.get("protocol") == protocol, f"{name} is of {data.get('protocol')}")
    for row in rows if isinstance(rows, list) else []:
        try:
            right = abs(row["correct"] / row["images"] - row["accuracy"]) < 1e-9
        except (KeyError, TypeError, ZeroDivisionError):
            right = False
        if not right:
            found.problem(run.name, f"{name}: the accuracy of a row is not its correct answers by its images")
            return
        if row.get("method") == "clean":
            part = "+images=" in name
            _check_accuracy(row["accuracy"], name, run, found, row["images"], data.get("kernels"), part=part)


def _check_accuracy(
    accuracy: Any,
    name: str,
    run: RunFolder,
    found: Verification,
    images: int = _FEW,
    kernels: Any = None,
    part: bool = False,
) -> None:
    """Compare the accuracy on clean images with the result's: another network's would differ.

    By other kernels than those of the training a network may answer differently. That is noted, and no problem, unless
    the difference is large.
    """
    known = None if run.result is None else run.result.test_accuracy
    if known is not None and isinstance(accuracy, int | float):
        more = 4 * sqrt(known * (1 - known) / images) if part or images < _FEW else 0.0
        alike = abs(accuracy - known) <= _TOLERANCE + more
        if not alike and kernels != run.environment.get("kernels") and abs(accuracy - known) <= _OTHER_KERNELS:
            found.note(
                run.name, f"{name} has accuracy {accuracy:.4f} by other kernels, and result.json has {known:.4f}"
            )
            return
        found.check(
            "measurements", run.name, alike, f"{name} has accuracy {accuracy:.4f}, and result.json has {known:.4f}"
        )
