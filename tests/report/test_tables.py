"""A table shows both numbers, and how far apart they are by sign as well as by colour."""

from dataclasses import replace

import pytest

from zerosnet.experiments import (
    Cell,
    Column,
    Experiment,
    Measured,
    MeasuredCell,
    TableRow,
    Value,
    parse_printed,
    summarise,
)
from zerosnet.numerics import OPTIMUM
from zerosnet.report.page.tables import experiment_table, plain_table

COLUMN = Column("acc", "accuracy, %")
OTHER = Column("noise", "under noise, %", ours=True)


def measured(*cells: MeasuredCell, columns=(COLUMN,), rows=None, scale="full") -> Measured:
    rows = rows or tuple(TableRow(cell.row, (cell.row, "Yes"), zero_stable=True) for cell in cells)
    declared = tuple(Cell(cell.row, cell.column, cell.printed) for cell in cells)
    table = Experiment("t", "Title", "Table 9", "what", ("row", "Z. S."), tuple(columns), rows, declared)
    return Measured(table, scale, cells)


def cell(values=(), printed="90.00±0.50", wanted=3, note="", row="r") -> MeasuredCell:
    each = tuple(Value(f"run{i}", i, v) for i, v in enumerate(values))
    number = None if printed is None else parse_printed(printed)
    return MeasuredCell(row, "acc", number, each, wanted, summarise(values), None, (), note)


@pytest.mark.parametrize(
    "values, sign, look",
    [
        ((90.1, 90.2, 90.3), "≈ +0.20 (+0.4 sd)", '"diff"'),
        ((90.7, 90.7, 90.7), "△ +0.70 (+1.4 sd)", '"diff up1"'),
        ((91.2, 91.2, 91.2), "▲ +1.20 (+2.4 sd)", '"diff up2"'),
        ((99.0, 99.0, 99.0), "▲▲ +9.00 (+18.0 sd)", '"diff up3"'),
        ((89.3, 89.3, 89.3), "▽ −0.70 (−1.4 sd)", '"diff down1"'),
        ((88.8, 88.8, 88.8), "▼ −1.20 (−2.4 sd)", '"diff down2"'),
        ((80.0, 80.0, 80.0), "▼▼ −10.00 (−20.0 sd)", '"diff down3"'),
    ],
)
def test_a_difference_has_a_sign_and_a_colour_by_its_size(values, sign, look):
    table = experiment_table(measured(cell(values)))
    assert "seeds" not in table and sign in table.replace("\u00a0", " ") and f"class={look}" in table


def test_differences_without_a_deviation_have_no_size_and_agree_within_rounding():
    table = experiment_table(measured(cell((91.0,), printed="90.00", wanted=3)))
    assert '<span class="diff">+1.00</span>' in table and "1 of 3 seeds" in table
    assert "≈ as printed" in experiment_table(measured(cell((0.278,), printed="0.28M", wanted=1)))


def test_rows_that_were_not_run_are_one_line_and_with_the_papers_numbers_if_asked_for():
    table = measured(cell((90.0,), row="r"), cell(row="s"), cell(row="t"))
    short, whole = experiment_table(table), experiment_table(table, printed=True)
    assert short.count("90.00±0.50") == 1 and whole.count("90.00±0.50") == 3
    for page in (short, whole):
        assert page.count("ot run") == 1 and "Not run, or not in all columns: 2 of 3 rows." in page


def test_a_scheme_has_its_own_name_and_the_printed_moduli_in_its_tooltip():
    rows = (TableRow("r", ("1, 0.33, 0.33", "Yes"), OPTIMUM, True),)
    page = experiment_table(measured(cell((90.0,)), rows=rows))
    assert ">zerosnet(-9/5)</span>" in page and ">1, 0.33, 0.33<" not in page
    assert (
        'title="coefficients 1/3,5/9,1/9;16/9; moduli of roots' in page
        and "the paper&#x27;s row 0.33, 0.33, 1.00" in page
    )


def test_an_experiment_of_our_own_has_nothing_of_the_papers():
    table = measured(cell((90.0, 91.0), printed=None), cell(printed=None, row="s"))
    ours = replace(table.experiment, reference="ours", rows=tuple(replace(r, ours=True) for r in table.experiment.rows))
    page = experiment_table(replace(table, experiment=ours))
    assert "An experiment of our own" in page and "ours, best epoch" in page and "Not run" in page
    assert not any(word in page for word in ("paper", "difference", "our row", "no number"))


def test_a_remark_about_a_group_stands_in_its_head():
    rows = (TableRow("r", ("r", "Yes"), group="g <"),)
    page = experiment_table(measured(cell((90.0,)), rows=rows), said={"g <": "+1 < 2"})
    assert "g &lt;<small" in page and "+1 &lt; 2" in page


def test_other_data_is_never_compared_with_the_paper():
    table = experiment_table(measured(cell((99.0, 99.1, 99.2)), scale="demo"))
    assert "other data, not compared" in table and "sd)" not in table


def test_rows_and_columns_have_scopes_and_the_table_a_caption():
    table = experiment_table(measured(cell((90.0,)), columns=(COLUMN, OTHER)))
    assert table.count('scope="col"') == 4 and table.count('scope="row"') == 1
    assert "<caption>" in table and "under noise, %, ours only" in table


def test_labels_that_repeat_their_group_are_left_out():
    rows = tuple(TableRow(f"r{i}", ("56", f"label {i}"), group="56 layers") for i in range(2))
    table = experiment_table(measured(cell((90.0,), row="r0"), cell((90.0,), row="r1"), rows=rows))
    assert "56 layers" in table and ">56<" not in table and "label 1" in table


def test_remarks_stand_once_below_the_table():
    cells = (cell(note="quoted", wanted=0), cell(note="quoted", wanted=0, row="s"))
    table = experiment_table(measured(*cells), printed=True)
    assert table.count("quoted</p>") == 1 and table.count("<sup>1</sup>") == 3


def test_numbers_of_attacks_with_failed_checks_carry_a_warning():
    attacked = replace(cell((90.0,)), values=(Value("run0", 0, 90.0, warnings=("failed",)),))
    table = experiment_table(measured(attacked, cell((91.0,), row="not attacked")), "warnings-here")
    assert table.count('href="#warnings-here"') == table.count("⚠") == 1


def test_labels_are_escaped():
    evil = "<img src=x>"
    assert "<img" not in experiment_table(measured(cell((90.0,), row=evil, note=evil)))
    assert "<img" not in plain_table(evil, [evil], [[evil]])


def test_heads_that_need_words_have_them_and_sentences_their_heads():
    assert '<abbr title="no root' in experiment_table(measured(cell((90.0,))))
    table = plain_table("c", ("sentence", "verdict"), [("s", "v")], prose=True)
    assert '<td data-head="verdict">v</td>' in table
    numbers = plain_table("c", ["name", "number"], [["a", 1]], right=1)
    assert '<th scope="col" class="n">number</th>' in numbers and '<td class="n">1</td>' in numbers
    with pytest.raises(ValueError, match="zip"):
        plain_table("c", ("one head",), [("two", "cells")])
