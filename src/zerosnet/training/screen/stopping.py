"""Decide when to stop and when to save: signals, a time limit, and the interval between checkpoints."""

import math
import re
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType, TracebackType
from typing import Any, Self

from zerosnet.errors import InputError

FIRST_SAVE = 10.0  # seconds of training after which the first checkpoint is due: a new user stops early
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
