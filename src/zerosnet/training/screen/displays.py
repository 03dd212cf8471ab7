"""The progress of a training and how long it will take, on stderr: in lines here, in a `live_table` on a terminal."""

import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Protocol, Self

from zerosnet.training.options import ASKED_FOR
from zerosnet.training.runs.spec import RunSpec

Row = Mapping[str, Any]
"""The metrics of an epoch, by name."""
SILENCE = 60.0  # seconds after which a line reports how many steps are done
_REPORTED: dict[str, object] = {}  # reasons for plain torch that this process has reported


@dataclass
class GroupProgress:
    """The progress of a group of runs: `done` of `total` steps, and the newest metrics of every run (None: none yet).

    A run that has diverged keeps the metrics it had then, and is no longer one of the `living`.
    """

    specs: Sequence[RunSpec]
    rows: Sequence[Row | None]
    done: int
    total: int
    changed: "Callable[[GroupProgress, bool], None]"
    """Called after every step (False) and every epoch (True)."""
    first: int = field(init=False)
    since: float = field(init=False)
    living: Sequence[bool] = field(init=False)

    def __post_init__(self) -> None:
        self.first, self.since = self.done, time.monotonic()
        self.living = [True] * len(self.specs)

    def step(self, done: int) -> None:
        self.done = done
        self.changed(self, False)

    def epoch(self, rows: Sequence[Row | None], living: Sequence[bool]) -> None:
        self.rows, self.living = rows, list(living)
        self.changed(self, True)

    @property
    def over(self) -> bool:
        return self.done >= self.total or not any(self.living)

    def seconds_left(self) -> float | None:
        """Estimate the seconds left from the pace so far; None before the first step."""
        if self.done == self.first:
            return None
        pace = (time.monotonic() - self.since) / (self.done - self.first)
        return pace * (self.total - self.done)

    def left(self) -> str:
        seconds = self.seconds_left()
        return "?" if seconds is None else duration(seconds)


class Outlook:
    """The work to be done, by name, in any unit; each piece of it has several names.

    A piece that has not begun counts as a whole, even if a part was done before. Pieces may report from several
    threads.
    """

    def __init__(self) -> None:
        self._waiting: dict[str, float] = {}
        self._begun: list[tuple[GroupProgress, float]] = []
        self._since = 0.0
        self._lock = threading.Lock()

    def expect(self, work: Mapping[str, float]) -> None:
        with self._lock:
            self._waiting |= work

    def forget(self, name: str) -> None:
        """Take back work that another process does or has done."""
        with self._lock:
            self._waiting.pop(name, None)

    def begin(self, piece: GroupProgress, names: Iterable[str]) -> None:
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


def duration(seconds: float) -> str:
    """Write a number of seconds as 4:45, or 1:04:45."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}" if minutes >= 60 else f"{minutes}:{rest:02d}"


class Progress(Protocol):
    """A display that the engine reports to, from several threads if several groups train side by side."""

    def expect(self, work: Mapping[str, float]) -> None:
        """Announce the work to come, by run id, in any unit: for an estimate of the time that all of it takes."""

    def forget(self, run: str) -> None:
        """Take back a run that was announced, because another process has it or it has ended."""

    def group(self, specs: Sequence[RunSpec], rows: Sequence[Row | None], done: int, total: int) -> GroupProgress: ...

    def report(self, line: str) -> None: ...

    def measure(self, done: int, total: int) -> None:
        """Report that so many of the measurements after the training are done."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class Lines:
    """Plain lines: one per epoch and group, and one per minute if epochs are long; nothing at all if quiet.

    If several groups train side by side, each line names its group.
    """

    def __init__(self, quiet: bool = False, clock: Callable[[], float] = time.monotonic) -> None:
        self.quiet, self.outlook = quiet, Outlook()
        self._clock, self._said = clock, clock()
        self._measuring = 0.0
        self._groups: list[GroupProgress] = []

    def expect(self, work: Mapping[str, float]) -> None:
        self.outlook.expect(work)

    def forget(self, run: str) -> None:
        self.outlook.forget(run)

    def group(self, specs: Sequence[RunSpec], rows: Sequence[Row | None], done: int, total: int) -> GroupProgress:
        for spec in specs:
            self.report(f"training {describe(spec)}" + (f", from step {done} of {total}" if done else ""))
        group = GroupProgress(specs, rows, done, total, self._changed)
        self._groups = [*(other for other in self._groups if not other.over), group]
        self.outlook.begin(group, (spec.id for spec in specs))
        return group

    def report(self, line: str) -> None:
        self._said = self._clock()
        if not self.quiet:
            print(f"{line}\n", end="", file=sys.stderr, flush=True)  # in one piece, whatever other threads print

    def measure(self, done: int, total: int) -> None:
        if done == 0:
            self._measuring = self._clock()
        if done < total:
            left = (self._clock() - self._measuring) / done * (total - done) if done else None
            self.report(f"measurement {done + 1} of {total}" + (f", left {duration(left)}" if left is not None else ""))

    def _changed(self, group: GroupProgress, epoch: bool) -> None:
        if epoch and any(row is not None for row in group.rows):
            in_all = self.outlook.left()
            self.report(self._whose(group) + epoch_line(group) + (f", in all {in_all}" if in_all else ""))
        elif not epoch and self._clock() - self._said >= SILENCE:
            self.report(f"{self._whose(group)}step {group.done}/{group.total}  left {group.left()}")

    def _whose(self, group: GroupProgress) -> str:
        if self._groups == [group]:
            return ""
        others = f" and {len(group.specs) - 1} more" if len(group.specs) > 1 else ""
        return f"{group.specs[0].id}{others}: "

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass


def progress(quiet: bool = False) -> Progress:
    """Choose the display: the live table on a terminal, lines elsewhere."""
    if quiet or not sys.stderr.isatty():
        return Lines(quiet)
    from zerosnet.training.screen.live_table import LiveTable

    return LiveTable()


def say_recipes(specs: Sequence[RunSpec], progress: Progress) -> None:
    """Report every recipe of these runs once, resolved, with all its numbers."""
    for recipe in dict.fromkeys(spec.recipe for spec in specs):
        for line in f"recipe {recipe.describe()}".splitlines():
            progress.report(line)


def report_plain_torch(why: str, report: Callable[[str], None]) -> None:
    """Report once in a process why plain torch computes what our kernels might; not if it was asked for."""
    mine = object()
    if why and why != ASKED_FOR and _REPORTED.setdefault(why, mine) is mine:
        report(f"plain torch instead of the native kernels: {why}")


def describe(spec: RunSpec) -> str:
    """Describe a run in a few words: model, scheme if it is not the model's own, data set, recipe, seed."""
    return " ".join([network_words(spec), spec.dataset, spec.recipe.name, f"seed {spec.seed}"])


def network_words(spec: RunSpec) -> str:
    """Describe the network of a run: model, and scheme if it is not the model's own."""
    return spec.model if spec.scheme is None else f"{spec.model} ({spec.scheme.name})"


def epoch_line(group: GroupProgress) -> str:
    """Describe an epoch of a group: the range over the living networks, and the seconds of all together."""
    networks, epochs = len(group.specs), group.specs[0].recipe.epochs
    rows = [row for row, lives in zip(group.rows, group.living) if row is not None and lives]
    if not rows:
        reached = max(row["epoch"] for row in group.rows if row is not None)
        return f"epoch {reached}/{epochs}  " + ("all networks" if networks > 1 else "the network") + " diverged"
    count = f"{networks}" if len(rows) == networks else f"{len(rows)} of {networks}"
    parts = [
        f"epoch {rows[0]['epoch']}/{epochs}",
        f"{count} x" if networks > 1 else "",
        "loss " + span([row["train_loss"] for row in rows], "{:.4f}"),
        "train " + span([row["train_accuracy"] for row in rows], "{:.2%}"),
        "test " + span([row["test_accuracy"] for row in rows], "{:.2%}"),
        f"{networks * rows[0]['seconds']:.1f} s",
        f"left {group.left()}",
    ]
    return "  ".join(part for part in parts if part)


def span(values: Sequence[float | None], form: str) -> str:
    """Write the lowest and highest of several numbers; "-" if there is none."""
    finite = [value for value in values if value is not None and value - value == 0]
    if not finite:
        return "-"
    low, high = form.format(min(finite)), form.format(max(finite))
    return low if low == high else f"{low}..{high}"
