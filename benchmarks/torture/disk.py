"""Faults of a disk, put into a process: every change of a file under a folder is an event that a fault may answer.

`watch` replaces functions of `io` and `os` in the process that calls it, for good: only for a forked child.
"""

import builtins
import errno
import io
import os
import signal
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

KINDS = ("checkpoint", "metrics", "weights", "result", "spec", "environment", "attack", "ablation", "folder", "other")


@dataclass(frozen=True)
class Event:
    """A change of a file that is about to be made: create, write, replace, fsync, unlink, mkdir or rmdir."""

    what: str
    path: str
    data: bytes = b""
    source: str = ""

    @property
    def kind(self) -> str:
        """The kind of file; a temporary file counts as what it will be."""
        parts = Path(self.path).parts
        stem = Path(self.path).name.lstrip(".").partition(".")[0]
        if self.what in ("mkdir", "rmdir"):
            return "folder"
        if "checkpoints" in parts:
            return "checkpoint"
        if "attacks" in parts:
            return "attack"
        return stem if stem in KINDS else "other"


Answer = Callable[[Event], int | None]
"""A fault: asked before a change; may kill or raise, or tell how many bytes of a write are to be made before `fail`."""


@dataclass
class Fault:
    """Do nothing but count."""

    counts: Counter[str] = field(default_factory=Counter)

    def ask(self, event: Event) -> int | None:
        """Answer an event: None to go on, or how many bytes of it to write before `fail` is called."""
        self.counts[event.kind] += 1
        return None

    def fail(self, event: Event) -> None:
        """Do what follows after a part of a write."""

    def done(self, event: Event) -> None:
        """Take note of a change that was made."""


@dataclass
class Kill(Fault):
    """Kill the process at the n-th change of a kind of file, in the middle if it is a write."""

    kind: str = ""
    number: int = 1
    note: int = -1  # a descriptor to which the event is written

    def ask(self, event: Event) -> int | None:
        super().ask(event)
        if event.kind != self.kind or self.counts[event.kind] < self.number:
            return None
        if event.what == "write":
            return len(event.data) // 2
        self.fail(event)
        return None

    def fail(self, event: Event) -> None:
        os.write(self.note, event.what.encode())
        os.kill(os.getpid(), signal.SIGKILL)


@dataclass
class Full(Fault):
    """A disk that is full from the n-th change on: half a write, then an error; nothing can be created or made."""

    number: int = 1
    note: int = -1

    def ask(self, event: Event) -> int | None:
        super().ask(event)
        if self.counts.total() < self.number or event.what not in ("write", "create", "mkdir"):
            return None
        if event.what == "write" and event.data:
            return len(event.data) // 2
        self.fail(event)
        return None

    def fail(self, event: Event) -> None:
        os.write(self.note, f"{event.what} {event.kind}\n".encode())
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@dataclass
class Log(Fault):
    """A list of all changes, in order."""

    events: list[Event] = field(default_factory=list)

    def done(self, event: Event) -> None:
        self.events.append(event)


class File:
    """A file that is written: what it is asked to write passes by the fault."""

    def __init__(self, file: Any, path: str, fault: Fault, lock: threading.RLock) -> None:
        self._file, self._path, self._fault, self._lock = file, path, fault, lock

    def write(self, data: Any) -> int:
        with self._lock:
            raw = data.encode() if isinstance(data, str) else bytes(data)
            event = Event("write", self._path, raw)
            if (part := self._fault.ask(event)) is not None:
                self._file.write(data[:part])
                self._file.flush()
                self._fault.fail(event)
            written = self._file.write(data)
            self._fault.done(event)
            return int(written)

    def __enter__(self) -> "File":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


def watch(root: Path, fault: Fault) -> None:
    """Let a fault answer every change of a file under a folder, in this process, from now on."""
    top, lock = f"{root.resolve()}{os.sep}", threading.RLock()
    real_open = io.open

    def inside(path: str) -> bool:
        return path.startswith(top) or path + os.sep == top

    def opened(file: Any, mode: str = "r", *arguments: Any, **options: Any) -> Any:
        path = "" if isinstance(file, int) else str(Path(os.fsdecode(file)).absolute())
        if not inside(path) or "opener" in options or not set(mode) & set("wax+"):  # opener: a file without a name
            return real_open(file, mode, *arguments, **options)
        with lock:
            if "w" in mode or not Path(path).exists():
                event = Event("create", path)
                fault.ask(event)
                found = real_open(file, mode, *arguments, **options)
                fault.done(event)
            else:
                found = real_open(file, mode, *arguments, **options)
            return File(found, path, fault, lock)

    def changing(what: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def change(path: Any, *arguments: Any, dir_fd: int | None = None, **options: Any) -> Any:
            place = _path(path, dir_fd)
            if not inside(place):
                return real(path, *arguments, **options, **({} if dir_fd is None else {"dir_fd": dir_fd}))
            source, target = (
                (place, str(Path(os.fsdecode(arguments[0])).absolute())) if what == "replace" else ("", place)
            )
            with lock:
                event = Event(what, target, source=source)
                fault.ask(event)
                result = real(path, *arguments, **options, **({} if dir_fd is None else {"dir_fd": dir_fd}))
                fault.done(event)
                return result

        return change

    io.open = builtins.open = opened
    for what, names in {"replace": ("replace", "rename"), "unlink": ("unlink", "remove")}.items():
        for name in names:
            setattr(os, name, changing(what, getattr(os, name)))
    for what in ("mkdir", "rmdir", "fsync"):
        setattr(os, what, changing(what, getattr(os, what)))


def _path(path: Any, folder: int | None) -> str:
    """Find the absolute path of what `os` was given: a path, perhaps in an open folder, or a descriptor."""
    if isinstance(path, int):
        return str(Path(f"/proc/self/fd/{path}").readlink())
    above = Path.cwd() if folder is None else Path(f"/proc/self/fd/{folder}").readlink()
    return str(above / os.fsdecode(path))
