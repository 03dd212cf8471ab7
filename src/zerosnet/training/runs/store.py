"""The store: a folder of runs, in which a finished run is never run again and two processes never run the same one."""

import os
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zerosnet import files
from zerosnet.environment import origin_problem
from zerosnet.errors import InputError
from zerosnet.training.runs.run import (
    WEIGHTS,
    Run,
    find_folder,
    positions,
    read_metrics,
    read_result,
    remove_checkpoints,
    try_lock,
)
from zerosnet.training.runs.spec import Result, RunSpec

SPEC = "spec.json"
_LISTING_HOLDS = 0.2  # seconds; a listing takes a lock for a moment to see whether it is free


@dataclass(frozen=True)
class RunRecord:
    """The record of a run in the store; read, not claimed.

    Attributes:
        status: "finished" or "diverged" (it has ended), "running" (a process holds it), "stopped" (to be continued).
    """

    id: str
    folder: Path
    spec: RunSpec
    status: str
    result: Result | None

    @property
    def weights(self) -> Path:
        """The file of a finished run's network; published records come without it."""
        return self.folder / WEIGHTS

    @property
    def has_weights(self) -> bool:
        return self.weights.exists()

    def metrics(self) -> list[dict[str, Any]]:
        return read_metrics(self.folder)

    def environment(self) -> dict[str, Any]:
        """Read what the run was trained with; nothing if it has not begun, or if that cannot be read."""
        try:
            found = files.read_json(self.folder / "environment.json")
        except (OSError, InputError):
            return {}
        return found if isinstance(found, dict) else {}

    def check_writable(self, part: str = "") -> None:
        """Raise an error unless files can be added to the run's folder, or to this part of it."""
        inner = self.folder / part
        _make_sure(inner if inner.is_dir() else self.folder, self.folder.parent)

    def summary(self) -> dict[str, Any]:
        """Describe the run in one JSON-ready line of a list."""
        spec = self.spec
        line: dict[str, Any] = {
            "id": self.id,
            "model": spec.model,
            "scheme": None if spec.scheme is None else str(spec.scheme),
            "dataset": spec.dataset,
            "recipe": spec.recipe.name,
            "changes": spec.changes,
            "seed": spec.seed,
            "precision": spec.precision,
            "stage_change": spec.stage_change,
            "beta_growth": None if spec.beta_growth is None else str(spec.beta_growth),
            "init_growth": None if spec.init_growth is None else str(spec.init_growth),
            "validation": spec.validation,
            "status": self.status,
            **_origin(self.environment()),
        }
        if self.result is not None:
            return line | {key: value for key, value in self.result.to_json().items() if key != "status"}
        rows = self.metrics()
        steps = max(positions(self.folder / "checkpoints"), default=0)
        return line | {"epochs": rows[-1]["epoch"] if rows else 0, "steps": steps}


class Store:
    """Runs below a folder, each in STORE/<id>/; the id depends on the spec only."""

    def __init__(self, root: Path | str = "runs") -> None:
        self.root = Path(root)
        if self.root.exists() and not self.root.is_dir():
            raise InputError(f"store is {self.root}, which is a file; expected a folder")
        if self.root.is_symlink() and not self.root.exists():
            raise InputError(f"store is {self.root}, a link that leads nowhere; expected a folder")

    def folder(self, spec: RunSpec) -> Path:
        return find_folder(self.root, spec)

    def claim(self, spec: RunSpec) -> Run | None:
        """Take a run for this process; None if another process has it.

        The run's folder and spec.json are made if they do not exist. Look at `run.result()` first: a run that has
        ended is not to be run again.
        """
        folder = self.folder(spec)
        _make_sure(folder, self.root)
        deadline = time.monotonic() + _LISTING_HOLDS
        while (lock := try_lock(folder, create=True)) is None:
            if time.monotonic() > deadline:
                return None
            time.sleep(0.02)
        run = Run(spec, folder, lock)
        try:
            _settle(run)
        except BaseException:
            run.release()
            raise
        return run

    def get(self, spec: RunSpec) -> RunRecord | None:
        """Find the run of a spec; None if the store has none."""
        folder = self.folder(spec)
        return _record(folder) if (folder / SPEC).exists() else None

    def find(self, name: str) -> RunRecord:
        """Find a run by its id, or by a part of it that only one run has; s1 is seed 1 before it is a part of s11."""
        if name.strip(".") and Path(name).name == name and (self.root / name / SPEC).exists():
            return _record(self.root / name)
        matches = [folder for folder in self._folders() if name in folder.name]
        whole = [folder for folder in matches if name in folder.name.split("-")]
        exact = whole if len(whole) == 1 else []
        if not matches:
            raise InputError(f"run is {name!r}; expected the id, or a part of it, of a run in store {self.root}")
        if not exact and len(matches) > 1:
            some = ", ".join(sorted(folder.name for folder in matches)[:3]) + (", ..." if len(matches) > 3 else "")
            raise InputError(
                f"run is {name!r}, which {len(matches)} runs in store {self.root} have in their id: {some}; "
                "expected one of these ids"
            )
        return _record((exact or matches)[0])

    def records(self) -> list[RunRecord]:
        """List all runs, ordered by id; raise an InputError that names the file if one cannot be read."""
        records, problems = self.scan()
        if problems:
            raise InputError(problems[0])
        return records

    def scan(self) -> tuple[list[RunRecord], list[str]]:
        """List all runs that can be read, ordered by id, and a line for each one that cannot."""
        records, problems = [], []
        for folder in self._folders():
            try:
                records.append(_record(folder))
            except InputError as error:
                problems.append(str(error))
        return records, problems

    def _folders(self) -> list[Path]:
        return sorted(path.parent for path in self.root.glob(f"*/{SPEC}"))


def _make_sure(folder: Path, root: Path) -> None:
    """Make a folder of a store if it is missing; raise an error if that, or writing into it, is impossible."""
    try:
        files.make_folder(folder)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise InputError(f"store {root} cannot be written ({error.strerror})") from None


def _settle(run: Run) -> None:
    """Check that the folder is this spec's, and remove half-written files of a killed process."""
    path = run.folder / SPEC
    files.remove_temporaries(run.folder)
    files.remove_temporaries(run.checkpoints)
    if not path.exists():
        files.write_json(path, run.spec.to_json())
    elif (found := _read_spec(path)).canonical() != run.spec.canonical():
        raise InputError(f"{path} holds another spec than that of its id, namely {found.id}; move the folder away")
    if run.result() is not None:
        remove_checkpoints(run.folder)


def _origin(environment: dict[str, Any]) -> dict[str, Any]:
    """Name the commit that a run was trained with, and what is wrong with it."""
    git = environment.get("git")
    commit = git.get("commit") if isinstance(git, dict) else None
    return {"commit": commit, "origin_problem": origin_problem(environment)}


def _record(folder: Path) -> RunRecord:
    spec, result = _read_spec(folder / SPEC), read_result(folder)
    if result is not None:
        return RunRecord(folder.name, folder, spec, result.status, result)
    return RunRecord(folder.name, folder, spec, "running" if _is_locked(folder) else "stopped", None)


def _read_spec(path: Path) -> RunSpec:
    return files.read_value(path, RunSpec.from_json)


def _is_locked(folder: Path) -> bool:
    try:
        lock = try_lock(folder, create=False)
    except FileNotFoundError:
        return False
    if lock is None:
        return True
    os.close(lock)
    return False
