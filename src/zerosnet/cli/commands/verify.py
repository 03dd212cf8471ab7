"""`zerosnet verify`: do the records of a store agree with one another?"""

from typing import TYPE_CHECKING

import typer

from zerosnet.cli.main import app
from zerosnet.cli.output import JSON_HELP, print_json
from zerosnet.errors import InputError

if TYPE_CHECKING:
    from zerosnet.experiments import Verification


@app.command(short_help="Check that the records of a store agree with one another.")
def verify(
    folder: str | None = typer.Argument(
        None, metavar="[STORE]", help="The folder that holds the runs; runs by default."
    ),
    store: str | None = typer.Option(None, metavar="DIR", help="Another way to name this folder."),
    predictions: str | None = typer.Option(
        None, metavar="DIR", help="Predictions to check; by default those beside the store."
    ),
    data: str | None = typer.Option(None, metavar="DIR", help="The data sets, to compute their checksums, too."),
    json: bool = typer.Option(False, "--json", help=JSON_HELP),
) -> None:
    """Check a store: names of folders against specs, journals against results, checksums of weights and checkpoints,
    attacks and ablations against their run, commits against git, and that predictions are older than their runs.

    Every problem is one line, and the exit code is 1. What the records do not tell is a note, and no problem.
    """
    from zerosnet.experiments import verify_store

    if folder is not None and store is not None:
        raise InputError(f"two stores are given, {folder} and {store}; expected one")
    where = next((name for name in (folder, store) if name is not None), "runs")
    found = verify_store(where, predictions, data)
    if json:
        print_json({"store": where, **found.to_json()})
    else:
        _show(found)
    if found.problems:
        raise typer.Exit(1)


def _show(found: "Verification") -> None:
    import sys

    for problem in found.problems:
        print(f"zerosnet: {problem}", file=sys.stderr)
    for what, names in _together(found).items():
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        print(f"note: {names[0]}{more}: {what}")
    counted = ", ".join(f"{number} {kind}" for kind, number in sorted(found.checked.items()))
    print(f"{'FAILED' if found.problems else 'passed'}: {len(found.problems)} problems; checked {counted}")


def _together(found: "Verification") -> dict[str, list[str]]:
    """Group notes that say the same."""
    notes: dict[str, list[str]] = {}
    for note in found.notes:
        notes.setdefault(note.what, []).append(note.where)
    return notes
