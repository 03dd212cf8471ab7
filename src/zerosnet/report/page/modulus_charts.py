"""Accuracy against the largest parasitic root: what the root condition looks at, beside what it should predict."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from zerosnet.experiments import ACCURACY, Measured, MeasuredCell, TableRow, at_scale, parasitic_modulus
from zerosnet.numerics import Scheme
from zerosnet.report.page.chart import Chart, Series

LEAST = 3  # points, below which there is nothing to see
_KINDS = ((True, "zero-stable", 0), (False, "not zero-stable", 1))


def modulus_charts(measured: Measured) -> list[Chart]:
    """Draw one chart per group of rows with schemes, for an experiment whose first column is test accuracy."""
    experiment = measured.experiment
    column = experiment.columns[0]
    first = [cell for cell in experiment.cells if cell.column == column.key]
    if any(cell.reading != ACCURACY or cell.compute is not None for cell in first):
        return []
    cells = {cell.row: cell for cell in measured.cells if cell.column == column.key}
    charts = []
    for group in dict.fromkeys(row.group for row in experiment.rows):
        rows = [(row, cells[row.key]) for row in experiment.rows if row.group == group and row.key in cells]
        series = series_of(rows, "ours", parasitic_modulus)
        if measured.scale != "demo":
            series += series_of(rows, "paper", parasitic_modulus, printed=True)
        if sum(len(one.points) for one in series) >= LEAST:
            title = ", ".join(word for word in (experiment.title, group) if word)
            charts.append(modulus_chart(scaled(title, measured.scale), column.title, series))
    return charts


def most_measured_first(charts: Iterable[Chart]) -> list[Chart]:
    """Sort by the number of points that are ours; the order of equals is kept."""
    return sorted(charts, key=lambda chart: -sum(len(one.points) for one in chart.series if not one.hollow))


def modulus_chart(title: str, y: str, series: Sequence[Series]) -> Chart:
    """A chart whose dotted line is the unit circle."""
    what = "largest parasitic modulus"
    return Chart(title, what, y, series, described(f"Accuracy against the {what}", series), at_x=1.0)


def series_of(
    rows: Sequence[tuple[TableRow, MeasuredCell]],
    whose: str,
    x: Callable[[Scheme], float],
    *,
    printed: bool = False,
    shape: int = 0,
) -> list[Series]:
    """Rows that have a number, the zero-stable ones and the others; `shape` is the first of the two marks."""
    found = []
    for kind, name, place in _KINDS:
        points: list[tuple[float, float]] = []
        errors: list[float | None] = []
        titles: list[str] = []
        for row, cell in rows:
            value = _value(cell, printed)
            if row.scheme is None or row.zero_stable is not kind or value is None:
                continue
            points.append((x(row.scheme), value[0]))
            errors.append(value[1])
            titles.append(f"{'; '.join(row.labels)}: {value[0]:.2f}")
        if points:
            look = Series(f"{whose}, {name}", points, place, shape + place, line=False, hollow=printed)
            found.append(replace(look, errors=errors, titles=titles))
    return found


def scaled(title: str, scale: str) -> str:
    """A title with the data and the name of a scale that is not the paper's."""
    return at_scale(title, scale) + ("" if scale == "full" else f" ({scale} scale)")


def described(what: str, series: Iterable[Series]) -> str:
    """A text for those who do not see the points: number and range of each kind."""
    return f"{what}. {'; '.join(f'{one.name}: {_range(one)}' for one in series)}."


def _value(cell: MeasuredCell, printed: bool) -> tuple[float, float | None] | None:
    if printed:
        return None if cell.printed is None else (cell.printed.value, cell.printed.deviation)
    return None if cell.compared is None else (cell.compared.mean, cell.compared.deviation)


def _range(series: Series) -> str:
    values = [y for _, y in series.points]
    return f"{len(values)} rows from {min(values):.2f} to {max(values):.2f}"
