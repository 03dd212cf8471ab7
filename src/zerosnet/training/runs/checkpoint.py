"""Checkpoints: everything a run needs to go on, complete or not there at all, checked when read, never unpickled.

Every run has its own, in its own folder, also where it is trained side by side with others: so runs can be regrouped,
moved, and continued alone or in any company. A checkpoint is one safetensors file `<position>.safetensors` with the
run's tensors (replica k of the fused network, in the shapes of a single one), its state as JSON, and a checksum over
both in its header. The last two are kept; a damaged one is passed over for the one before it.
"""

import errno
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from zerosnet.errors import InputError
from zerosnet.files import remove_temporaries, write_bytes
from zerosnet.models import tensor_file

KEEP = 2
_SUFFIX = ".safetensors"
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """A run at a position: CPU tensors by name, and a JSON-ready state.

    `position` counts finished steps. `damaged` says which newer files were passed over, and why.
    """

    position: int
    tensors: dict[str, Tensor]
    state: dict[str, Any]
    damaged: tuple[str, ...] = ()


class CheckpointError(OSError):
    """A checkpoint could not be written; those before it are untouched."""

    def __str__(self) -> str:
        return str(self.strerror)


def write_checkpoint(folder: Path, position: int, tensors: Mapping[str, Tensor], state: Mapping[str, Any]) -> Path:
    """Write one atomically, then remove all but it and the one before it. `tensors` are on the CPU."""
    ordered = {name: tensors[name].detach().contiguous() for name in sorted(tensors)}
    text = json.dumps(state, sort_keys=True)
    metadata = {"position": str(position), "state": text, "checksum": checksum(ordered, text, position)}
    path = _path(folder, position)
    try:
        folder.mkdir(parents=True, exist_ok=True)
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


def read_checkpoint(folder: Path, at_most: int | None = None) -> Checkpoint | None:
    """The newest checkpoint that is whole (and not past a position), or None where there is none."""
    remove_temporaries(folder)
    damaged: list[str] = []
    for position in reversed(positions(folder)):
        if at_most is not None and position > at_most:
            continue
        path = _path(folder, position)
        try:
            tensors, state = _read(path, position)
        except Damaged as reason:
            damaged.append(f"{path.name}: {reason}")
        else:
            return Checkpoint(position, tensors, state, tuple(damaged))
    return None


def positions(folder: Path) -> list[int]:
    """The positions of the checkpoints in a folder, whole or not, in order."""
    return sorted(int(path.stem) for path in folder.glob(f"*{_SUFFIX}") if path.stem.isdigit())


def _path(folder: Path, position: int) -> Path:
    return folder / f"{position:012d}{_SUFFIX}"


class Damaged(Exception):
    """Why a file is not a whole checkpoint."""


def _read(path: Path, position: int) -> tuple[dict[str, Tensor], dict[str, Any]]:
    from safetensors import SafetensorError
    from safetensors.torch import load

    try:
        content = path.read_bytes()
        tensors = load(content)
        header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
        metadata = header["__metadata__"]
        text, expected = metadata["state"], metadata["checksum"]
    except (OSError, SafetensorError, ValueError, KeyError, TypeError) as error:
        raise Damaged(f"truncated or not a checkpoint ({type(error).__name__})") from None
    if checksum({name: tensors[name] for name in sorted(tensors)}, text, position) != expected:
        raise Damaged("its checksum does not match its content")
    return tensors, json.loads(text)


def checksum(tensors: Mapping[str, Tensor], state: str, position: int) -> str:
    """A hash over names, types, shapes and bytes of all tensors, the state and the position."""
    result = blake2b(f"{position}\n{state}\n".encode(), digest_size=16)
    for name, tensor in tensors.items():
        result.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        if tensor.numel():
            result.update(tensor.reshape(-1).view(torch.uint8).numpy().data)
    return result.hexdigest()


def snapshot(tensors: Mapping[str, Tensor], replicas: int) -> list[dict[str, Tensor]]:
    """Each replica's own part of a fused network's tensors, on the CPU, with one copy a data type from the device.

    All tensors stack their replicas along the first dimension. The parts do not share memory with the originals, so
    that training may go on while they are written.
    """
    parts: list[dict[str, Tensor]] = [{} for _ in range(replicas)]
    for dtype in dict.fromkeys(tensor.dtype for tensor in tensors.values()):
        group = {name: tensor.detach() for name, tensor in tensors.items() if tensor.dtype == dtype}
        host = torch.cat([tensor.reshape(replicas, -1) for tensor in group.values()], dim=1).cpu()
        columns = host.split([tensor.numel() // replicas for tensor in group.values()], dim=1)
        for (name, tensor), column in zip(group.items(), columns):
            shape = (tensor.shape[0] // replicas, *tensor.shape[1:])
            for part, row in zip(parts, column):
                part[name] = row.view(shape)
    return parts


@torch.no_grad()
def copy_into(own: Mapping[str, Tensor], tensors: Mapping[str, Tensor]) -> None:
    """Put a checkpoint's tensors into a training's own, in place."""
    if set(own) != set(tensors) or any(own[name].shape != tensors[name].shape for name in own):
        raise InputError("a checkpoint does not fit its network; was it written for another version?")
    for name, tensor in own.items():
        tensor.copy_(tensors[name])


def join(parts: Sequence[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """The inverse of `snapshot`: the tensors of the fused network, stacked along the first dimension."""
    return {name: torch.cat([part[name] for part in parts]) for name in parts[0]}
