"""The demonstration on the terminal: networks alike but for their scheme, what is predicted of them, and what comes."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from zerosnet.cli.output import print_table

if TYPE_CHECKING:
    from zerosnet.experiments import Depth, Experiment, Measured, TableRow

LAYERS, BLOCKS = 56, 27
DEMO_SCALE = "demo"
_FILE = "predictions.json"
_USED = "used depth: the fewest first blocks that keep the accuracy within one point, all later ones switched off"


def predict_first(experiment: "Experiment", folder: Path, *, quiet: bool) -> None:
    """Write down, before anything is trained, what the coefficients predict, with date and commit; print it.

    Predictions that are in the file already stay as they are.
    """
    from zerosnet.experiments import read_predictions, register_predictions
    from zerosnet.numerics import forecast

    file = folder / _FILE
    known = {one.get("scheme") for one in read_predictions(file)} if file.exists() else set()
    forecasts = [forecast(row.scheme, LAYERS, dataset="mosaics") for row in experiment.rows if row.scheme is not None]
    new = [one.to_json() for one in forecasts]
    folder.mkdir(parents=True, exist_ok=True)
    register_predictions(file, [one for one in new if one["scheme"] not in known])
    if quiet or known:
        return
    rows = [(row.labels[0], row.labels[1].lower(), row.labels[2]) for row in experiment.rows]
    heads = ("scheme", "zero-stable", f"effective depth, of {BLOCKS} blocks")
    print_table(f"Predicted from the coefficients, before training ({file})", heads, rows, right=heads[2:])
    print()


def show_demo(table: "Measured", depth: "dict[str, Depth]") -> None:
    """Print predicted beside measured, a row per network that has been trained."""
    lines = []
    for row, mean in _measured(table):
        used = f"{depth[row.key].used:.0f}" if row.key in depth else "not run"
        lines.append((row.labels[0], row.labels[1].lower(), row.labels[2], used, f"{mean:.1f}"))
    if not lines:
        return
    heads = ("scheme", "zero-stable", "effective depth, predicted", "used depth, measured", "accuracy, %")
    title = f"{len(lines)} networks of {LAYERS} layers ({BLOCKS} blocks), trained alike on mosaics"
    print_table(title, heads, lines, right=heads[2:])
    print(f"{_USED}\n")


def the_point(table: "Measured") -> str | None:
    """The outcome in one line; None before networks of both kinds are there."""
    from zerosnet.experiments import spearman

    known = [(float(row.labels[2]), mean, row) for row, mean in _measured(table)]
    half = BLOCKS / 2
    sides = [[one for one in known if (one[0] > half) is deep] for deep in (False, True)]
    if not all(sides):
        return None
    told = [
        f"{_span([one[0] for one in side])} of {BLOCKS} blocks gave {_span([one[1] for one in side])} % "
        f"({len(side)} networks)"
        for side in sides
    ]
    shallow, deep = (max(one[1] for one in sides[0]), min(one[1] for one in sides[1]))
    wrong = [row.labels[0] for depth, _, row in known if row.zero_stable is not (depth > half)]
    missed = f" Zero stability alone misplaces {' and '.join(wrong)}." if wrong and shallow < deep else ""
    rank = spearman([one[0] for one in known], [one[1] for one in known])
    order = "" if rank is None else f"; rank correlation {rank.rho:+.2f}"
    return f"Alike but for four numbers: a predicted effective depth of {told[0]}, of {told[1]}{order}.{missed}"


def _measured(table: "Measured") -> "list[tuple[TableRow, float]]":
    """The rows whose networks are trained, with their accuracy."""
    column = table.experiment.columns[0].key
    found = []
    for row in table.experiment.rows:
        cell = table.cell(row.key, column)
        if cell is not None and cell.compared is not None:
            found.append((row, cell.compared.mean))
    return found


def _span(values: Sequence[float]) -> str:
    low, high = f"{min(values):.0f}", f"{max(values):.0f}"
    return low if low == high else f"{low} to {high}"
