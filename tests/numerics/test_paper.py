import pytest

from zerosnet.numerics import PAPER_ROWS, is_consistent, root_condition, zerosnet


@pytest.mark.parametrize("row", PAPER_ROWS, ids=lambda row: row.label)
def test_the_printed_moduli_and_verdict_are_reproduced(row):
    verdict = root_condition(row.scheme)
    assert sorted(f"{m:.2f}" for m in verdict.moduli) == sorted(row.printed_moduli)
    assert verdict.zero_stable is row.printed_zero_stable


@pytest.mark.parametrize("row", PAPER_ROWS, ids=lambda row: row.label)
def test_exactly_the_rows_with_a_lambda_are_consistent(row):
    assert is_consistent(row.scheme) is (row.lam is not None)
    if row.lam is not None:
        assert zerosnet(row.lam) == row.scheme


def test_there_are_ten_rows_six_consistent_six_stable():
    assert len(PAPER_ROWS) == len({row.label for row in PAPER_ROWS}) == 10
    assert [str(row.lam) for row in PAPER_ROWS if row.lam is not None] == ["1/4", "-1/5", "-1/2", "1/2", "10", "-9/5"]
    assert sum(row.printed_zero_stable for row in PAPER_ROWS) == 6
