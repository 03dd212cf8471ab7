"""`zerosnet attack`: what perturbations do to finished runs."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from zerosnet.cli import output
from zerosnet.cli.drawings import Bars
from zerosnet.cli.main import app
from zerosnet.cli.options import announce
from zerosnet.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.table import Table

    from zerosnet.robustness import ProtocolResult, ResultRow

_LONGEST_LABEL = 34  # characters of a setting's name before it is folded


@app.command(short_help="Run a robustness protocol on finished runs.")
def attack(
    runs: Annotated[
        list[str], typer.Argument(help="Runs, by id or a part of it that only one run has, or trained networks.")
    ],
    protocol: str = typer.Option(
        help="paper-noise, paper-fgsm, paper-pgd, pgd-whitebox, autoattack, corruptions, smoothing."
    ),
    store: str = typer.Option("runs", help="The folder that holds the runs."),
    data: str | None = typer.Option(None, help="The folder that holds the data set, and CIFAR-10-C if it is there."),
    device: str = typer.Option("auto", help="auto, cpu, cuda or cuda:N."),
    eps: Annotated[
        list[str] | None,
        typer.Option(help="Radius of the attack, such as 8/255 or 0.03, instead of the protocol's; may be repeated."),
    ] = None,
    restarts: int | None = typer.Option(None, help="Random restarts of pgd-whitebox; 5 by default."),
    samples: int | None = typer.Option(None, help="Noisy samples per image for smoothing; 10,000 by default."),
    images: int | None = typer.Option(None, help="Number of test images, chosen at random by seed 1; all by default."),
    again: bool = typer.Option(False, "--again", help="Measure again what the store has already."),
    plot: str | None = typer.Option(None, metavar="FILE", help=output.PLOT_HELP),
    json: bool = typer.Option(False, "--json", help="One JSON document on stdout: a list of objects, one per run."),
) -> None:
    """Run a robustness protocol on finished runs; the results are kept in the store, beside the runs.

    Runs of the same architecture are attacked side by side. Every adversarial number comes with its sanity checks:
    failed ones are printed as warnings, and those that could not be made are named. For a trained network that comes
    with zerosnet, such as zerosnet20_opt.cifar10, results are printed and not kept.
    """
    import sys
    from contextlib import ExitStack, redirect_stdout

    from zerosnet.robustness import read_radius

    if not all(runs):
        raise InputError("a run's name is empty; expected its id, or a part of it that only one run has")
    radii = None if not eps else tuple(dict.fromkeys(read_radius(text) for text in eps))
    target = output.checked_plot(plot)
    announce(f"{protocol} on {', '.join(runs[:3])}{' ...' if len(runs) > 3 else ''}")
    from zerosnet.models import list_pretrained
    from zerosnet.training import Store, attack_runs, find_device, trained_run

    with ExitStack() as stack:
        bars = stack.enter_context(Bars())
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
            eps=radii,
            samples=samples,
            again=again,
            report=bars.report,
            bar=bars.add,
        )
    if json:
        import json as encoder

        print(encoder.dumps([{"run": run, **result.to_json()} for run, result in results.items()], indent=2))
    else:
        _show(results)
    output.draw(target, lambda: _figure(results), quiet=json)


def _show(results: "dict[str, ProtocolResult]") -> None:
    console = output.console()
    if any(result.rows for result in results.values()):
        for line in _names(results):
            console.print(line, soft_wrap=True)
        for table in _tables(results, console.width):
            console.print(table)
    for line in _remarks(results):
        console.print(line, soft_wrap=True)


def _figure(results: "dict[str, ProtocolResult]") -> "Figure":
    from zerosnet.report import attack_figure

    return attack_figure(results)


def _tables(results: "dict[str, ProtocolResult]", width: int) -> "Iterator[Table]":
    """Make tables with one line per setting and one column per run; several runs are named by their number."""
    from rich import box
    from rich.table import Table

    measured = [(number, result) for number, result in enumerate(_measured(results).values(), start=1)]
    alone = len(measured) == 1
    columns = {number: {_label(row): f"{100 * row.accuracy:.2f}" for row in result.rows} for number, result in measured}
    labels = list(dict.fromkeys(label for column in columns.values() for label in column))
    together = max(1, (width - min(_LONGEST_LABEL, max(map(len, labels), default=0))) // 8)
    for first in range(0, len(measured), together):
        part = measured[first : first + together]
        table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
        table.add_column("" if alone else "accuracy, %", overflow="fold")
        for number, result in part:
            head = ("accuracy, %" if alone else str(number)) + _mark(result)
            table.add_column(head, justify="right", no_wrap=True)
        for label in labels:
            cells = [columns[number].get(label, "-") for number, _ in part]
            if set(cells) != {"-"}:
                table.add_row(label, *cells)
        yield table


def _label(row: "ResultRow") -> str:
    """Write a setting's label with its eps as a fraction of 255, if it is one."""
    from zerosnet.robustness import radius_text

    return row.label if row.eps is None else row.label.replace(f"eps {row.eps:.4g}", f"eps {radius_text(row.eps)}")


def _measured(results: "dict[str, ProtocolResult]") -> "dict[str, ProtocolResult]":
    return {run: result for run, result in results.items() if result.rows}


def _names(results: "dict[str, ProtocolResult]") -> list[str]:
    """List the runs of the table, numbered as its columns are."""
    names = [f"{run}{_mark(result)}" for run, result in _measured(results).items()]
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
