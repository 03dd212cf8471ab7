"""Displays of the progress on stderr: a live table on a terminal, one line per epoch elsewhere."""

import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Protocol, Self

from zerosnet.training.runs.spec import RunSpec
from zerosnet.training.screen.clocks import Countdown, Outlook, duration
from zerosnet.training.screen.words import Row, cells, describe, epoch_line, network_words

REFRESH = 0.25  # seconds between two pictures of the live table
WARM_UP = 3  # steps before a time left is shown
SILENCE = 60.0  # seconds after which a line reports how many steps are done


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
    countdown: Countdown = field(default_factory=Countdown)
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
    def label(self) -> str:
        """What is trained, in a few words: "3 x zerosnet20 on digits, quick"."""
        models = ", ".join(dict.fromkeys(spec.model for spec in self.specs))
        count = f"{len(self.specs)} x " if len(self.specs) > 1 else ""
        return f"{count}{models} on {self.specs[0].dataset}, {self.specs[0].recipe.name}"

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


class Progress(Protocol):
    """A display that the engine reports to, from several threads if several groups train side by side."""

    def expect(self, work: Mapping[str, float]) -> None:
        """Announce the work to come, by run id, in any unit: for an estimate of the time that all of it takes."""

    def forget(self, run: str) -> None:
        """Take back a run that was announced, because another process has it or it has ended."""

    def group(self, specs: Sequence[RunSpec], rows: Sequence[Row | None], done: int, total: int) -> GroupProgress: ...

    def say(self, line: str) -> None: ...

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
            self.say(f"training {describe(spec)}" + (f", from step {done} of {total}" if done else ""))
        group = GroupProgress(specs, rows, done, total, self._changed)
        self._groups = [*(other for other in self._groups if not other.over), group]
        self.outlook.begin(group, (spec.id for spec in specs))
        return group

    def say(self, line: str) -> None:
        self._said = self._clock()
        if not self.quiet:
            print(f"{line}\n", end="", file=sys.stderr, flush=True)  # in one piece, whatever other threads print

    def measure(self, done: int, total: int) -> None:
        if done == 0:
            self._measuring = self._clock()
        if done < total:
            left = (self._clock() - self._measuring) / done * (total - done) if done else None
            self.say(f"measurement {done + 1} of {total}" + (f", left {duration(left)}" if left is not None else ""))

    def _changed(self, group: GroupProgress, epoch: bool) -> None:
        if epoch and any(row is not None for row in group.rows):
            in_all = self.outlook.left()
            self.say(self._whose(group) + epoch_line(group) + (f", in all {in_all}" if in_all else ""))
        elif not epoch and self._clock() - self._said >= SILENCE:
            self.say(f"{self._whose(group)}step {group.done}/{group.total}  left {group.left()}")

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


class LiveTable:
    """A table that stays in place: one bar per group, and below, where a small terminal cuts it, one row per run."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.live import Live

        self.console = Console(stderr=True)
        self.live = Live(console=self.console, auto_refresh=False)
        self.groups: list[GroupProgress] = []
        self.outlook = Outlook()
        self._lock = threading.Lock()
        self._shown = 0.0
        self._countdown = Countdown()
        self._measured = (0, 0, 0.0)
        self._measuring = Countdown()

    def expect(self, work: Mapping[str, float]) -> None:
        self.outlook.expect(work)

    def forget(self, run: str) -> None:
        self.outlook.forget(run)

    def group(self, specs: Sequence[RunSpec], rows: Sequence[Row | None], done: int, total: int) -> GroupProgress:
        group = GroupProgress(specs, rows, done, total, self._changed)
        with self._lock:
            self.outlook.begin(group, (spec.id for spec in specs))
            over = [other for other in self.groups if other.over]
            self.groups = [other for other in self.groups if other not in over] + [group]
        for other in over:
            for spec, row in zip(other.specs, other.rows):
                self.say(f"{describe(spec)}: test {cells(row or {})[2]}")
        self._changed(group, True)
        return group

    def say(self, line: str) -> None:
        self.console.print(line, highlight=False, markup=False)

    def _changed(self, group: GroupProgress, epoch: bool) -> None:
        if not epoch and time.monotonic() - self._shown < REFRESH:
            return
        with self._lock:
            self._shown = time.monotonic()
            self.live.update(self._picture(), refresh=True)

    def _picture(self) -> Any:
        from rich.console import Group
        from rich.progress_bar import ProgressBar
        from rich.table import Table

        table, bars = Table("run", box=None, pad_edge=False), Table.grid(padding=(0, 1))
        for heading in ("epoch", "loss", "train", "test", "best"):
            table.add_column(heading, justify="right")
        for group in self.groups:
            for spec, row in zip(group.specs, group.rows):
                name = f"{network_words(spec)} seed {spec.seed}"  # data and recipe stand beside the bar
                table.add_row(name, f"{row['epoch'] if row else 0}/{spec.recipe.epochs}", *cells(row or {}))
            if not group.over:
                bar = ProgressBar(total=group.total, completed=group.done, width=20)
                seconds = group.seconds_left() if group.done - group.first >= WARM_UP else None
                left = group.countdown.show(seconds, time.monotonic())
                bars.add_row(group.label, bar, f"step {group.done}/{group.total}", f"left {left}")
        in_all = self.outlook.seconds_left()
        if in_all is not None:
            bars.add_row("in all", "", "", f"left {self._countdown.show(in_all, time.monotonic())}")
        return Group(bars, table)

    def measure(self, done: int, total: int) -> None:
        """Draw a bar of its own: the training is over, and its table stands above."""
        from rich.progress_bar import ProgressBar
        from rich.table import Table

        now = time.monotonic()
        since = now if done == 0 else self._measured[2]
        self._measured = (done, total, since)
        bars = Table.grid(padding=(0, 1))
        left = self._measuring.show((now - since) / done * (total - done) if done else None, now)
        bar = ProgressBar(total=total, completed=done, width=40)
        bars.add_row("measuring", bar, f"{done}/{total}", "" if done == total else f"left {left}")
        self.live.update(bars, refresh=True)

    def __enter__(self) -> Self:
        self.live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.live.stop()


def progress(quiet: bool = False) -> Progress:
    """Choose the display: the live table on a terminal, lines elsewhere."""
    return LiveTable() if sys.stderr.isatty() and not quiet else Lines(quiet)


def say_recipes(specs: Sequence[RunSpec], progress: Progress) -> None:
    """Report every recipe of these runs once, resolved, with all its numbers."""
    for recipe in dict.fromkeys(spec.recipe for spec in specs):
        for line in f"recipe {recipe.describe()}".splitlines():
            progress.say(line)
