"""Checksums of safetensors files, computed from their bytes: no tensor is built, and torch is not loaded."""

import json
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any

from zerosnet.errors import InputError
from zerosnet.files import read_bytes

_TYPES = {"F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16", "I64": "int64", "BOOL": "bool"}


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
