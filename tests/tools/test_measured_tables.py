"""Tables in Markdown, and that those in the repository are made of the runs that lie beside them."""

import json

import pytest
from tests.docs.blocks import ROOT
from tests.measured_runs import RUNS, needs_runs
from tests.report.synthetic import specs_of_rows, write_run
from tools.measured_tables import KINDS

from zerosnet.experiments import EXPERIMENTS, read_evidence
from zerosnet.training import Store


@pytest.fixture(scope="module")
def evidence(tmp_path_factory):
    """Two rows of 56 layers, one of them with one seed only."""
    folder = tmp_path_factory.mktemp("runs")
    first, second = specs_of_rows()[0:3], specs_of_rows()[3:6]
    for spec in (*first, second[0]):
        write_run(folder, spec)
    return read_evidence([Store(folder)])


@needs_runs
def test_the_report_shows_every_run_and_is_small():
    page = ROOT / "results" / "report.html"
    text = page.read_text(encoding="utf-8")
    assert [run.record.id for run in read_evidence([Store(RUNS)]).runs if run.record.id not in text] == []
    assert page.stat().st_size < 5e6 and str(ROOT) not in text


def test_a_table_has_ours_the_papers_and_how_many_seeds(evidence):
    page = KINDS["all tables"](evidence)
    line = next(line for line in page.splitlines() if line.startswith("| 56 | "))
    assert "±" in line and "[" in line
    assert "(n=1)" in page and "Not run: 29 of 31 rows." in page
    assert "table-robustness" in page and "| not run |" not in page


def test_a_failed_sanity_check_is_marked_in_its_cells_and_listed_below(tmp_path):
    """The made-up PGD leaves more than the made-up FGSM does."""
    spec = next(spec for spec in EXPERIMENTS["table-pgd"].specs("full") if spec.recipe.name == "pgd-paper")
    write_run(tmp_path, spec)
    page = KINDS["all tables"](read_evidence([Store(tmp_path)]))
    lines = page.splitlines()
    table = lines.index(next(line for line in lines if "`table-pgd`" in line))
    warning = next(line for line in lines if line.startswith(f"- `{spec.id}`: "))
    assert "PGD not weaker than FGSM" in warning and lines.index(warning) > table
    numbers = lines[table + 4].split(" | ")[2:]
    assert ["⚠" in number for number in numbers] == [False, True, True, True], "clean accuracy is not in doubt"


def test_numbers_without_failed_checks_carry_no_mark(evidence):
    assert "⚠" not in KINDS["all tables"](evidence)


def test_accuracies_leave_noise_and_attacks_out(evidence):
    page = KINDS["accuracies"](evidence)
    assert "table-zerosnet-cifar10" in page and "table-robustness" not in page


def test_runs_are_listed_with_seeds_and_hardware(evidence):
    page = KINDS["runs"](evidence)
    assert "| 1°, 2°, 3° |" in page and "Made-up processor" in page, "made-up runs have no commit"


def test_timed_numbers_are_shown_and_quoted_ones_are_not_expected(evidence):
    page = KINDS["accuracies"](evidence)
    section = page.partition("`table-run-time`")[2].partition("\n\n**")[0]
    assert section.count("| ZeroSNet20 / PreResNet20 (") == 2 and "Not run" not in section


def test_seeds_whose_code_is_that_of_no_commit_are_marked(tmp_path):
    first, second = specs_of_rows()[0:2]
    for spec, git in ((first, None), (second, {"commit": "ab", "dirty": True})):
        folder = write_run(tmp_path, spec) or tmp_path / spec.id
        (folder / "environment.json").write_text(json.dumps({"git": git}))
    page = KINDS["runs"](read_evidence([Store(tmp_path)]))
    assert f"{first.seed}°, {second.seed}†" in page
    assert "† uncommitted changes: 1 runs." in page and "° no commit recorded: 1 runs." in page
