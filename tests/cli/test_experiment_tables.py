"""Tables on the terminal: what was run, what was not, and what was left out."""

import pytest
from tests.report.synthetic import write_run

from zerosnet.cli.experiment_tables import show_claims, show_table
from zerosnet.experiments import EXPERIMENTS, Evidence, collect, predicted_rows, read_evidence, recorded, whole
from zerosnet.training import Store

TABLE = EXPERIMENTS["table-zerosnet-cifar10"]


@pytest.fixture
def store(tmp_path):
    """One run of one row of Table 3 and, on digits, of its demo."""
    for scale in ("full", "demo"):
        write_run(tmp_path, next(spec for spec in TABLE.specs(scale) if spec.model == "zerosnet56"), attacks=False)
    return Store(tmp_path)


def lines(capsys, table) -> list[str]:
    show_table(table, [], {})
    return capsys.readouterr().out.splitlines()


def test_a_row_that_was_not_run_is_marked_beside_the_papers_number(store, capsys):
    shown = lines(capsys, collect(TABLE, read_evidence(store), "full"))
    assert sum("not run" in line for line in shown) == len(TABLE.rows) - 1
    assert any("not run [94.04±0.12]" in line for line in shown)
    assert not any("at this scale" in line or line.startswith("not run") for line in shown)


def test_rows_that_a_scale_leaves_out_are_counted_and_do_not_wait(store, capsys):
    shown = lines(capsys, collect(TABLE, read_evidence(store), "demo"))
    left_out = sum(not any(TABLE.cell_specs(c, "demo") for c in TABLE.cells if c.row == row.key) for row in TABLE.rows)
    assert left_out and f"not at this scale: {left_out} of {len(TABLE.rows)} rows" in shown
    assert sum("not run" in line for line in shown) == len(TABLE.rows) - left_out - 1


def test_a_quoted_row_is_shown_as_such(capsys, tmp_path):
    chosen = EXPERIMENTS["table-comparison"]
    write_run(tmp_path, chosen.specs("full")[0], attacks=False)
    shown = lines(capsys, collect(chosen, read_evidence(Store(tmp_path)), "full"))
    assert any("quoted only [91.25†]" in line for line in shown)


def test_a_long_table_counts_the_rows_that_wait(capsys, tmp_path):
    chosen = EXPERIMENTS["scan-disc"]
    for spec in chosen.specs("full")[:43]:
        write_run(tmp_path, spec, attacks=False)
    shown = lines(capsys, collect(chosen, read_evidence(Store(tmp_path)), "full"))
    assert "measured too, in the report: 3 of 200 rows" in shown and "not run: 157 of 200 rows" in shown


def test_recorded_tables_have_the_rows_that_were_not_measured_too(capsys):
    table = next(table for table in recorded() if table.experiment is EXPERIMENTS["table-comparison"])
    assert any("not run [" in line for line in lines(capsys, whole(table)))


def test_a_table_of_which_nothing_was_run_is_one_line(capsys):
    shown = lines(capsys, collect(TABLE, Evidence(), "full"))
    assert shown[0].endswith(": not run") and not any(shown[1:])
    shown = lines(capsys, collect(EXPERIMENTS["table-imagenet"], Evidence(), "demo"))
    assert shown[0].endswith(": not at this scale")


def test_a_demo_table_is_called_by_what_it_was_run_on(store, capsys):
    assert lines(capsys, collect(TABLE, read_evidence(store), "demo"))[0].startswith("ZeroSNet on digits over ten")


def test_nothing_is_shown_of_no_claims(capsys):
    show_claims([])
    assert capsys.readouterr().out == ""


def predicted(store_or_none, name, scale="full"):
    evidence = Evidence() if store_or_none is None else read_evidence(store_or_none)
    table = collect(EXPERIMENTS[name], evidence, scale)
    return table, predicted_rows(table, evidence)


def test_what_was_predicted_stands_before_what_was_measured(store, capsys):
    table, rows = predicted(store, "table-zerosnet-cifar10")
    show_table(table, [], {}, rows)
    text = capsys.readouterr().out
    head = next(line for line in text.splitlines() if "predicted" in line)
    assert head.index("predicted") < head.index("test accuracy")
    early = f"{rows['32 1.84, 0.74, 0.74'].accuracy:.1f}"
    assert f"32        1.84, 0.74, 0.74  No          {early}" in text, "registered before anybody trained it"
    left_out = f"~{rows['56 1.84, 0.74, 0.74'].accuracy:.1f}"
    assert f"56        1.84, 0.74, 0.74  No         {left_out}" in text, "the law's forecast, without this network"
    assert "registered before training (survival, threshold); ~ forecast of the law, fitted without the network" in text


@pytest.mark.parametrize("width", [80, 100, 140])
@pytest.mark.parametrize("table", recorded(), ids=lambda table: table.experiment.name)
def test_recorded_tables_fit_the_terminal_with_their_predictions(table, width, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(width))
    known = whole(table)
    show_table(known, [], {}, predicted_rows(known, Evidence()))
    text = capsys.readouterr().out
    shown = [line for line in text.splitlines() if not line.startswith(("WARNING", "predicted:", "effective depth:"))]
    assert max(map(len, shown)) <= width
    assert "predicted:" in text or "effective depth: predicted" in text


def test_a_wide_table_keeps_its_numbers_whole(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    known = whole(next(one for one in recorded() if one.experiment.name == "table-robustness"))
    rows = predicted_rows(known, Evidence())
    show_table(known, [], {}, rows)
    text = capsys.readouterr().out
    assert "rounded to fit" in text and "79.7±0.5" in text and "[78.3]" in text
    assert all(f"~{one.accuracy:.1f}" in text for one in rows.values())


def test_networks_that_the_law_was_not_made_for_have_an_effective_depth_only(store, capsys):
    table, rows = predicted(store, "table-zerosnet-cifar10", "demo")
    assert all(one.accuracy is None for one in rows.values())
    show_table(table, [], {}, rows)
    text = capsys.readouterr().out
    assert "effective depth" in text and "4.6 of 27" in text and "~" not in text


def test_columns_under_noise_show_the_predicted_clean_accuracy(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "240")
    known = whole(next(one for one in recorded() if one.experiment.name == "table-uniform-noise"))
    show_table(known, [], {}, predicted_rows(known, Evidence()))
    assert "clean, predicted" in capsys.readouterr().out
