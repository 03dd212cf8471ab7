"""Accuracy against the largest parasitic root: what the root condition looks at, beside what it should predict."""

from zerosnet.experiments.experiment import Row
from zerosnet.experiments.findings import parasitic_modulus
from zerosnet.experiments.measured import Measured, MeasuredCell
from zerosnet.experiments.reading import ACCURACY
from zerosnet.report.chart import Chart, Series

_LEAST = 3  # points, below which there is nothing to see
_KINDS = ((True, "zero-stable", 0, 0), (False, "not zero-stable", 1, 1))


def modulus_charts(measured: Measured) -> list[Chart]:
    """One chart for every group of rows that have schemes, of an experiment whose first column is test accuracy."""
    experiment = measured.experiment
    column = experiment.columns[0]
    first = [cell for cell in experiment.cells if cell.column == column.key]
    if any(cell.reading != ACCURACY or cell.compute is not None for cell in first):
        return []
    cells = {cell.row: cell for cell in measured.cells if cell.column == column.key}
    charts = []
    for group in dict.fromkeys(row.group for row in experiment.rows):
        rows = [(row, cells[row.key]) for row in experiment.rows if row.group == group and row.key in cells]
        series = [*_series(rows, printed=False), *(_series(rows, printed=True) if measured.scale != "demo" else [])]
        if sum(len(one.points) for one in series) < _LEAST:
            continue
        scale = "" if measured.scale == "full" else f" ({measured.scale} scale)"
        title = ", ".join(word for word in (experiment.title, group) if word) + scale
        heard = "; ".join(f"{one.name}: {_range(one)}" for one in series)
        charts.append(
            Chart(
                title,
                "largest parasitic modulus",
                column.title,
                series,
                f"Accuracy against the largest parasitic modulus. {heard}.",
                at_x=1.0,
            )
        )
    return charts


def _series(rows: list[tuple[Row, MeasuredCell]], *, printed: bool) -> list[Series]:
    found = []
    for kind, name, colour, mark in _KINDS:
        points: list[tuple[float, float]] = []
        errors: list[float | None] = []
        titles: list[str] = []
        for row, cell in rows:
            value = _value(cell, printed)
            if row.scheme is None or row.zero_stable is not kind or value is None:
                continue
            points.append((parasitic_modulus(row.scheme), value[0]))
            errors.append(value[1])
            titles.append(f"{' '.join(row.labels)}: {value[0]:.2f}")
        if points:
            whose = "paper" if printed else "ours"
            found.append(
                Series(
                    f"{whose}, {name}", points, colour, mark, line=False, hollow=printed, errors=errors, titles=titles
                )
            )
    return found


def _value(cell: MeasuredCell, printed: bool) -> tuple[float, float | None] | None:
    if printed:
        return None if cell.printed is None else (cell.printed.value, cell.printed.deviation)
    return None if cell.compared is None else (cell.compared.mean, cell.compared.deviation)


def _range(series: Series) -> str:
    values = [y for _, y in series.points]
    return f"{len(values)} rows from {min(values):.2f} to {max(values):.2f}"
