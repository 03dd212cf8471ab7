"""Drawings of commands on a terminal: progress bars, curves in a line, and things side by side."""

import sys
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from types import TracebackType
from typing import Any, Self

from zerosnet.cli.output import console

_LEVELS = "▁▂▃▄▅▆▇█"
_LONGEST_CURVE = 27
_NARROWEST = 29  # a curve and a gap


def sparkline(values: Sequence[float], low: float = 0.0, high: float = 1.0) -> str:
    """Draw numbers as a line of blocks of eight heights; long ones are averaged to 27 places.

    Examples:
        >>> sparkline([0.0, 0.5, 1.0])
        '▁▅█'
    """
    places = min(len(values), _LONGEST_CURVE)
    edges = [round(i * len(values) / places) for i in range(places + 1)]
    means = [sum(values[a:b]) / (b - a) for a, b in pairwise(edges)]
    reach = (high - low) or 1.0
    top = len(_LEVELS) - 1
    return "".join(_LEVELS[min(top, max(0, round(top * (value - low) / reach)))] for value in means)


def print_side_by_side(names: Sequence[str], facts: Sequence[Mapping[str, str]]) -> None:
    """Print tables of facts, a column per thing; a fact that nothing has is left out."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    screen = console()
    every = dict.fromkeys(label for one in facts for label in one)
    labels = [label for label in every if any(one.get(label) for one in facts)]
    first = max(map(len, labels), default=0) + 1
    together = max(1, (screen.width - first) // _NARROWEST)
    for begin in range(0, len(names), together):
        part = facts[begin : begin + together]
        table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
        table.add_column("", style="cyan", no_wrap=True)
        for name in names[begin : begin + together]:
            table.add_column(name, overflow="fold")
        for label in labels:
            table.add_row(label, *(Text(one.get(label) or "-") for one in part))
        if begin:
            screen.print()
        screen.print(table)


class Bars:
    """Progress bars on stderr for the duration of a `with` block, one per group; plain lines if it is no terminal."""

    def __init__(self) -> None:
        self._shown: Any = None

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

            columns = (TextColumn("{task.description}"), BarColumn(bar_width=20), TaskProgressColumn())
            left = TextColumn("left"), TimeRemainingColumn(compact=True)
            self._shown = Progress(*columns, *left, console=Console(stderr=True, highlight=False), transient=True)
            self._shown.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._shown is not None:
            self._shown.stop()

    def report(self, line: str) -> None:
        """Print a line above the bars."""
        if self._shown is None:
            print(line, file=sys.stderr, flush=True)
        else:
            self._shown.console.print(line, markup=False)

    def add(self, label: str, total: int | None) -> Callable[[int], None]:
        """Add a bar, moving to and fro if the total is not known; return the function that moves it forward."""
        if self._shown is None:
            return lambda done: None
        from rich.markup import escape

        task = self._shown.add_task(escape(label), total=total)

        def advance(done: int) -> None:
            reached = self._shown.tasks[self._shown.task_ids.index(task)].completed + done
            self._shown.update(task, completed=reached if total is None else min(reached, total))

        return advance
