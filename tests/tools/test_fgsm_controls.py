"""FGSM and its controls: both sides of every attack, schemes as units, all images and nothing else."""

import json

import pytest
from tests.report.synthetic import write_run
from tools.measured_tables import KINDS, control_lines

from zerosnet.experiments import EXPERIMENTS, read_evidence, scheme_of_run
from zerosnet.numerics import is_zero_stable
from zerosnet.robustness.protocols.result import ProtocolResult, ResultRow
from zerosnet.training import Store

SPECS = [spec for spec in EXPERIMENTS["table-fgsm"].specs("full") if spec.recipe.name == "mnist-fgsm"]


def row(method: str, correct: int, images: int, eps: float | None = None) -> ResultRow:
    return ResultRow(method, method, correct / images, correct, images, "white-box" if eps else None, eps, eps)


@pytest.fixture(scope="module")
def evidence(tmp_path_factory):
    """All schemes with two seeds; FGSM leaves 60 % and 70 % to those that are zero-stable, 20 % to the others."""
    store = tmp_path_factory.mktemp("runs")
    for spec in (spec for spec in SPECS if spec.seed < 3):
        stable = is_zero_stable(scheme_of_run(spec))
        left = 5000 + 1000 * spec.seed if stable else 2000
        rows = [row("clean", 99, 100), row("fgsm", 1, 100, 0.075), row("clean", 9900, 10_000)]
        rows += [row("fgsm", left, 10_000, 0.075), row("pgd-20", 0, 10_000, 0.075), row("huge eps", 0, 10_000, 0.5)]
        path = write_run(store, spec, attacks=False) / "attacks" / "paper-fgsm.json"
        path.parent.mkdir()
        path.write_text(json.dumps({"run": spec.id, **ProtocolResult("paper-fgsm", tuple(rows)).to_json()}))
    return read_evidence([Store(store)])


def test_both_sides_are_means_over_seeds_on_all_images(evidence):
    lines = {line[:2]: line[2:] for line in control_lines(evidence)}
    assert list(lines) == [("none", "0"), ("FGSM", "0.15"), ("PGD-20", "0.15"), ("PGD-20", "1")]
    assert lines["FGSM", "0.15"][:2] == ("65.00 to 65.00", "20.00 to 20.00")
    assert lines["none", "0"] == ("99.00 to 99.00", "99.00 to 99.00", ""), "what does not vary has no interval"


def test_other_runs_are_left_out_and_an_empty_table_is_named(evidence, tmp_path):
    write_run(tmp_path, SPECS[0])
    empty = read_evidence([Store(tmp_path)])
    assert control_lines(empty) == []
    assert "Nothing has been measured yet." in KINDS["FGSM and its controls"](empty)
    assert "| FGSM | 0.15 | 65.00 to 65.00 |" in KINDS["FGSM and its controls"](evidence)
