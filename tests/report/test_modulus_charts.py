"""Accuracy against the roots: where most was measured comes first, and a chart names the data of its scale."""

from dataclasses import replace

import pytest

from zerosnet.experiments import EXPERIMENTS, Evidence, Measured, collect
from zerosnet.experiments.measured import measured_cell
from zerosnet.experiments.readings import Value
from zerosnet.report.page.figures_section import modulus_section
from zerosnet.report.page.modulus_charts import modulus_charts, most_measured_first

TABLE = EXPERIMENTS["table-zerosnet-cifar10"]


def measured(experiment, at: str, *rows: str) -> Measured:
    """The experiment with a made-up number in these rows."""
    empty, cells = collect(experiment, Evidence(), at), []
    for declared, cell in zip(experiment.cells, empty.cells):
        value = Value(1, "made-up", 90.0, 91.0)
        cells.append(measured_cell(declared, [value], 1, cell.runs) if cell.row in rows else cell)
    return replace(empty, cells=tuple(cells))


def rows_of(group: str) -> list[str]:
    return [row.key for row in TABLE.rows if row.group == group]


def test_the_chart_with_most_measured_rows_is_first():
    table = measured(TABLE, "full", *rows_of("56 layers"), *rows_of("44 layers")[:1])
    titles = [chart.title.rpartition(", ")[2] for chart in most_measured_first(modulus_charts(table))]
    assert titles == ["56 layers", "44 layers", "32 layers"]
    page = "".join(modulus_section([table], Evidence()))
    places = [page.index(f"<figcaption>{TABLE.title}, {title}") for title in titles]
    assert places == sorted(places)


def test_charts_without_a_measured_row_keep_their_order():
    charts = modulus_charts(measured(TABLE, "full"))
    assert len(charts) == 3 and most_measured_first(charts) == charts


@pytest.mark.parametrize("scale, data", [("full", "CIFAR-10"), ("reduced", "CIFAR-10"), ("demo", "digits")])
def test_a_title_names_the_data_of_its_scale_and_printed_numbers_are_hollow(scale, data):
    chart = most_measured_first(modulus_charts(measured(TABLE, scale, *rows_of("56 layers"))))[0]
    words = "" if scale == "full" else f" ({scale} scale)"
    assert chart.title == f"ZeroSNet on {data} over ten coefficient rows, 56 layers{words}"
    hollow = {one.name.partition(",")[0]: one.hollow for one in chart.series}
    assert hollow == {"ours": False} | ({} if scale == "demo" else {"paper": True})
