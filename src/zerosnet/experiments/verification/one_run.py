"""Check one run's folder: its name, its journal, its result, its weights and where it comes from.

Checksums of safetensors files are computed from their bytes: no tensor is built, and torch is not loaded.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

from zerosnet import files
from zerosnet.environment import NO_COMMIT, UNCOMMITTED, origin_problem
from zerosnet.errors import InputError
from zerosnet.experiments.verification.history import GitHistory
from zerosnet.experiments.verification.outcome import Verification
from zerosnet.files import read_bytes
from zerosnet.training import Result, RunSpec, best_epoch

_FOLDERS = ("folder", "imagefolder")
_VERSIONS = ("zerosnet", "python", "packages", "platform")
_LAST = ("test_accuracy", "test_loss", "test_top5_accuracy", "validation_accuracy", "validation_loss")
_TYPES = {"F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16", "I64": "int64", "BOOL": "bool"}


class RunFolder:
    """A run's folder as it is on the disk, read strictly: what the other commands pass over is a problem here."""

    def __init__(self, folder: Path, found: Verification) -> None:
        self.folder, self.name, self.found = folder, folder.name, found
        self.spec: RunSpec | None = self._read("spec.json", RunSpec.from_json)
        self.result: Result | None = self._read("result.json", Result.from_json)
        self.environment: dict[str, Any] = self._read("environment.json", _object) or {}

    @property
    def is_on_a_folder(self) -> bool:
        """True if its data set is a folder of images, which may be any."""
        return self.spec is not None and self.spec.dataset.partition(":")[0].partition("@")[0] in _FOLDERS

    def check(self, history: GitHistory) -> None:
        """Check everything but what was measured on the trained network."""
        if self.spec is not None:
            names = (self.spec.id, self.spec.long_id)
            self._check("identities", self.name in names, f"spec.json is that of {names[0]}")
        rows = self._journal()
        if self.result is not None and rows is not None:
            self._check_result(self.result, rows)
        self._check_weights()
        self._check_checkpoints()
        self._check_origin(history)

    def _check(self, kind: str, right: bool, what: str) -> bool:
        return self.found.check(kind, self.name, right, what)

    def _read(self, name: str, parse: Any) -> Any:
        path = self.folder / name
        if not (path.exists() or path.is_symlink()):
            return None
        try:
            return files.read_value(path, parse)
        except (InputError, OSError) as error:
            self.found.problem(self.name, str(error).replace(f"{self.folder}/", ""))
            return None

    def _journal(self) -> list[dict[str, Any]] | None:
        """Read metrics.jsonl; None if a line is damaged. The last line of a run in training may be half written."""
        path = self.folder / "metrics.jsonl"
        lines = path.read_bytes().split(b"\n") if path.is_file() else []
        rows = []
        for number, line in enumerate(lines, 1):
            if not line:
                continue
            row = _row(line)
            if row is None and number == len(lines) and self.result is None:
                continue
            if row is None:
                self.found.problem(self.name, f"line {number} of metrics.jsonl is damaged")
                return None
            rows.append(row)
        numbers = [row["epoch"] for row in rows]
        right = self._check("journals", numbers == list(range(1, len(rows) + 1)), _gaps(numbers))
        return rows if right else None

    def _check_result(self, result: Result, rows: Sequence[Mapping[str, Any]]) -> None:
        """Compare the result with the journal that it was made of."""
        kept = rows
        wrong = []
        if result.status == "finished":
            planned = len(rows) if self.spec is None else self.spec.recipe.epochs
            last = rows[-1] if rows else {}
            pairs = [("epochs", len(rows)), *((name, last.get(name)) for name in _LAST)]
            wrong += [] if planned == result.epochs else [f"epochs {result.epochs}, and its recipe has {planned}"]
        else:
            pairs = [("epochs", len(rows))]
            kept = [row for row in rows if row.get("test_loss") is not None]
        if all("test_accuracy" in row for row in kept):
            pairs += zip(("best_epoch", "best_test_accuracy"), best_epoch(kept))
        else:
            wrong.append("epochs without test_accuracy in metrics.jsonl")
        for name, expected in pairs:
            if getattr(result, name) != expected:
                wrong.append(f"{name} {getattr(result, name)}, and metrics.jsonl has {expected}")
        self._check("results", not wrong, f"result.json has {'; '.join(wrong)}")

    def _check_weights(self) -> None:
        path = self.folder / "weights.safetensors"
        if not path.exists():
            return
        try:
            file = TensorFile(path)
            facts = json.loads(file.metadata.get("facts", "{}"))
        except (InputError, ValueError) as error:
            self._check("weights", False, f"{path.name}: {error}")
            return
        whole = file.metadata.get("checksum") == file.weights_checksum()
        if self._check("weights", whole, f"{path.name}: its checksum does not match its content"):
            owner = facts.get("run", self.name) if isinstance(facts, dict) else None
            self._check("weights", owner == self.name, f"{path.name} is that of {owner}")

    def _check_checkpoints(self) -> None:
        for path in sorted((self.folder / "checkpoints").glob("*.safetensors")):
            where = f"checkpoints/{path.name}"
            if not path.stem.isdigit():
                continue
            try:
                file = TensorFile(path)
            except InputError as error:
                self._check("checkpoints", False, f"{where}: {error}")
                continue
            whole = file.metadata.get("checksum") == file.checkpoint_checksum(int(path.stem))
            owner = file.metadata.get("run", self.name)
            self._check("checkpoints", whole, f"{where}: its checksum does not match its content")
            self._check("checkpoints", owner == self.name, f"{where} is that of {owner}")

    def _check_origin(self, history: GitHistory) -> None:
        """Check that the record names what the run was made with, and that git agrees."""
        if self.result is None and not self.environment:
            return
        missing = [name for name in (*_VERSIONS, "kernels", "arithmetic", "data") if not self.environment.get(name)]
        mark = origin_problem(self.environment) or (None if self.environment else NO_COMMIT)
        if mark is not None:
            self.found.note(self.name, f"trained with {UNCOMMITTED}" if mark == UNCOMMITTED else mark)
        if missing:
            self.found.note(self.name, f"environment.json does not name {', '.join(missing)}")
        for record in (self.environment, *self.environment.get("earlier", [])):
            check_origin(self.found, self.name, record, history)


def check_origin(found: Verification, where: str, record: Any, history: GitHistory) -> None:
    """Check the commit of an environment's record, and its sources against that commit."""
    found_git = record.get("git") if isinstance(record, dict) else None
    git: dict[str, Any] = found_git if isinstance(found_git, dict) else {}
    commit = git.get("commit")
    if not isinstance(commit, str) or not history.is_ours:
        return
    if not found.check("commits", where, history.has(commit), f"its commit {commit[:12]} is not in the history"):
        return
    source, dirty = record.get("source"), git.get("dirty")
    if source is None:
        if dirty is None:
            found.note(where, "its commit is recorded, but not whether files were changed")
        return
    same = source == history.source_digest(commit)
    if dirty is False:
        found.check(
            "sources", where, same, f"its sources are not those of commit {commit[:12]}, and it names no change"
        )
    elif dirty is None and not same:
        found.note(where, f"its sources are not those of commit {commit[:12]}: {UNCOMMITTED}")
    else:
        found.checked["sources"] += 1


def _object(data: Any) -> dict[str, Any]:
    if not isinstance(data, dict):
        raise InputError(f"it holds a {type(data).__name__}; expected an object")
    return data


def _row(line: bytes) -> dict[str, Any] | None:
    try:
        row = json.loads(line)
    except (RecursionError, ValueError):
        return None
    return row if isinstance(row, dict) and isinstance(row.get("epoch"), int) else None


def _gaps(numbers: Sequence[int]) -> str:
    first = next((k for k, number in enumerate(numbers, 1) if number != k), len(numbers))
    return f"metrics.jsonl has epoch {numbers[first - 1] if numbers else None} in the place of epoch {first}"


class TensorFile:
    """The header and the bytes of a safetensors file.

    Raises:
        InputError: The file is truncated, or no safetensors file.
    """

    def __init__(self, path: Path) -> None:
        try:
            content = memoryview(read_bytes(path))
            start = 8 + int.from_bytes(content[:8], "little")
            header = json.loads(bytes(content[8:start]))
            self.metadata: Mapping[str, str] = header.pop("__metadata__")
            self._tensors = {name: _Place(**entry) for name, entry in header.items()}
            self._content = content[start:]
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            raise InputError(f"truncated, or no safetensors file ({type(error).__name__})") from None
        if max((place.end for place in self._tensors.values()), default=0) != len(self._content):
            raise InputError("truncated, or longer than its header says")

    def weights_checksum(self) -> str:
        """Compute the checksum of a network's file, as `zerosnet.models.save_model` does."""
        result = blake2b(digest_size=16)
        for name in ("config", "facts"):
            result.update(f"{name}={self.metadata.get(name, '')}\n".encode())
        return self._with_tensors(result)

    def checkpoint_checksum(self, position: int) -> str:
        """Compute the checksum of a checkpoint, as `zerosnet.training.write_checkpoint` does."""
        run = self.metadata.get("run", "")
        result = blake2b(f"{position}\n{self.metadata.get('state', '')}\n".encode(), digest_size=16)
        result.update(f"run {run}\n".encode() if run else b"")
        return self._with_tensors(result)

    def _with_tensors(self, result: Any) -> str:
        for line, content in self._parts():
            result.update(line)
            result.update(content)
        return str(result.hexdigest())

    def _parts(self) -> Iterator[tuple[bytes, memoryview]]:
        for name, place in sorted(self._tensors.items()):
            yield f"{name} torch.{place.type} {place.shape}\n".encode(), self._content[place.begin : place.end]


class _Place:
    """The place of a tensor in a file, and what it is."""

    def __init__(self, dtype: str, shape: list[int], data_offsets: list[int]) -> None:
        self.type, self.shape = _TYPES.get(dtype, dtype), tuple(shape)
        self.begin, self.end = data_offsets
