"""Roots in floats: of one polynomial with their radii, and of many schemes at once."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zerosnet.errors import InputError
from zerosnet.numerics import Scheme, parasitic_roots, root_condition
from zerosnet.numerics.polynomials.float_roots import float_roots


def test_the_radius_covers_the_smearing_of_multiple_roots():
    for multiplicity in (1, 2, 3, 4):
        for root in float_roots(list(np.poly([1.0] * multiplicity))):
            assert abs(root.value - 1) <= root.radius < 1e-12 ** (1 / multiplicity) * 100


@given(st.lists(st.floats(-1.5, 1.5), min_size=1, max_size=6))
def test_every_true_root_is_within_the_radius_of_a_found_one(roots):
    """Or within the rounding of the eigenvalues, for roots next to 0."""
    found = float_roots([float(c) for c in np.poly(roots)])
    assert len(found) == len(roots)
    for root in roots:
        assert any(abs(each.value - root) <= 2 * each.radius + 1e-14 for each in found)


def test_zero_roots_are_counted():
    assert [root.value for root in float_roots([1.0, -0.5, 0.0, 0.0])] == [0.5, 0, 0]


@pytest.mark.parametrize("text", ["zerosnet(-9/5)", "zerosnet(1/4)", "lm(3/2)", "1,1,1;1", "ab3"])
def test_the_roots_of_many_are_those_of_each(text):
    scheme = Scheme.parse(text)
    expected = sorted(abs(z) for z in root_condition(scheme).parasitic_roots if z != 0)
    found = parasitic_roots([[float(a) for a in scheme.alphas]] * 3)
    assert found.shape[0] == 3
    assert sorted(np.abs(found[1])) == pytest.approx(expected, abs=1e-6)


def test_a_weight_of_one_leaves_no_parasitic_root_and_what_is_not_finite_is_refused():
    assert parasitic_roots([[1.0], [1.0]]).shape == (2, 0)
    with pytest.raises(InputError, match="alphas"):
        parasitic_roots([[np.nan]])
