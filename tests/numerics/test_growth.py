import math

import numpy as np
import pytest

from zerosnet.errors import InputError
from zerosnet.numerics import (
    PAPER_ROWS,
    Scheme,
    companion,
    envelope,
    from_roots,
    growth,
    leapfrog,
    log10_envelope,
    log10_power_norms,
    zerosnet,
)


@pytest.mark.parametrize("row", PAPER_ROWS, ids=lambda row: row.label)
def test_norms_and_envelope_are_those_of_matrix_powers(row):
    matrix = companion(row.scheme)
    powers = [np.linalg.matrix_power(matrix, k) for k in range(28)]
    assert np.allclose(10 ** log10_power_norms(row.scheme), [np.linalg.norm(p, np.inf) for p in powers])
    assert np.allclose(envelope(row.scheme), [np.abs(p[0]).sum() for p in powers])


def test_the_envelope_is_attained_by_a_start_of_signs():
    matrix = companion(zerosnet("1/2"))
    power = np.linalg.matrix_power(matrix, 5)
    assert (power @ np.sign(power[0]))[0] == pytest.approx(envelope(zerosnet("1/2"), 5)[-1])


def test_stable_rows_stay_bounded_and_unstable_ones_do_not():
    for row in PAPER_ROWS:
        assert (growth(row.scheme, 300).constant < 20) is row.printed_zero_stable


@pytest.mark.parametrize("multiplicity", [2, 3, 4])
def test_a_multiple_root_one_grows_like_a_power_of_the_depth(multiplicity):
    logs = log10_envelope(from_roots([1] * (multiplicity - 1)), 4000)
    assert (logs[4000] - logs[2000]) / math.log10(2) == pytest.approx(multiplicity - 1, abs=0.01)


def test_growth_and_decay_beyond_floats_are_given_as_logarithms():
    assert log10_envelope(Scheme(["1e-20"], [1]), 40)[-1] == pytest.approx(-800)
    logs = log10_power_norms(zerosnet("-1/5"), 1000)
    slope = logs[-1] - logs[-2]
    assert np.isfinite(logs).all()
    assert slope == pytest.approx(math.log10(2 + math.sqrt(5)))
    assert envelope(zerosnet("-1/5"), 1000)[-1] == np.inf
    assert np.isfinite(log10_envelope(Scheme([1e300, 1], [1]), 50)).all()


def test_a_nilpotent_companion_matrix_ends_in_zero():
    assert envelope(Scheme([0, 0], [1]), 3).tolist() == [1, 0, 0, 0]
    assert (10 ** log10_power_norms(Scheme([0, 0], [1]), 3)).tolist() == [1, 1, 0, 0]
    assert growth(Scheme([0], [1])).to_json()["log10_last"] is None


def test_many_schemes_at_once():
    alphas = np.array([[float(a) for a in row.scheme.alphas] for row in PAPER_ROWS])
    together = envelope(alphas, 27)
    assert together.shape == (10, 28)
    for row, values in zip(PAPER_ROWS, together):
        assert np.allclose(values, envelope(row.scheme, 27))
    assert log10_power_norms(alphas.reshape(2, 5, 3), 4).shape == (2, 5, 5)


def test_growth_gathers_constant_peak_and_end():
    summary = growth(zerosnet("1/2"))
    assert summary.blocks == 27
    assert summary.constant == pytest.approx(9.875)
    assert summary.peak == 3
    assert 10**summary.log10_last == pytest.approx(envelope(zerosnet("1/2"))[-1])


@pytest.mark.parametrize("n", [-1, 1.5, True, "3"])
def test_depth_is_a_whole_number(n):
    with pytest.raises(InputError):
        envelope(leapfrog(), n)
