from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zerosnet.numerics.polynomials.integer import integer_polynomial
from zerosnet.numerics.polynomials.prescribed import monic_from_roots
from zerosnet.numerics.polynomials.roots import _aberth, located_roots


def roots_of(*roots):
    return located_roots(integer_polynomial([Fraction(c) for c in monic_from_roots(roots)]))


@given(st.lists(st.fractions(-2, 2, max_denominator=20), min_size=1, max_size=6))
def test_rational_roots_are_found_with_their_multiplicities_and_sides(roots):
    found = roots_of(*roots)
    nearest = [min(roots, key=lambda r: abs(r - Fraction(root.value.real))) for root in found]
    assert sorted(zip(nearest, (root.multiplicity for root in found))) == sorted(
        (r, roots.count(r)) for r in set(roots)
    )
    for root, r in zip(found, nearest):  # neighbours among these fractions are 1/380 apart, or more
        assert root.value.real == pytest.approx(float(r), abs=1e-6)
        assert np.sign(root.excess) == np.sign(float(abs(r) - 1))
        assert root.value.imag == 0


@given(st.lists(st.integers(-50, 50), min_size=2, max_size=9).filter(lambda p: p[0] != 0))
def test_as_many_roots_as_the_degree_and_they_multiply_out(coefficients):
    found = located_roots(integer_polynomial([Fraction(c) for c in coefficients]))
    values = [root.value for root in found for _ in range(root.multiplicity)]
    assert len(values) == len(coefficients) - 1
    expected = np.array(coefficients) / coefficients[0]
    assert np.allclose(np.poly(values), expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max())


def test_roots_on_the_circle_have_modulus_exactly_one():
    for root in roots_of((Fraction(-6, 5), 1), (Fraction(-6, 5), 1), (-1, 1), 1, -1):
        assert root.excess == 0
        assert root.modulus == 1.0
        assert root.multiplicity == (2 if abs(root.value.real - 0.6) < 1e-9 else 1)


def test_a_root_that_floats_cannot_tell_from_one_is_on_its_own_side():
    tiny = Fraction(1, 10**40)
    for sign in (1, -1):
        (root,) = (r for r in roots_of(1 + sign * tiny, Fraction(1, 3), Fraction(-1, 7)) if abs(r.value) > 0.9)
        assert np.isclose(root.excess, sign * 1e-40)
        assert (root.modulus > 1) == (sign > 0)
        assert root.modulus != 1


def test_reciprocal_pairs_next_to_the_circle_are_told_from_roots_on_it():
    radius = 1 + Fraction(1, 10**12)
    found = roots_of((-radius, radius**2), (-1 / radius, 1 / radius**2), (-1, 1))
    assert sorted(np.sign(root.excess) for root in found) == [-1, -1, 0, 0, 1, 1]


@given(st.lists(st.integers(-20, 20), min_size=3, max_size=8).filter(lambda p: p[0] != 0))
def test_complex_roots_come_in_exact_conjugate_pairs(coefficients):
    found = {
        (root.value, root.excess) for root in located_roots(integer_polynomial([Fraction(c) for c in coefficients]))
    }
    assert found == {(value.conjugate(), excess) for value, excess in found}


def test_huge_and_tiny_roots_do_not_overflow():
    found = roots_of(Fraction(10) ** 200, Fraction(1, 10**200), Fraction(1, 2))
    assert sorted(f"{root.modulus:.3g}" for root in found) == ["0.5", "1e+200", "1e-200"]


def test_roots_of_enormous_coefficients_are_found_where_powers_overflow():
    p = (1, *[-(10**50)] * 8)
    roots = located_roots(p)
    assert max(root.modulus for root in roots) == pytest.approx(1e50)
    assert sum(root.excess > 0 for root in roots) == 1


def test_the_precision_that_all_threads_share_is_left_alone(monkeypatch):
    before, seen = mpmath.mp.prec, []

    def noting(coefficients, *arguments):
        seen.append((mpmath.mp.prec, type(coefficients[0])))
        return _aberth(coefficients, *arguments)

    monkeypatch.setattr("zerosnet.numerics.polynomials.roots._aberth", noting)
    roots_of(1 + Fraction(1, 10**40), Fraction(1, 3), Fraction(-1, 7))
    assert {precision for precision, _ in seen} == {before}
    assert seen[-1][1] is not float  # floats did not suffice
