"""`zerosnet runs`: what is in the store."""

from typing import TYPE_CHECKING, Any

import typer

from zerosnet.cli.main import app
from zerosnet.environment import ORIGIN_MARKS

if TYPE_CHECKING:
    from rich.table import Table

    from zerosnet.training import RunRecord

_WIDTH_OF_PLAIN_OUTPUT = 160
_COLOURS = {"finished": "green", "running": "cyan", "diverged": "red", "stopped": "yellow"}


@app.command(short_help="Show every run in the store, how far it is, and its accuracies.")
def runs(
    store: str = typer.Option("runs", help="The folder that holds the runs."),
    json: bool = typer.Option(False, "--json", help="One JSON document on stdout: a list of objects."),
) -> None:
    """Show what is in the store: every run, how far it is, and its accuracies once it has ended."""
    import sys

    from zerosnet.training import Store

    records, problems = Store(store).scan()
    if json:
        import json as encoder

        print(encoder.dumps([record.summary() for record in records], indent=2))
    elif records:
        from rich.console import Console

        console = Console(width=None if sys.stdout.isatty() else _WIDTH_OF_PLAIN_OUTPUT, highlight=False)
        lines = [record.summary() for record in records]
        console.print(_table(records, lines))
        console.print("test, best: accuracies in %; --json has more")
        for line in _legend(lines):
            console.print(line)
    else:
        there = Store(store).root.exists()
        if problems:
            print(f"No run in the folder {store} can be read.")
        else:
            print(f"There are no runs in the folder {store}{'' if there else ', which does not exist'}.")
    for problem in problems:
        print(f"zerosnet: {problem}", file=sys.stderr)


def _table(records: "list[RunRecord]", lines: list[dict[str, Any]]) -> "Table":
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    schemes = any(line["scheme"] for line in lines)
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("run", overflow="fold")
    if schemes:
        table.add_column("scheme", overflow="fold")
    table.add_column("status")
    for name in ("epochs", "test", "best"):
        table.add_column(name, justify="right", no_wrap=True)
    for record, line in zip(records, lines, strict=True):
        status = f"[{_COLOURS[record.status]}]{record.status}[/]"
        accuracies = (_percent(line.get(f"{kind}_accuracy")) for kind in ("test", "best_test"))
        epochs = f"{line['epochs']}/{record.spec.recipe.epochs}"
        table.add_row(_title(line), *([escape(line["scheme"] or "")] if schemes else []), status, epochs, *accuracies)
    return table


def _legend(lines: list[dict[str, Any]]) -> list[str]:
    """Explain the marks beside the runs."""
    found = {line["origin_problem"] for line in lines}
    return [f"{mark} {problem}" for problem, mark in ORIGIN_MARKS.items() if problem in found]


def _title(line: dict[str, Any]) -> str:
    """Write the id and what was changed in its recipe or precision, so that no two runs look the same."""
    from rich.markup import escape

    keys = ("precision", "validation", "stage_change", "beta_growth", "init_growth")
    given = {key: line[key] for key in keys if line[key] is not None}
    changed = ", ".join(f"{key} {value}" for key, value in (line["changes"] | given).items())
    mark = ORIGIN_MARKS.get(line["origin_problem"], "")
    name = escape(f"{line['id']} {mark}".strip())
    return f"{name}\n  [dim]{escape(changed)}[/]" if changed else name


def _percent(accuracy: float | None) -> str:
    return "" if accuracy is None else f"{100 * accuracy:.2f}"
