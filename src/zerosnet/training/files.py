"""Files that are either there as a whole or not at all, whenever the process or the machine stops."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from zerosnet.errors import InputError

T = TypeVar("T")
TEMPORARY = ".tmp"  # what a file is called until it is complete; left over after a kill, removed by the next owner


def write_bytes(path: Path, content: bytes | memoryview) -> None:
    """Replace a file in one move: write beside it, flush to the disk, rename, flush the folder."""

    def write(temporary: Path) -> None:
        temporary.write_bytes(content)

    write_with(path, write)


def write_with(path: Path, write: Callable[[Path], object]) -> None:
    """Like `write_bytes`, for writers that want a path; where one fails, the file that was there stays."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}{TEMPORARY}")
    try:
        write(temporary)
        sync(temporary)
        temporary.replace(path)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename is None:  # a full disk does not say of which file
            error.filename = str(path)
        raise
    sync(path.parent)


def sync(path: Path) -> None:
    """Have a file's content, or a folder's entries, on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove_temporaries(folder: Path) -> None:
    """Clear away what a killed writer left behind; only for the one process that owns the folder."""
    for path in folder.glob(f".*{TEMPORARY}"):
        path.unlink(missing_ok=True)


def write_json(path: Path, data: Any) -> None:
    write_bytes(path, (json.dumps(data, indent=2, allow_nan=False) + "\n").encode())


def read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except FileNotFoundError:
        raise
    except ValueError as error:
        raise InputError(f"{path} is damaged: not valid JSON ({error})") from None


def read_value(path: Path, parse: Callable[[Any], T]) -> T:
    """What `parse` makes of a JSON file; its complaints name the file."""
    try:
        return parse(read_json(path))
    except InputError as error:
        text = str(error)
        raise InputError(text if str(path) in text else f"{path}: {text}") from None
