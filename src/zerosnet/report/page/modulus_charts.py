"""Accuracy against the largest parasitic root, which the root condition looks at, and against the blocks that are used.

The second is for networks that differ in their scheme alone: the 56-layer rows of the paper's table and the pairs,
which part what changes together in the table.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from zerosnet.experiments import (
    ACCURACY,
    Correlation,
    Depth,
    Evidence,
    Measured,
    MeasuredCell,
    TableRow,
    at_scale,
    depths,
    parasitic_modulus,
    spearman,
)
from zerosnet.numerics import Scheme
from zerosnet.report.page.chart import Chart, Series, figures
from zerosnet.report.page.html import Html, element, signed

LEAST = 3  # points, below which there is nothing to see
_KINDS = ((True, "zero-stable", 0), (False, "not zero-stable", 1))
_TABLE, _LAYERS, _PAIRS = "table-zerosnet-cifar10", "56 layers", "pairs"
_WHOSE = (("the paper", False, "ours", 0), ("the pairs", True, "ours, of the pairs", 2))  # 2: triangle and diamond
_ALIKE = 0.05  # correlations that differ by no more are as close
_BLOCKS, _MODULUS = "the used depth", "the largest parasitic modulus"


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


@dataclass(frozen=True)
class PlottedNetwork:
    """The measured networks of one scheme: the seeds of a row.

    Attributes:
        of_pairs: Whether the row is one of the pairs; a scheme that is in the table too counts as a row of the table.
        depth: None if no blocks were switched off.
    """

    scheme: Scheme
    row: TableRow
    cell: MeasuredCell
    of_pairs: bool
    depth: Depth | None
    accuracy: float


def used_blocks_section(found: Sequence[Measured], evidence: Evidence) -> list[Html]:
    """Title, sentence and charts for every scale that has enough networks."""
    parts = []
    for scale in dict.fromkeys(one.scale for one in found):
        networks = networks_alike([one for one in found if one.scale == scale], evidence)
        if charts := charts_of(networks):
            whose = [who for who, kind, *_ in _WHOSE if any(one.of_pairs is kind for one in networks)]
            title = scaled(f"ZeroSNet on CIFAR-10, {_LAYERS}, schemes of {' and of '.join(whose)}", scale)
            said = what_accuracy_goes_with(networks)
            parts += [element("h4", title), *([element("p", said)] if said else []), figures(charts)]
    return parts


def networks_alike(found: Iterable[Measured], evidence: Evidence) -> list[PlottedNetwork]:
    """List the networks in the tables of one scale, every scheme once."""
    tables = {one.experiment.name: one for one in found}
    networks: dict[Scheme, PlottedNetwork] = {}
    for measured in (tables[name] for name in (_TABLE, _PAIRS) if name in tables):
        deep, column = depths(measured, evidence), measured.experiment.columns[0].key
        of_pairs = measured.experiment.name == _PAIRS
        for row in measured.experiment.rows:
            cell = measured.cell(row.key, column)
            if row.scheme is None or cell is None or cell.compared is None or not (of_pairs or row.group == _LAYERS):
                continue
            one = PlottedNetwork(row.scheme, row, cell, of_pairs, deep.get(row.key), cell.compared.mean)
            networks.setdefault(row.scheme, one)
    return list(networks.values())


def charts_of(networks: Sequence[PlottedNetwork]) -> list[Chart]:
    """Charts against the modulus, unless that is the table's own chart again, and against used blocks, if known."""
    charts, y = [], "test accuracy, %"
    if len(networks) >= LEAST and any(one.of_pairs for one in networks):
        charts.append(modulus_chart(f"Against {_MODULUS}", y, _series(networks, parasitic_modulus)))
    if len(deep := _used(networks)) >= LEAST:
        used = {one.scheme: number for one, number in deep}
        series = _series([one for one, _ in deep], used.__getitem__)
        words = described(f"Accuracy against {_BLOCKS}", series)
        charts.append(Chart(f"Against {_BLOCKS}", f"used depth, of {_blocks(networks)} blocks", y, series, words))
    return charts


def what_accuracy_goes_with(networks: Sequence[PlottedNetwork]) -> str | None:
    """A sentence on which of the two goes with accuracy more closely, by rank correlation; None if one has none."""
    deep = _used(networks)
    accuracies = [one.accuracy for one, _ in deep]
    used = spearman([number for _, number in deep], accuracies)
    modulus = spearman([parasitic_modulus(one.scheme) for one, _ in deep], accuracies)
    if used is None or modulus is None:
        return None
    which = "schemes" if used.n == len(networks) else f"of the {len(networks)} schemes, whose used depth is known,"
    rhos = signed(f"rank correlation {used.rho:+.2f} with the blocks, {modulus.rho:+.2f} with the modulus")
    return f"Over {used.n} {which} accuracy {_compared(used, modulus)}: {rhos}.{_ties(deep, _blocks(networks))}"


def _compared(used: Correlation, modulus: Correlation) -> str:
    if min(used.p, modulus.p) > 0.05:
        return f"was not seen to go with {_BLOCKS} or {_MODULUS}"
    more = abs(used.rho) - abs(modulus.rho)
    closely = "as closely as" if abs(more) <= _ALIKE else "more closely than" if more > 0 else "less closely than"
    return f"goes with {_BLOCKS} {closely} {_MODULUS}"


def _ties(deep: Iterable[tuple[PlottedNetwork, float]], blocks: int) -> str:
    """List schemes that use equally many blocks, with their accuracies."""
    groups: dict[float, list[float]] = {}
    for one, number in deep:
        groups.setdefault(number, []).append(one.accuracy)
    each = [
        f"{len(group)} use {f'all {blocks}' if number == blocks else f'{number:.3g}'}, "
        f"with accuracies from {min(group):.2f} to {max(group):.2f}\u00a0%"
        for number, group in sorted(groups.items(), reverse=True)
        if len(group) > 1
    ]
    return f" Schemes that use equally many blocks share a rank: {'; '.join(each)}." if each else ""


def _used(networks: Iterable[PlottedNetwork]) -> list[tuple[PlottedNetwork, float]]:
    """Choose the networks whose used depth is known, with their mean number over the seeds."""
    return [(one, one.depth.used) for one in networks if one.depth is not None]


def _blocks(networks: Iterable[PlottedNetwork]) -> int:
    return max(one.depth.blocks for one in networks if one.depth is not None)


def _series(networks: Sequence[PlottedNetwork], x: Callable[[Scheme], float]) -> list[Series]:
    series = []
    for _, kind, name, shape in _WHOSE:
        series += series_of([(one.row, one.cell) for one in networks if one.of_pairs is kind], name, x, shape=shape)
    return series
