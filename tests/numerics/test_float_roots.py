import numpy as np
from hypothesis import given
from hypothesis import strategies as st

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
