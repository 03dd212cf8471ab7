"""Estimate how long work in several pieces will take, from the pace so far."""

import threading
import time
from collections.abc import Iterable, Mapping
from typing import Protocol


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
