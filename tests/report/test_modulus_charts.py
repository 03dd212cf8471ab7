"""Accuracy against the roots and against used blocks: charts, their order, and sentences."""

import re
from dataclasses import replace

import pytest
from tests.report.synthetic import write_run

from zerosnet.experiments import EXPERIMENTS, Evidence, Measured, TableRow, collect, read_evidence
from zerosnet.experiments.conclusions import Depth
from zerosnet.experiments.definition import Cell
from zerosnet.experiments.measured import measured_cell
from zerosnet.experiments.readings import Value
from zerosnet.numerics import from_roots
from zerosnet.report import write_report
from zerosnet.report.page.figures_section import modulus_section
from zerosnet.report.page.modulus_charts import (
    PlottedNetwork,
    charts_of,
    modulus_charts,
    most_measured_first,
    networks_alike,
    used_blocks_section,
    what_accuracy_goes_with,
)
from zerosnet.training import Store

TABLE, PAIRS = (EXPERIMENTS[name] for name in ("table-zerosnet-cifar10", "pairs"))
BY_MODULUS, BY_BLOCKS = "Against the largest parasitic modulus", "Against the used depth"


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


@pytest.mark.parametrize("scale, data", [("full", "CIFAR-10"), ("reduced", "CIFAR-10"), ("demo", "digits")])
def test_a_title_names_the_data_of_its_scale_and_printed_numbers_are_hollow(scale, data):
    chart = most_measured_first(modulus_charts(measured(TABLE, scale, *rows_of("56 layers"))))[0]
    words = "" if scale == "full" else f" ({scale} scale)"
    assert chart.title == f"ZeroSNet on {data} over ten coefficient rows, 56 layers{words}"
    hollow = {one.name.partition(",")[0]: one.hollow for one in chart.series}
    assert hollow == {"ours": False} | ({} if scale == "demo" else {"paper": True})


def one_seed(at: str = "full"):
    """The networks of the table and of the pairs, each once, and those of the pairs alone."""
    deep = [cell for cell in TABLE.cells if cell.row in {row.key for row in TABLE.rows if row.group == "56 layers"}]
    table = {spec.id: spec for cell in deep for spec in TABLE.cell_specs(cell, at)[:1]}
    pairs = {spec.id: spec for cell in PAIRS.cells for spec in PAIRS.cell_specs(cell, at)[:1]}
    return list(table.values()), [spec for key, spec in pairs.items() if key not in table]


def section(folder, *tables, at: str = "full") -> str:
    evidence = read_evidence(Store(folder))
    return "".join(used_blocks_section([collect(one, evidence, at) for one in tables or (TABLE, PAIRS)], evidence))


def stored(folder, specs, ablated: int = 1000):
    for number, spec in enumerate(specs):
        write_run(folder, spec, attacks=number < ablated)
    return folder


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    table, pairs = one_seed()
    return stored(tmp_path_factory.mktemp("alike") / "runs", [*table, *pairs])


@pytest.fixture(scope="module")
def networks(store):
    evidence = read_evidence(Store(store))
    return networks_alike([collect(one, evidence) for one in (TABLE, PAIRS)], evidence)


def test_every_scheme_is_in_both_charts_once(networks):
    assert len(networks) == 18 and sum(one.of_pairs for one in networks) == 8
    modulus, blocks = charts_of(networks)
    assert (modulus.title, blocks.title, blocks.x) == (BY_MODULUS, BY_BLOCKS, "used depth, of 27 blocks")
    for chart in (modulus, blocks):
        assert sum(len(one.points) for one in chart.series) == 18
    assert sorted(y for one in modulus.series for _, y in one.points) == sorted(
        y for one in blocks.series for _, y in one.points
    )
    assert (modulus.at_x, blocks.at_x) == (1.0, None)


def test_the_page_has_them_before_the_tables_one_by_one(store, tmp_path):
    page = write_report(tmp_path / "report.html", [store]).read_text()
    part = page[page.index("Accuracy against the roots, table by table") : page.index("Used depth: accuracy with")]
    words = ("and of the pairs</h4>", "Over 18 schemes", BY_MODULUS, BY_BLOCKS, "Table by table", "rows, 56 layers")
    places = [part.index(one) for one in words]
    assert places == sorted(places)


def test_without_ablations_there_is_no_second_chart_and_no_sentence(tmp_path):
    table, pairs = one_seed()
    found = section(stored(tmp_path / "runs", [*table, *pairs], ablated=0))
    assert BY_MODULUS in found and BY_BLOCKS not in found and "<p>" not in found


def test_networks_without_an_ablation_are_not_counted_if_others_have_one(tmp_path):
    table, pairs = one_seed()
    found = section(stored(tmp_path / "runs", [*table, *pairs], ablated=11))
    assert "Over 11 of the 18 schemes, whose used depth is known, accuracy goes with" in found


def test_without_pairs_the_chart_of_the_table_is_not_drawn_again(tmp_path):
    found = section(stored(tmp_path / "runs", one_seed()[0]))
    assert BY_BLOCKS in found and BY_MODULUS not in found and "Over 10 schemes" in found
    assert "schemes of the paper</h4>" in found and "pairs" not in found


@pytest.mark.parametrize(("count", "drawn"), [(3, True), (2, False), (0, False)])
def test_a_few_networks_are_drawn_without_a_sentence_and_fewer_are_not(tmp_path, count, drawn):
    found = section(stored(tmp_path / "runs", one_seed()[0][:count]))
    assert (BY_BLOCKS in found) is drawn and "<p>" not in found and (drawn or found == "")


def test_the_page_of_an_empty_store_has_no_used_blocks(tmp_path):
    """What comes with the package has accuracies and no ablations."""
    page = write_report(tmp_path / "report.html", [tmp_path], paper=True).read_text()
    part = page[page.index("Accuracy against the roots, table by table") : page.index('id="claims"')]
    assert BY_BLOCKS not in part and "rank correlation" not in part
    assert all('class="k ' in one for one in re.findall(r"<figure.*?</figure>", part))


def test_the_demo_is_named_and_kept_apart(tmp_path):
    table, pairs = one_seed("demo")
    stored(tmp_path / "runs", [*table, *pairs, *one_seed("full")[0][:3]])
    evidence = read_evidence(Store(tmp_path / "runs"))
    scales = [collect(one, evidence, at) for one in (TABLE, PAIRS) for at in ("full", "demo")]
    full, demo = "".join(used_blocks_section(scales, evidence)).split("<h4>")[1:]
    assert full.startswith("ZeroSNet on CIFAR-10, 56 layers, schemes of the paper</h4>")
    assert demo.startswith("ZeroSNet on digits, 56 layers, schemes of the paper and of the pairs (demo scale)</h4>")
    assert "Over 18 schemes" in demo and "Over" not in full


def made_up(*numbers: tuple[float, float, float]) -> list[PlottedNetwork]:
    """Networks with these parasitic moduli, used blocks of 10, and accuracies."""
    networks = []
    for modulus, used, accuracy in numbers:
        scheme = from_roots([str(modulus)])
        cell = measured_cell(Cell("row", "column"), [Value(1, "made-up", accuracy)], 1, ("made-up",))
        networks.append(
            PlottedNetwork(
                scheme, TableRow("row", ("row",), scheme, True), cell, False, Depth(used, used, 10), accuracy
            )
        )
    return networks


@pytest.mark.parametrize(
    "moduli, used, words",
    [
        ((0.3, 0.1, 0.5, 0.2, 0.4), (1, 2, 3, 4, 5), "goes with the used depth more closely than"),
        ((0.5, 0.4, 0.3, 0.2, 0.1), (3, 1, 5, 2, 4), "goes with the used depth less closely than"),
        ((0.5, 0.4, 0.3, 0.2, 0.1), (1, 2, 3, 4, 5), "goes with the used depth as closely as"),
        ((0.3, 0.1, 0.5, 0.2, 0.4), (3, 1, 5, 2, 4), "was not seen to go with the used depth or"),
    ],
)
def test_the_sentence_about_accuracy_follows_from_the_correlations(moduli, used, words):
    said = what_accuracy_goes_with(made_up(*zip(moduli, used, (80, 81, 82, 83, 84))))
    assert said is not None and said.startswith(f"Over 5 schemes accuracy {words} the largest parasitic modulus: rank")
    assert "share a rank" not in said
    assert what_accuracy_goes_with(made_up(*zip(moduli, (5,) * 5, (80, 81, 82, 83, 84)))) is None


def test_equal_numbers_of_blocks_are_named():
    said = what_accuracy_goes_with(made_up((0.5, 2.5, 70), (0.4, 2.5, 71), (0.3, 4, 81), (0.2, 10, 83), (0.1, 10, 82)))
    assert said is not None and said.endswith(
        " Schemes that use equally many blocks share a rank: 2 use all 10, with accuracies from 82.00 to 83.00\u00a0%; "
        "2 use 2.5, with accuracies from 70.00 to 71.00\u00a0%."
    )
