"""Files that are there as a whole or not at all, whenever the process or the machine stops, and numbers that fit in."""

import errno
import json
import math
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from zerosnet.errors import InputError

T = TypeVar("T")
TEMPORARY = ".tmp"
CACHE = "ZEROSNET_CACHE"  # names another folder than the user's cache; empty: nothing is kept
_DAMAGE = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


def temporary_file(path: Path) -> Path:
    """The name that a file has until it is complete: in the same folder, with the same ending."""
    return path.with_name(f".{path.stem}.{os.getpid()}-{threading.get_ident()}{TEMPORARY}{path.suffix}")


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Replace a file in one move: the caller writes a temporary file, which takes the place of `path`.

    The temporary file is flushed to the disk before it is renamed, and the folder after it. If anything fails, the
    file that was there stays. The folder is made if it is missing.
    """
    make_folder(path.parent)
    temporary = temporary_file(path)
    try:
        yield temporary
        sync(temporary)
        temporary.replace(path)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno and error.filename is None:  # a full disk names no file
            error.filename = str(path)
        raise
    sync(path.parent)


def make_folder(folder: Path) -> None:
    """Make a folder, and those above it, unless it is there; its entry is on the disk before anything is in it."""
    if folder.is_dir():
        return
    if folder.parent != folder:
        make_folder(folder.parent)
    folder.mkdir(exist_ok=True)
    with suppress(PermissionError):  # a folder that may be written but not read
        sync(folder.parent)


def cache_folder(part: str) -> Path | None:
    """Find the folder of what can be made again: in $ZEROSNET_CACHE, or in the user's cache; None to keep nothing."""
    given = os.environ.get(CACHE)
    if given is not None:
        return Path(given) / part if given else None
    try:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    except RuntimeError:  # a user without a home
        return None
    return base / "zerosnet" / part


def write_with(path: Path, write: Callable[[Path], object]) -> None:
    """Replace a file by what `write` writes to the path that it is given."""
    with replacing(path) as temporary:
        write(temporary)


def write_bytes(path: Path, content: bytes | memoryview) -> None:
    """Replace a file by this content."""
    with replacing(path) as temporary:
        temporary.write_bytes(content)


def write_json(path: Path, data: Any) -> None:
    """Replace a file by data as JSON; a number that is not finite is an error."""
    write_bytes(path, (json.dumps(data, indent=2, allow_nan=False) + "\n").encode())


def sync(path: Path) -> None:
    """Flush a file's content, or a folder's entries, to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove_temporaries(folder: Path) -> None:
    """Remove what a killed writer left behind; only for the one process that owns the folder."""
    for path in folder.glob(f".*{TEMPORARY}*"):
        path.unlink(missing_ok=True)


def is_file(path: Path) -> bool:
    """Return True if there is such a file, False also for a name that no file can have."""
    try:
        return path.is_file()
    except (OSError, ValueError):  # too long, or a surrogate
        return False


def read_bytes(path: Path) -> bytes:
    """Read a file of ours; a pipe in its place is an OSError, because opening it might never return."""
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise OSError(errno.EINVAL, "a pipe or a device, not a file", str(path))
    return path.read_bytes()


def read_json(path: Path) -> Any:
    """Read a JSON file; raise an InputError that names it if it cannot be read, FileNotFoundError if it is missing."""
    try:
        return json.loads(read_bytes(path))
    except FileNotFoundError:
        raise
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from None
    except RecursionError:
        raise InputError(f"{path} is damaged: JSON that is nested too deeply") from None
    except ValueError as error:
        raise InputError(f"{path} is damaged: not valid JSON ({error})") from None


def read_value(path: Path, parse: Callable[[Any], T]) -> T:
    """Read a JSON file and parse it; every error of `parse` becomes an InputError that names the file."""
    data = read_json(path)
    try:
        return parse(data)
    except InputError as error:
        text = str(error)
        raise InputError(text if str(path) in text else f"{path}: {text}") from None
    except _DAMAGE as error:
        raise InputError(f"{path} is damaged: {type(error).__name__}: {error}") from None


def is_whole(value: Any) -> bool:
    """Return True for an int; True and False themselves are none."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    """Return True for an int or float that a finite float can hold; True and False themselves are none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # an int of more than 308 digits
        return False


def finite(value: Any) -> Any:
    """A copy of JSON-ready data with None in place of every float that is not finite."""
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


class BackgroundWriter:
    """A thread that writes checkpoints; its errors are raised by the next call.

    Hand over only what training no longer changes, such as the parts that `snapshot` gives:

        with BackgroundWriter() as writer:
            ...
            writer.submit([partial(run.save_checkpoint, position, part, state) for run, part in zip(runs, parts)])
    """

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="checkpoint")
        self._pending: Future[None] | None = None

    def submit(self, jobs: Sequence[Callable[[], object]]) -> None:
        """Run the jobs in order in the background, after waiting for those before them."""
        self.wait()
        self._pending = self._pool.submit(_all, list(jobs))

    def wait(self) -> None:
        """Wait until everything handed over is on the disk; raise the error of the one that failed."""
        pending, self._pending = self._pending, None
        if pending is not None:
            pending.result()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self.wait()
        finally:
            self._pool.shutdown(wait=True)


def _all(jobs: Sequence[Callable[[], object]]) -> None:
    """Try all jobs, even if one fails; then raise the first error."""
    errors = []
    for job in jobs:
        try:
            job()
        except Exception as error:
            errors.append(error)
    if errors:
        raise errors[0]
