import numpy as np
import pytest

from zerosnet.errors import InputError
from zerosnet.numerics import MIXINGS, Wiring, draw_mixing, mixing_product


def wired(A: np.ndarray) -> Wiring:
    blocks, m, _ = A.shape
    return Wiring.of_matrices(A.tolist(), [[1] * m] * blocks, [[1] * m] * blocks, [1 / m] * m)


@pytest.mark.parametrize("constraint", MIXINGS)
def test_without_spread_nothing_is_mixed(constraint: str) -> None:
    assert np.allclose(draw_mixing(constraint, 4, 6, 0, seed=3), np.eye(4), atol=1e-14)


@pytest.mark.parametrize("streams", [1, 2, 8])
@pytest.mark.parametrize("spread", [0.2, 1.0])
def test_constraints_hold(streams: int, spread: float) -> None:
    rows = draw_mixing("row-stochastic", streams, 60, spread, seed=1)
    both = draw_mixing("doubly-stochastic", streams, 60, spread, seed=1)
    assert min(rows.min(), both.min()) >= 0
    assert np.allclose(rows.sum(axis=2), 1, atol=1e-13)
    assert np.allclose(both.sum(axis=2), 1, atol=1e-13) and np.allclose(both.sum(axis=1), 1, atol=1e-13)


def test_free_mixing_has_the_spread_that_was_asked_for() -> None:
    noise = draw_mixing("free", 8, 200, "1/4", seed=5) - np.eye(8)
    assert noise.std() == pytest.approx(0.25, rel=0.02) and abs(noise.mean()) < 0.01


@pytest.mark.parametrize("constraint", MIXINGS)
def test_a_seed_is_a_draw_and_more_blocks_continue_it(constraint: str) -> None:
    short, long = (draw_mixing(constraint, 3, blocks, 0.5, seed=7) for blocks in (5, 50))
    assert np.allclose(short, long[:5], atol=1e-12)
    assert not np.allclose(short, draw_mixing(constraint, 3, 5, 0.5, seed=8))


def test_row_stochastic_streams_become_alike_and_gradients_grow_at_most_by_their_number() -> None:
    wiring = wired(draw_mixing("row-stochastic", 4, 40, 0.3, seed=1))
    gains, second = wiring.gains(), wiring.second_singular_values()
    assert np.allclose(gains.forward_rows, 0, atol=1e-12)
    assert gains.backward_columns.max() <= np.log10(4) + 1e-12
    assert second[0] == 1 and second[10] < 0.3 and second[40] < 1e-3


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("sinkhorn", 4, 3), "constraint is 'sinkhorn'; expected one of free, row-stochastic, doubly-stochastic"),
        (("free", 0, 3), "streams is 0"),
        (("free", 2, 1.5), "blocks is 1.5"),
        (("free", 2, 3, 0.1, -1), "seed is -1"),
        (("row-stochastic", 2, 3, 1.5), "spread is 1.5; expected a number from 0 to 1 for row-stochastic mixing"),
        (("free", 2, 3, "wide"), "spread is 'wide'; expected a number"),
    ],
)
def test_bad_input_is_named(arguments: tuple, words: str) -> None:
    with pytest.raises(InputError, match=words):
        draw_mixing(*arguments)


def test_the_product_keeps_its_scale_apart() -> None:
    product, scale = mixing_product(wired(np.array([[[0.0, 1e50], [1e50, 0.0]]] * 101)))
    assert np.allclose(product, [[0, 1], [1, 0]]) and scale == pytest.approx(5050)
    product, scale = mixing_product(wired(np.zeros((3, 2, 2))))
    assert not product.any() and scale == -np.inf
