"""The table of run times holds what the benchmark measured in turns, and no seconds of training runs."""

import json

import pytest
from tests.docs.blocks import ROOT

from zerosnet.experiments import EXPERIMENTS, Evidence, collect
from zerosnet.report.page.experiments_section import progress

BENCHMARK = ROOT / "benchmarks" / "results" / "models-cuda.json"
TABLE = EXPERIMENTS["table-run-time"]


@pytest.mark.skipif(not BENCHMARK.exists(), reason="installed without the benchmarks")
@pytest.mark.parametrize("mode", ["training", "test"])
@pytest.mark.parametrize("batch", [128, 512, 4096])
def test_ours_is_the_measured_ratio_and_the_papers_is_that_of_its_seconds(mode, batch):
    timed = json.loads(BENCHMARK.read_text())["rows"]
    (row,) = [one for one in timed if (one["depth"], one["mode"], one["batch"]) == (20, mode, batch)]
    cell = collect(TABLE, Evidence()).cell(mode, f"BS={batch}")
    assert cell.status == "measured" and cell.compared.mean == row["ratio"]
    assert cell.printed.text == f"{row['paper_ratio']:.2f}"


def test_the_papers_seconds_are_quoted_and_nothing_is_trained_for_them():
    table = collect(TABLE, Evidence())
    assert not TABLE.specs("full") and table.complete
    assert progress(table, []) == "Timed; nothing is trained for it."
    assert [cell.status for cell in table.cells if not TABLE.row(cell.row).ours] == ["quoted only"] * 12
