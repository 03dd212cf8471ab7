"""The live table of a training on a terminal: bars, times left that run down evenly, and one row per run."""

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from zerosnet.training.runs.spec import RunSpec
from zerosnet.training.screen.displays import GroupProgress, Outlook, Row, describe, duration, network_words, span

REFRESH = 0.25  # seconds between two pictures of the live table
WARM_UP = 3  # steps before a time left is shown


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


@dataclass
class TimedGroup(GroupProgress):
    """A group with what the table alone shows."""

    countdown: Countdown = field(default_factory=Countdown)

    @property
    def label(self) -> str:
        """What is trained, in a few words: "3 x zerosnet20 on digits, quick"."""
        models = ", ".join(dict.fromkeys(spec.model for spec in self.specs))
        count = f"{len(self.specs)} x " if len(self.specs) > 1 else ""
        return f"{count}{models} on {self.specs[0].dataset}, {self.specs[0].recipe.name}"


class LiveTable:
    """A table that stays in place: one bar per group, and below, where a small terminal cuts it, one row per run."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.live import Live

        self.console = Console(stderr=True)
        self.live = Live(console=self.console, auto_refresh=False)
        self.groups: list[TimedGroup] = []
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
        group = TimedGroup(specs, rows, done, total, self._changed)
        with self._lock:
            self.outlook.begin(group, (spec.id for spec in specs))
            over = [other for other in self.groups if other.over]
            self.groups = [other for other in self.groups if other not in over] + [group]
        for other in over:
            for spec, row in zip(other.specs, other.rows):
                self.report(f"{describe(spec)}: test {cells(row or {})[2]}")
        self._changed(group, True)
        return group

    def report(self, line: str) -> None:
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


_FORMS = {
    "train_loss": "{:.4f}",
    "train_accuracy": "{:.2%}",
    "test_accuracy": "{:.2%}",
    "best_test_accuracy": "{:.2%}",
}


def cells(row: Row) -> list[str]:
    """Write the numbers of a line of the live table."""
    return [span([row.get(name)], form) for name, form in _FORMS.items()]
