"""Every printed number is what the paper's own source has, cell by cell."""

import pytest
from tests.experiments.paper_source import LABELS, PAPER, tables_of_the_paper

from zerosnet.experiments import EXPERIMENTS, parse_printed, printed_table

needs_the_paper = pytest.mark.skipif(not PAPER.exists(), reason="the paper's source is not here")


@needs_the_paper
@pytest.mark.parametrize("name", LABELS)
def test_table_is_the_papers_cell_by_cell(name):
    source, table = tables_of_the_paper()[LABELS[name]], printed_table(name)
    assert list(table.heads) == source[0]
    assert [list(row) for row in table.rows] == source[1:]


@needs_the_paper
def test_no_table_of_the_paper_is_missing():
    assert set(tables_of_the_paper()) == set(LABELS.values())


@pytest.mark.parametrize("name", LABELS)
def test_every_printed_number_stands_in_a_cell_of_its_experiment(name):
    experiment, table = EXPERIMENTS[name], printed_table(name)
    columns = {column.key for column in experiment.columns if not column.ours}
    in_table = [
        parse_printed(record[column]) for record in table.records() for column in table.heads if column in columns
    ]
    papers = {row.key for row in experiment.rows if not row.ours}
    in_cells = [cell.printed for cell in experiment.cells if cell.printed is not None and cell.row in papers]
    assert None not in in_table
    assert sorted(map(repr, in_table)) == sorted(map(repr, in_cells))


@pytest.mark.parametrize(
    ("name", "row", "column", "text", "bold"),
    [
        ("table-zerosnet-cifar10", "56 0.33, 0.33, 1.00", "Test acc. (%)", "94.04±0.12", True),
        ("table-comparison", "ZeroSNet-Tra 56", "C10 (%)", "93.8±0.22", False),
        ("table-comparison", "ResNet 110", "C100 (%)", "72.24*†", False),
        ("table-robustness", "1.84, 0.74, 0.74", "delta = 0.04", "50.76±3.94", False),
        ("table-pgd", "0.33, 0.33, 1.00", "eps=8/255", "63.76 (-28.07)", True),
        ("table-fgsm", "0.57, 1.00, 2.18", "eps=0.5", "7", False),
        ("table-parameters", "110", "LMResNet", "1.14M", False),
        ("table-coefficients", "4.24, 0.24, 1.00", "Module of the 1st root", "4.24", False),
    ],
)
def test_numbers_are_found_where_they_belong(name, row, column, text, bold):
    printed = EXPERIMENTS[name].cell(row, column).printed
    assert (printed.text, printed.bold) == (text, bold)


def test_a_number_with_everything():
    printed = parse_printed("**73.46 (-18.38)**")
    assert (printed.value, printed.change, printed.bold, printed.deviation) == (73.46, -18.38, True, None)
    assert parse_printed("72.24*†").quoted
    assert parse_printed("69.46±0.15*").marks == "*" and not parse_printed("69.46±0.15*").quoted


@pytest.mark.parametrize(
    ("text", "rounding"), [("93.8±0.22", 0.05), ("93.28±0.12", 0.005), ("12", 0.5), ("0.28M", 0.005)]
)
def test_rounding_is_half_a_unit_of_the_last_printed_digit(text, rounding):
    assert parse_printed(text).rounding == pytest.approx(rounding)


@pytest.mark.parametrize("text", ["", "Yes", "ResNet", "1.00, 0.87, 0.87", "20 layers"])
def test_text_is_no_number(text):
    assert parse_printed(text) is None
