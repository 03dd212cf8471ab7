"""Checkpoints: everything a run needs to go on, complete or not there at all, checked when read, never unpickled.

Every run has its own, in its own folder, even if it is trained side by side with others: so runs can be regrouped,
moved, and continued alone or in any company. A checkpoint is one safetensors file `<position>.safetensors` with the
run's tensors (replica k of the fused network, in the shapes of a single one), its state as JSON, the run's id, and a
checksum over all of them in its header. The last two are kept; a damaged one is passed over for the one before it, and
one of another run is an error.
"""

import errno
import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from zerosnet.errors import InputError
from zerosnet.files import read_bytes, remove_temporaries, write_bytes
from zerosnet.models import tensor_file
from zerosnet.training.runs.run import CHECKPOINT_SUFFIX, positions

KEEP = 2
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """A run at a position: CPU tensors by name, and a JSON-ready state.

    `position` counts finished steps. `damaged` lists the newer files that were passed over, and why.
    """

    position: int
    tensors: dict[str, Tensor]
    state: dict[str, Any]
    damaged: tuple[str, ...] = ()


class CheckpointError(OSError):
    """A checkpoint could not be written; those before it are untouched."""

    def __str__(self) -> str:
        return str(self.strerror)


def write_checkpoint(
    folder: Path, position: int, tensors: Mapping[str, Tensor], state: Mapping[str, Any], run: str = ""
) -> Path:
    """Write one atomically, then remove all but it and the one before it.

    Args:
        folder: Where the checkpoints of the run are.
        position: The number of finished steps.
        tensors: What the run consists of, on the CPU.
        state: What else is noted, JSON-ready.
        run: The id of the run; only this run can be continued with it. Empty: any.
    """
    ordered = {name: tensors[name].detach().contiguous() for name in sorted(tensors)}
    text = json.dumps(state, sort_keys=True)
    metadata = {"position": str(position), "state": text, "checksum": checksum(ordered, text, position, run)}
    if run:
        metadata["run"] = run
    path = _path(folder, position)
    try:
        write_bytes(path, tensor_file(ordered, metadata))
    except OSError as error:
        why = "the disk is full" if error.errno in _FULL else str(error.strerror or error)
        before = f"the one at step {kept[-1]} is intact" if (kept := positions(folder)) else "there is none before it"
        raise CheckpointError(
            error.errno, f"checkpoint {path.parent.parent.name} at step {position} not written: {why}; {before}"
        ) from error
    there = positions(folder)
    ahead = [p for p in there if p > position]  # passed over as damaged when the run was continued from before them
    for p in [*there[: len(there) - len(ahead) - KEEP], *ahead]:
        _path(folder, p).unlink(missing_ok=True)
    return path


def read_checkpoint(folder: Path, at_most: int | None = None, run: str = "") -> Checkpoint | None:
    """Read the newest checkpoint that is whole (and not past a position); None if there is none.

    Raises:
        InputError: If the checkpoint names another run than `run`. Old ones name none and are accepted.
    """
    remove_temporaries(folder)
    damaged: list[str] = []
    for position in reversed(positions(folder)):
        if at_most is not None and position > at_most:
            continue
        path = _path(folder, position)
        try:
            tensors, state, owner = _read(path, position)
        except Damaged as reason:
            damaged.append(f"{path.name}: {reason}")
        else:
            if run and owner not in ("", run):
                raise InputError(f"{path} is a checkpoint of run {owner}; expected one of run {run}; move it away")
            return Checkpoint(position, tensors, state, tuple(damaged))
    return None


def _path(folder: Path, position: int) -> Path:
    return folder / f"{position:012d}{CHECKPOINT_SUFFIX}"


class Damaged(Exception):
    """The reason why a file is not a whole checkpoint."""


def _read(path: Path, position: int) -> tuple[dict[str, Tensor], dict[str, Any], str]:
    """Read tensors, state, and the id of the run, which is empty in files of old versions."""
    from safetensors import SafetensorError
    from safetensors.torch import load

    try:
        content = read_bytes(path)
        tensors = load(content)
        header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
        metadata = header["__metadata__"]
        text, expected, run = metadata["state"], metadata["checksum"], metadata.get("run", "")
    except (OSError, SafetensorError, ValueError, KeyError, TypeError) as error:
        raise Damaged(f"truncated or not a checkpoint ({type(error).__name__})") from None
    if checksum({name: tensors[name] for name in sorted(tensors)}, text, position, run) != expected:
        raise Damaged("its checksum does not match its content")
    return tensors, json.loads(text), run


def checksum(tensors: Mapping[str, Tensor], state: str, position: int, run: str = "") -> str:
    """Hash the names, types, shapes and bytes of all tensors, the state, the position and the run, if it has one."""
    result = blake2b(f"{position}\n{state}\n".encode(), digest_size=16)
    result.update(f"run {run}\n".encode() if run else b"")
    for name, tensor in tensors.items():
        result.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        if tensor.numel():
            result.update(tensor.reshape(-1).view(torch.uint8).numpy().data)
    return result.hexdigest()


@torch.no_grad()
def copy_into(own: Mapping[str, Tensor], tensors: Mapping[str, Tensor]) -> None:
    """Copy a checkpoint's tensors into those of a training, in place."""
    if set(own) != set(tensors) or any(own[name].shape != tensors[name].shape for name in own):
        raise InputError("a checkpoint does not fit its network; was it written for another version?")
    for name, tensor in own.items():
        tensor.copy_(tensors[name])
