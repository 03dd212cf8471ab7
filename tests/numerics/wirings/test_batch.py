from time import perf_counter

import numpy as np
import pytest

from zerosnet.errors import InputError
from zerosnet.numerics import Scheme
from zerosnet.numerics.wirings.batch import head_contributions_of_many, shares_of_many
from zerosnet.numerics.wirings.wiring import Wiring

ALPHAS = np.random.default_rng(3).normal(size=(4, 4))
BETAS = np.array([1.0, -2.0, 0.1, 1e-6])


@pytest.mark.parametrize("change", ["project-each", "project-shared", "restart"])
@pytest.mark.parametrize("steps", [1, 2, 3, 4])
@pytest.mark.parametrize("growth", [1.0, 1.7, 0.6])
def test_many_schemes_agree_with_one_wiring_each(change: str, steps: int, growth: float) -> None:
    alphas = ALPHAS[:, :steps]
    shares = shares_of_many(alphas, BETAS, (4, 5, 3), change, growth)
    head = head_contributions_of_many(alphas, BETAS, (4, 5, 3), change, growth)
    for k in range(4):
        W = Wiring.of(Scheme(alphas[k], [BETAS[k]]), (4, 5, 3), change, growth)
        assert np.allclose(shares[k], W.shares(), rtol=1e-6, atol=0)
        assert np.allclose(head[k], W.contributions()[-1, 1:], rtol=1e-6, atol=1e-12)


def test_unstable_schemes_of_1298_layers_stay_finite() -> None:
    alphas, blocks = [[1.0, 1.0, 1.0], [-3.0, 5.0, -1.0], [5.0, 0.0, 0.0]], (144, 144, 144)
    shares = shares_of_many(alphas, [1.0, 4.0, 1.0], blocks)
    for row, expected in zip(shares, ([1, 1, 1], [-3, 5, -1])):
        assert np.allclose(row, Wiring.of(Scheme(expected, [1 if expected[0] > 0 else 4]), blocks).shares(), rtol=1e-9)
    assert np.isfinite(shares).all()
    assert np.isfinite(head_contributions_of_many(alphas, [1.0, 4.0, 1.0], blocks)).all()


def test_shapes_are_kept() -> None:
    assert shares_of_many(np.zeros((2, 5, 3)), np.ones((2, 5))).shape == (2, 5, 27)
    assert head_contributions_of_many([1.0], 1.0, (2, 2)).shape == (4,)


def test_a_network_without_skips_reads_the_last_block_only() -> None:
    assert np.array_equal(shares_of_many([0.0], 1.0), np.ones(27))
    assert np.array_equal(head_contributions_of_many([0.0], 1.0), np.eye(27)[-1])


@pytest.mark.parametrize(("alphas", "betas"), [([[np.nan]], [1.0]), ([[1.0]], [1.0, 2.0]), (1.0, 1.0)])
def test_bad_arrays_are_named(alphas, betas) -> None:
    with pytest.raises(InputError, match="expected"):
        shares_of_many(alphas, betas)


@pytest.mark.timing
@pytest.mark.parametrize("compute", [shares_of_many, head_contributions_of_many])
def test_a_hundred_thousand_wirings_of_27_blocks_take_less_than_a_second(compute) -> None:
    random = np.random.default_rng(0)
    alphas, betas = random.normal(size=(100_000, 3)), random.normal(size=100_000)
    compute(alphas[:1000], betas[:1000])
    begin = perf_counter()
    compute(alphas, betas)
    assert perf_counter() - begin < 1.0
