import io
import json

import pytest
from rich.console import Console

from zerosnet.numerics import PAPER_ROWS, Scheme, analyze, zerosnet

KEYS = {"alphas", "betas", "roots", "moduli", "zero_stable", "kind", "consistent", "order", "error_constant", "reason"}


def test_json_of_the_optimal_scheme():
    data = json.loads(json.dumps(analyze(zerosnet("-9/5")).to_json()))
    assert set(data) >= KEYS
    assert data["alphas"] == ["1/3", "5/9", "1/9"]
    assert data["betas"] == ["16/9"]
    assert data["roots"][0] == [1.0, 0.0]
    assert data["roots"][1] == data["roots"][2] == pytest.approx([-1 / 3, 0.0])
    assert data["moduli"] == pytest.approx([1, 1 / 3, 1 / 3])
    assert data["zero_stable"] is True
    assert data["kind"] == "strongly stable"
    assert data["consistent"] is True
    assert data["order"] == 2
    assert data["error_constant"] == "11/27"
    assert data["normalised_error_constant"] == "11/48"
    assert data["exact"] is True
    assert data["growth"]["blocks"] == 27


def test_borderline_is_null_and_inconsistency_leaves_no_error_constant():
    data = analyze(Scheme([0.0, 1.0], [2.0])).to_json()
    assert data["zero_stable"] is None
    assert data["error_constant"] == pytest.approx(1 / 3)
    data = analyze(Scheme([1, 1, 1], [1])).to_json()
    assert (data["consistent"], data["order"], data["error_constant"]) == (False, 0, None)
    assert data["consistency_residuals"] == ["-2", "3"]


@pytest.mark.parametrize("alphas", [["1e300", 1], ["1e-300"], [1e250, -1e250], [0], [5] * 8])
def test_json_has_no_infinities(alphas):
    json.dumps(analyze(Scheme(alphas, [1])).to_json(), allow_nan=False)


@pytest.mark.parametrize("row", PAPER_ROWS, ids=lambda row: row.label)
def test_the_table_is_readable(row):
    console = Console(width=140, record=True, file=io.StringIO())
    console.print(analyze(row.scheme))
    text = console.export_text()
    assert analyze(row.scheme).verdict.reason in text
    assert ("none" in text) is (row.lam is None)
