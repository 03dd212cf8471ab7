import numpy as np
import pytest

from zerosnet.errors import InputError
from zerosnet.numerics import Scheme, euler, from_roots, growth, zerosnet
from zerosnet.numerics.wirings.gains import stage_gain
from zerosnet.numerics.wirings.wiring import Wiring

MIX = [["1/2", "1/2"], ["1/2", "1/2"]]


def test_gain_of_a_plain_residual_network_is_one() -> None:
    gains = Wiring.of(euler()).gains()
    for reading in vars(gains).values():
        assert np.array_equal(reading, np.zeros(28))


def test_rows_and_columns_are_the_two_norms_of_the_products() -> None:
    random = np.random.default_rng(0)
    A = random.normal(size=(5, 3, 3))
    gains = Wiring.of_matrices(A, [[1, 0, 0]] * 5, [[1, 0, 0]] * 5, [1, 0, 0]).gains()
    forward, backward = np.eye(3), np.eye(3)
    for n in range(6):
        assert 10 ** gains.forward_rows[n] == pytest.approx(np.linalg.norm(forward, np.inf))
        assert 10 ** gains.forward_columns[n] == pytest.approx(np.linalg.norm(forward, 1))
        assert 10 ** gains.backward_rows[5 - n] == pytest.approx(np.linalg.norm(backward, np.inf))
        assert 10 ** gains.backward_columns[5 - n] == pytest.approx(np.linalg.norm(backward, 1))
        if n < 5:
            forward, backward = A[n] @ forward, backward @ A[4 - n]


def test_backward_gain_of_a_scheme_is_its_growth() -> None:
    scheme = Scheme([1, 1, 1], [1])
    backward = Wiring.of(scheme, 27).gains().backward_rows
    assert backward[2] == pytest.approx(growth(scheme, 25).log10_power)


def test_doubly_stochastic_streams_have_gain_one_and_become_alike() -> None:
    slow = [["3/4", "1/4"], ["1/4", "3/4"]]
    wiring = Wiring.of_matrices([slow] * 20, [[1, 0]] * 20, [[1, 0]] * 20, ["1/2", "1/2"])
    assert np.allclose(wiring.gains().forward_rows, 0)
    assert np.allclose(wiring.second_singular_values(), 0.5 ** np.arange(21))
    assert Wiring.of_matrices([MIX], [[1, 0]], [[1, 0]], [1, 0]).second_singular_values()[1] < 1e-15


def test_streams_of_a_strongly_stable_scheme_become_alike_at_the_rate_of_its_largest_root() -> None:
    values = Wiring.of(from_roots(["1/2"]), 27).second_singular_values()
    assert values[12] / values[11] == pytest.approx(0.5, rel=1e-3)


def test_stage_gain() -> None:
    assert stage_gain(zerosnet("-9/5")) == pytest.approx(0.679, abs=1e-3)
    assert stage_gain(zerosnet("1/2")) == pytest.approx(3.5, abs=0.05)
    assert stage_gain(from_roots(["-3/5", "-3/5"])) == pytest.approx(0.63, abs=0.01)
    assert stage_gain(from_roots(["3/5", "3/5"])) == pytest.approx(10, abs=0.1)
    assert stage_gain(Scheme([0, 0, 1], [3])) == pytest.approx(3**-0.5)  # the least possible


def test_stage_gain_is_what_independent_projections_do_to_the_state() -> None:
    scheme = from_roots(["1/2", "1/5"])
    wiring = Wiring.of(scheme, (3, 60), "project-each")
    silent = Wiring.per_block([Scheme(s.alphas, [0]) for s in wiring.schemes()], (3, 60))
    keep, first = silent.arrays[0], 3
    moments = np.eye(3)
    for A in keep[first:]:
        moments = A @ moments @ A.T
    assert np.sqrt(moments[0, 0]) == pytest.approx(stage_gain(scheme))


@pytest.mark.parametrize("text", ["1,1,1;1", "2,-1;1"])
def test_stage_gain_needs_a_simple_principal_root(text: str) -> None:
    with pytest.raises(InputError, match="expected"):
        stage_gain(Scheme.parse(text))
