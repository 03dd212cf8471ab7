"""A run's folder, held by one process: STORE/<id>/ with everything the run leaves behind.

spec.json             the resolved spec, from which the run can be replayed
environment.json      versions, hardware and commit it was last continued with (and `earlier` ones that differ)
metrics.jsonl         one line per epoch
checkpoints/          where it goes on after an interruption; empty once it has ended
weights.safetensors   the last epoch, once finished
result.json           how it ended; its presence means that it has
lock                  held while a process works on the run
"""

import fcntl
import json
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from zerosnet import files
from zerosnet.environment import today
from zerosnet.errors import InputError
from zerosnet.files import finite
from zerosnet.training.runs.spec import Result, RunSpec

if TYPE_CHECKING:
    from torch import Tensor

    from zerosnet.training.runs.checkpoint import Checkpoint

WEIGHTS = "weights.safetensors"
CHECKPOINTS = "checkpoints"
CHECKPOINT_SUFFIX = ".safetensors"


class Run:
    """A claimed run: this process alone may write to it, until `release` (or its end, even by kill -9)."""

    def __init__(self, spec: RunSpec, folder: Path, lock: int) -> None:
        self.spec = spec
        self.folder = folder
        self._lock: int | None = lock

    @property
    def id(self) -> str:
        return self.folder.name

    @property
    def checkpoints(self) -> Path:
        return self.folder / CHECKPOINTS

    @property
    def weights(self) -> Path:
        return self.folder / WEIGHTS

    # -- while it is trained -------------------------------------------------------------------------------------------

    def environment(self) -> dict[str, Any]:
        """Read what `write_environment` has recorded; nothing if the run has not begun."""
        path = self.folder / "environment.json"
        found = files.read_json(path) if path.exists() else {}
        return found if isinstance(found, dict) else {}

    def write_environment(self, environment: Mapping[str, Any]) -> None:
        """Record what the run is trained with, and when it began; if it goes on elsewhere, both records are kept."""
        path, before = self.folder / "environment.json", self.environment()
        earlier, begun = before.pop("earlier", []), before.pop("begun", None)
        record = dict(environment)
        if begun is not None or not before:  # old records do not have it
            record["begun"] = begun or today()
        if before and before != dict(environment):
            earlier = [*earlier, before]
        if earlier:
            record["earlier"] = earlier
        files.write_json(path, record)

    def append_metrics(self, row: Mapping[str, Any]) -> None:
        """Add the line of an epoch; `row["epoch"]` counts finished epochs, from 1. Not a number is written as null."""
        line = json.dumps(finite(dict(row)), allow_nan=False)
        with (self.folder / "metrics.jsonl").open("a", encoding="utf-8") as file:
            file.write(line + "\n")

    def metrics(self) -> list[dict[str, Any]]:
        return read_metrics(self.folder)

    def whole_epochs(self) -> int:
        """Count the epochs whose metrics are there one after the other: a damaged line ends them."""
        numbers = [row["epoch"] for row in self.metrics()]
        return next((k for k, epoch in enumerate(numbers) if epoch != k + 1), len(numbers))

    def rewind(self, epochs: int) -> None:
        """Drop the metrics after the first `epochs`: those epochs are trained again when a run goes on."""
        if self.whole_epochs() < epochs:
            raise InputError(f"{self.folder / 'metrics.jsonl'} lacks one of the first {epochs} epochs")
        kept = self.metrics()[:epochs]
        text = "".join(json.dumps(row, allow_nan=False) + "\n" for row in kept)
        files.write_bytes(self.folder / "metrics.jsonl", text.encode())

    def save_checkpoint(self, position: int, tensors: "Mapping[str, Tensor]", state: Mapping[str, Any]) -> None:
        """Write a checkpoint; the metrics up to here are on the disk before it is."""
        path = self.folder / "metrics.jsonl"
        if path.exists():
            files.sync(path)
        from zerosnet.training.runs.checkpoint import write_checkpoint  # loads torch, which listings do without

        write_checkpoint(self.checkpoints, position, tensors, state, self.id)

    def load_checkpoint(self, at_most: int | None = None) -> "Checkpoint | None":
        """Read the newest checkpoint that is whole (and not past a position); None if there is none."""
        if not positions(self.checkpoints):
            return None
        from zerosnet.training.runs.checkpoint import read_checkpoint

        return read_checkpoint(self.checkpoints, at_most, self.id)

    # -- its end -------------------------------------------------------------------------------------------------------

    def finish(self, result: Result, save_weights: Callable[[Path], object] | None = None) -> None:
        """End the run: weights first (`save_weights` writes them to the path it is given), then the result.

        The result appears last and at once: if it is there, everything is. Checkpoints are removed after it.
        """
        files.remove_temporaries(self.folder)
        if save_weights is not None:
            files.write_with(self.weights, save_weights)
        path = self.folder / "metrics.jsonl"
        if path.exists():
            files.sync(path)
        files.write_json(self.folder / "result.json", result.to_json())
        remove_checkpoints(self.folder)

    def result(self) -> Result | None:
        return read_result(self.folder)

    # -- the claim -----------------------------------------------------------------------------------------------------

    def release(self) -> None:
        """Let other processes claim the run."""
        lock, self._lock = self._lock, None
        if lock is not None:
            os.close(lock)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def find_folder(root: Path, spec: RunSpec) -> Path:
    """Find the folder of a run in a store, whether it is there already or not.

    Its name is the run's id, or the longer id if another spec with the same short one has that folder. A folder whose
    spec cannot be read, or belongs elsewhere, is left to those who open it.
    """
    folder = root / spec.id
    try:
        found = files.read_value(folder / "spec.json", RunSpec.from_json)
    except (OSError, InputError):
        return folder
    collides = found.id == spec.id and found.canonical() != spec.canonical()
    return root / spec.long_id if collides else folder


def try_lock(folder: Path, *, create: bool) -> int | None:
    """Take a run's lock and return its descriptor; None if another process holds it.

    The kernel lets go of it when the process ends, however it ends.
    """
    flags = os.O_RDONLY | os.O_NONBLOCK  # a pipe in the place of the file is not waited for
    descriptor = os.open(folder / "lock", flags | (os.O_CREAT if create else 0), 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def positions(folder: Path) -> list[int]:
    """List the positions of the checkpoints in a folder, whole or not, in order."""
    return sorted(int(path.stem) for path in folder.glob(f"*{CHECKPOINT_SUFFIX}") if path.stem.isdigit())


def remove_checkpoints(folder: Path) -> None:
    """Remove the checkpoints of a run that has ended; any process may, since no process needs them any more."""
    shutil.rmtree(folder / CHECKPOINTS, ignore_errors=True)


def read_result(folder: Path) -> Result | None:
    path = folder / "result.json"
    return files.read_value(path, Result.from_json) if path.exists() else None


def read_metrics(folder: Path) -> list[dict[str, Any]]:
    """Read the metrics so far, one object per epoch; a line that a kill cut off, or that is damaged, is left out."""
    path = folder / "metrics.jsonl"
    rows = []
    for line in path.read_bytes().split(b"\n") if path.is_file() else []:
        try:
            row = json.loads(line)
        except (RecursionError, ValueError):
            continue
        if isinstance(row, dict) and "epoch" in row:
            rows.append(row)
    return rows


def best_epoch(rows: Sequence[Mapping[str, Any]]) -> tuple[int | None, float | None]:
    """Find the first epoch with the highest test accuracy, and that accuracy."""
    if not rows:
        return None, None
    row = max(rows, key=lambda row: (row["test_accuracy"], -row["epoch"]))
    return row["epoch"], row["test_accuracy"]
