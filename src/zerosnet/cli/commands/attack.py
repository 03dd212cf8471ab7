"""`zerosnet attack`: what perturbations do to finished runs."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from zerosnet.cli.main import app
from zerosnet.errors import InputError

if TYPE_CHECKING:
    from rich.table import Table

    from zerosnet.robustness import ProtocolResult

_WIDTH_OF_PLAIN_OUTPUT = 160


@app.command(short_help="Run a robustness protocol on finished runs.")
def attack(
    runs: Annotated[
        list[str], typer.Argument(help="Runs, by id or a part of it that only one run has, or trained networks.")
    ],
    protocol: str = typer.Option(help="paper-noise, paper-fgsm, paper-pgd, pgd-whitebox, autoattack or corruptions."),
    store: str = typer.Option("runs", help="The folder that holds the runs."),
    data: str | None = typer.Option(None, help="The folder that holds the data set, and CIFAR-10-C if it is there."),
    device: str = typer.Option("auto", help="auto, cpu or cuda."),
    restarts: int | None = typer.Option(None, help="Restarts of pgd-whitebox (5)."),
    images: int | None = typer.Option(None, help="Use so many test images, chosen at random by seed 1 (all)."),
    again: bool = typer.Option(False, "--again", help="Measure anew what the store has already."),
    json: bool = typer.Option(False, "--json", help="One JSON document on stdout: a list of objects, one a run."),
) -> None:
    """Run a robustness protocol on finished runs; the results are kept in the store, beside the runs.

    Runs of the same architecture are attacked side by side. Every adversarial number comes with its sanity checks;
    failed ones are shown as warnings, and those that could not be made are named. Of a trained network that comes with
    zerosnet, such as zerosnet20_opt.cifar10, nothing is kept.
    """
    import sys
    from contextlib import ExitStack, redirect_stdout

    from zerosnet.models import list_pretrained
    from zerosnet.training import Store, attack_runs, find_device, trained_run

    if not all(runs):
        raise InputError("a run's name is empty; expected its id, or a part of it that only one run has")

    def say(line: str) -> None:
        print(line, file=sys.stderr)

    with ExitStack() as stack:
        stack.enter_context(redirect_stdout(sys.stderr))  # what other packages print goes there: stdout is for results
        trained = list_pretrained()
        results = attack_runs(
            Store(store),
            [stack.enter_context(trained_run(run)) if run in trained else run for run in runs],
            protocol,
            device=find_device(device),
            data=None if data is None else Path(data),
            restarts=restarts,
            images=images,
            again=again,
            say=say,
        )
    if json:
        import json as encoder

        print(encoder.dumps([{"run": run, **result.to_json()} for run, result in results.items()], indent=2))
        return
    from rich.console import Console

    console = Console(width=None if sys.stdout.isatty() else _WIDTH_OF_PLAIN_OUTPUT, highlight=False)
    if any(result.rows for result in results.values()):
        for line in _names(results):
            console.print(line, markup=False)
        console.print(_table(results))
    for line in _remarks(results):
        console.print(line, markup=False)


def _table(results: "dict[str, ProtocolResult]") -> "Table":
    """Make a table with one line per setting and one column per run; several runs are named by their number."""
    from rich import box
    from rich.table import Table

    measured = [result for result in results.values() if result.rows]
    alone = len(measured) == 1
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column("" if alone else "accuracy, %", no_wrap=True)
    for number, result in enumerate(measured, start=1):
        table.add_column(("accuracy, %" if alone else str(number)) + _mark(result), justify="right")
    columns = [{row.label: f"{100 * row.accuracy:.2f}" for row in result.rows} for result in measured]
    for label in dict.fromkeys(label for column in columns for label in column):
        table.add_row(label, *(column.get(label, "-") for column in columns))
    return table


def _names(results: "dict[str, ProtocolResult]") -> list[str]:
    """List the runs of the table, numbered as its columns are."""
    names = [f"{run}{_mark(result)}" for run, result in results.items() if result.rows]
    return names if len(names) == 1 else [f"{number:3}  {name}" for number, name in enumerate(names, start=1)]


def _mark(result: "ProtocolResult") -> str:
    return " (!)" if result.warnings else ""


def _remarks(results: "dict[str, ProtocolResult]") -> list[str]:
    """List what was not run, notes, sanity checks that were not made, and those that failed."""
    notes = {note: None for result in results.values() for note in result.notes}
    not_made = {check: None for result in results.values() for check in result.not_made}
    lines = [f"not run: {run}: {result.not_run}" for run, result in results.items() if result.not_run]
    lines += [f"note: {note}" for note in notes]
    lines += [f"sanity check not made: {check}" for check in not_made]
    return lines + [f"WARNING (!) {run}: {warning}" for run, result in results.items() for warning in result.warnings]
