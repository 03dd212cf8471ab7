"""Progress bars of a command that measures: a labelled bar per group on a terminal, plain lines elsewhere."""

import sys
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self


class Bars:
    """Bars on stderr, for the duration of a `with` block."""

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

    def say(self, line: str) -> None:
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
