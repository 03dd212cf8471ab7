"""`zerosnet runs`: what is in the store."""

from typing import TYPE_CHECKING

import typer

from zerosnet.cli import output
from zerosnet.cli.main import app

if TYPE_CHECKING:
    from zerosnet.cli.run_groups import RunGroup

_WIDE = 100  # columns in which all accuracies have room
_NARROW = 80
_COLOURS = {"finished": "green", "running": "cyan", "diverged": "red", "stopped": "yellow"}


@app.command(short_help="Show the runs in the store: how far they are, and their accuracies.")
def runs(
    store: str = typer.Option("runs", help="The folder that holds the runs."),
    model: str | None = typer.Option(None, metavar="PATTERN", help='Only these networks: zerosnet20_opt, "*56*".'),
    dataset: str | None = typer.Option(None, help="Only runs on this data set."),
    scheme: str | None = typer.Option(None, help='Only this scheme: "zerosnet(-9/5)" or its coefficients.'),
    status: str | None = typer.Option(None, help="Only these runs: finished, running, stopped or diverged."),
    sort: str = typer.Option("name", help="name, test, best, train or seconds; numbers from the highest down."),
    each: bool = typer.Option(False, "--each", help="A line for every run with its id, not one for all seeds."),
    json: bool = typer.Option(False, "--json", help="One JSON document on stdout: a list of objects, one per run."),
) -> None:
    """Show what is in the store: runs that differ by their seed together, with mean and deviation of accuracies."""
    import sys

    from zerosnet.cli.run_groups import RunFilter, grouped, sort_groups
    from zerosnet.training import Store

    wanted = RunFilter.parse(model, dataset, scheme, status)
    order = sort_groups(sort)
    there, problems = Store(store).scan()
    records = [record for record in there if wanted.lets_through(record)]
    groups = order(grouped(records, each=each))
    if json:
        import json as encoder

        print(encoder.dumps([record.summary() for group in groups for record in group.records], indent=2))
    elif records:
        _show(groups, each)
    elif there:
        print(f"None of the {len(there)} runs in the folder {store} is {wanted.describe()}.")
    elif problems:
        print(f"No run in the folder {store} can be read.")
    else:
        missing = "" if Store(store).root.exists() else ", which does not exist"
        print(f"There are no runs in the folder {store}{missing}.")
    for problem in problems:
        print(f"zerosnet: {problem}", file=sys.stderr)


def _show(groups: "list[RunGroup]", each: bool) -> None:
    """Print a table for every setting: groups that share data set and recipe."""
    from zerosnet.environment import ORIGIN_MARKS

    console = output.console()
    settings = list(dict.fromkeys(group.setting for group in groups))
    for place, setting in enumerate(settings):
        members = [group for group in groups if group.setting == setting]
        console.print(("\n" if place else "") + setting, style="bold", soft_wrap=True)
        if each:
            _lines_of_runs(members, console.width)
        else:
            _lines_of_groups(members, console.width)
    what = "test: accuracy of the last epoch in %"
    if not each or console.width >= _WIDE:
        what = "test, best: accuracies of the last and the best epoch in %"
    console.print(what + ("" if each else ", mean and deviation over seeds"))
    for problem, mark in ORIGIN_MARKS.items():
        if any(group.origin_mark == mark for group in groups):
            console.print(f"{mark} {problem}")
    console.print("--json has more" if each else "--each lists every run with its id; --json has more")


_ACCURACIES = {"test": "test_accuracy", "best": "best_test_accuracy", "train": "train_accuracy"}


def _lines_of_groups(groups: "list[RunGroup]", width: int) -> None:
    shown = {name: key for name, key in _ACCURACIES.items() if name != "train" or width >= _WIDE}
    lines = [
        (
            group.marked(group.network),
            group.scheme_text,
            group.status_text,
            *(group.spread_text(key) for key in shown.values()),
        )
        for group in groups
    ]
    output.print_table(None, ("network", "scheme", "runs", *shown), lines, right=list(shown), whole=("scheme", *shown))


def _lines_of_runs(groups: "list[RunGroup]", width: int) -> None:
    shown = {name: key for name, key in _ACCURACIES.items() if name == "test" or width >= _WIDE}
    below = width < _NARROW  # the scheme has no room beside the id
    lines = []
    for group in groups:
        (record,) = group.records
        parts = [group.marked(record.id), group.network.partition(", ")[2], group.scheme_text if below else ""]
        title = "\n  ".join(filter(None, parts))
        state = record.status
        if state != "finished":
            state += f" {record.summary()['epochs']}/{record.spec.recipe.epochs}"
        accuracies = (group.spread_text(key) for key in shown.values())
        lines.append((title, *(() if below else (group.scheme_text,)), state, *accuracies))
    columns = ("run", *(() if below else ("scheme",)), "status", *shown)
    output.print_table(None, columns, lines, right=list(shown), styles=_COLOURS, whole=("run", "status", *shown))
