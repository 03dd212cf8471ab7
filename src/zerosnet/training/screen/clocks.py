"""The clocks of a training: when to stop and to save, where its start went, and how long it will take."""

import math
import os
import re
import signal
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, Protocol, Self

from zerosnet.errors import InputError

FIRST_SAVE = 5.0  # seconds of training after which the first checkpoint is due: a new user stops early
ECHO = 1.0  # seconds in which a signal is the same one again: torchrun hands on what the terminal sent to all


@dataclass(frozen=True)
class SaveInterval:
    """The interval between checkpoints: a number of epochs, or of seconds, also inside an epoch."""

    epochs: int | None = None
    seconds: float | None = None

    @classmethod
    def parse(cls, text: str) -> "SaveInterval":
        """Read a number of epochs, or of seconds with an s.

        Examples:
            >>> SaveInterval.parse("5"), SaveInterval.parse("60s")
            (SaveInterval(epochs=5, seconds=None), SaveInterval(epochs=None, seconds=60.0))
        """
        match = re.fullmatch(r"(\d+(?:\.\d+)?)s|(\d+)", text.strip())
        number = float(match[1] or match[2]) if match else 0.0
        if match is None or not 0 < number < math.inf:
            raise InputError(f"checkpoint-every is {text!r}; expected epochs, such as 5, or seconds, such as 60s")
        return cls(seconds=number) if match[1] else cls(epochs=int(number))

    def __str__(self) -> str:
        return f"{self.seconds:g}s" if self.epochs is None else str(self.epochs)


class SaveTimer:
    """A timer that knows when a checkpoint is due; the first one comes soon, whatever the interval."""

    def __init__(self, every: SaveInterval) -> None:
        self.every, self._saved, self._first = every, time.monotonic(), True

    def due_after_step(self) -> bool:
        if self._first and time.monotonic() - self._saved >= FIRST_SAVE:
            return True
        return self.every.seconds is not None and time.monotonic() - self._saved >= self.every.seconds

    def due_after_epoch(self, epoch: int) -> bool:
        return self.due_after_step() or (self.every.epochs is not None and epoch % self.every.epochs == 0)

    def saved(self) -> None:
        self._saved, self._first = time.monotonic(), False


class Clock:
    """A watch on the time and the signals of a command; the training asks it after every step.

    SIGINT and SIGTERM are noted, so that training stops at the end of a step, with a checkpoint; another one, a moment
    later, stops at once. The old handlers come back at the end.
    """

    def __init__(self, max_seconds: float | None = None) -> None:
        if max_seconds is not None and not max_seconds > 0:
            raise InputError(f"max-seconds is {max_seconds}; expected a number above 0")
        self.deadline = None if max_seconds is None else time.monotonic() + max_seconds
        self.signal: signal.Signals | None = None
        self.failed = False
        self._noted = 0.0
        self._old: dict[signal.Signals, Any] = {}

    def must_stop(self) -> bool:
        late = self.deadline is not None and time.monotonic() >= self.deadline
        return late or self.failed or self.signal is not None

    @contextmanager
    def stopped_by_errors(self) -> Iterator[None]:
        """Stop the threads beside this one too, cleanly, if something fails inside."""
        try:
            yield
        except BaseException:
            self.failed = True
            raise

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._old = {number: signal.signal(number, self._note) for number in (signal.SIGINT, signal.SIGTERM)}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._old.items():
            signal.signal(number, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.signal is None:
            self.signal, self._noted = signal.Signals(number), time.monotonic()
        elif time.monotonic() - self._noted > ECHO:
            raise KeyboardInterrupt


_MARKS: dict[str, float] = {}  # seconds since the process began, by what was done by then


def mark(done: str) -> None:
    """Note that a part of the start is done; the first time counts."""
    _MARKS.setdefault(done, process_seconds())


def start_line() -> str:
    """Describe the start so far, each part with its own seconds."""
    parts, before = [], 0.0
    for done, seconds in _MARKS.items():
        parts.append(f"{done} {seconds - before:.1f}")
        before = seconds
    return f"start: {before:.1f} s ({', '.join(parts)})"


def process_seconds() -> float:
    """Seconds since this process began; since this module was imported if the system does not tell."""
    try:
        ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
        return time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, AttributeError, ValueError):
        return time.monotonic() - _IMPORTED


_IMPORTED = time.monotonic()


class WorkPiece(Protocol):
    """A piece of work on its way: `done` of `total` steps, `first` of which were done before."""

    first: int
    done: int
    total: int

    @property
    def over(self) -> bool: ...

    def seconds_left(self) -> float | None: ...


class Outlook:
    """The work to be done, by name, in any unit; each piece of it has several names.

    A piece that has not begun counts as a whole, even if a part was done before. Pieces may report from several
    threads.
    """

    def __init__(self) -> None:
        self._waiting: dict[str, float] = {}
        self._begun: list[tuple[WorkPiece, float]] = []
        self._since = 0.0
        self._lock = threading.Lock()

    def expect(self, work: Mapping[str, float]) -> None:
        with self._lock:
            self._waiting |= work

    def forget(self, name: str) -> None:
        """Take back work that another process does or has done."""
        with self._lock:
            self._waiting.pop(name, None)

    def begin(self, piece: WorkPiece, names: Iterable[str]) -> None:
        """Let the steps of a piece stand for the work of these names from now on."""
        with self._lock:
            self._since = self._since or time.monotonic()
            self._begun.append((piece, sum(self._waiting.pop(name, 0.0) for name in names)))

    def left(self) -> str | None:
        """Write how long all of it will take; None if only one piece is at work, or nothing is known."""
        seconds = self.seconds_left()
        return None if seconds is None else duration(seconds)

    def seconds_left(self) -> float | None:
        """Estimate how long all of it will take; None if only one piece is at work, or nothing is known.

        The estimate is the rest at the pace so far, but never less than the slowest of the pieces at work.
        """
        with self._lock:
            done = sum(work * (piece.done - piece.first) / max(piece.total, 1) for piece, work in self._begun)
            going = [(piece, work) for piece, work in self._begun if not piece.over]
            if not done or (len(going) < 2 and not self._waiting):
                return None
            rest = sum(work * (1 - piece.done / piece.total) for piece, work in going) + sum(self._waiting.values())
            slowest = max((piece.seconds_left() or 0.0 for piece, _ in going), default=0.0)
            return max((time.monotonic() - self._since) / done * rest, slowest)


class Countdown:
    """A time left that runs down evenly: it follows new estimates slowly, over about `over` seconds.

    Examples:
        >>> countdown = Countdown(over=10.0)
        >>> countdown.show(60.0, now=0.0), countdown.show(79.0, now=1.0)
        ('1:00', '1:01')
    """

    def __init__(self, over: float = 10.0) -> None:
        self._over = over
        self._value: float | None = None
        self._at = 0.0

    def show(self, estimate: float | None, now: float) -> str:
        """Write the time left at this moment, given the newest estimate; "?" as long as there is none."""
        if estimate is None:
            return "?" if self._value is None else duration(self._value)
        if self._value is None:
            self._value = estimate
        else:
            expected = max(0.0, self._value - (now - self._at))
            self._value = expected + (estimate - expected) * min(1.0, (now - self._at) / self._over)
        self._at = now
        return duration(self._value)


def duration(seconds: float) -> str:
    """Write a number of seconds as 4:45, or 1:04:45."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}" if minutes >= 60 else f"{minutes}:{rest:02d}"
