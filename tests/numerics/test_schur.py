from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from zerosnet.numerics.polynomials.integer import (
    derivative,
    gcd,
    integer_polynomial,
    quotient,
    reciprocal,
    strip_zero_roots,
)
from zerosnet.numerics.polynomials.prescribed import monic_from_roots
from zerosnet.numerics.polynomials.schur import circle_part, decide, is_schur

inside = st.fractions(-1, 1, max_denominator=12).filter(lambda r: abs(r) < 1)
anywhere = st.fractions(-2, 2, max_denominator=12)
# z^2 - 2 r c z + r^2 has its roots at radius r; c is the cosine of their angle
cosines = st.fractions(-1, 1, max_denominator=5).filter(lambda c: abs(c) < 1)


def polynomial(roots):
    return integer_polynomial([Fraction(c) for c in monic_from_roots(roots)])


def pair(radius, cosine):
    return (-2 * radius * cosine, radius * radius)


@given(st.lists(inside, max_size=5), st.lists(st.tuples(inside, cosines), max_size=2))
def test_roots_inside_are_schur(roots, pairs):
    assert is_schur(polynomial([*roots, *(pair(r, c) for r, c in pairs)]))


@given(st.lists(anywhere, min_size=1, max_size=6))
def test_real_roots_are_decided_by_their_moduli_and_multiplicities(roots):
    outside = any(abs(r) > 1 for r in roots)
    multiple = roots.count(1) > 1 or roots.count(-1) > 1
    expected = "unstable" if outside or multiple else "weakly stable" if -1 in roots else "strongly stable"
    assert decide(polynomial(roots)) == expected


@given(st.lists(inside, max_size=3), st.lists(cosines, max_size=3), st.booleans())
def test_complex_pairs_on_the_circle_must_be_simple(roots, angles, principal):
    p = polynomial([*roots, *(pair(1, c) for c in angles), *([1] if principal else [])])
    if len(set(angles)) < len(angles):
        assert decide(p) == "unstable"
    else:
        assert decide(p) == ("weakly stable" if angles else "strongly stable")


@given(anywhere.filter(lambda r: r not in (0, 1, -1)), cosines)
def test_reciprocal_pairs_of_roots_are_not_taken_for_roots_on_the_circle(radius, cosine):
    assert decide(polynomial([pair(radius, cosine), pair(1 / radius, cosine)])) == "unstable"


@given(st.lists(st.integers(-12, 12), min_size=1, max_size=6).filter(lambda p: p[0] != 0))
def test_the_recursion_agrees_with_gcd_and_cohn(coefficients):
    """The textbook form: with g = gcd(q, q*), q/g and g' must both be Schur."""
    q = strip_zero_roots(integer_polynomial([Fraction(c) for c in coefficients]))[0]
    g = gcd(q, reciprocal(q))
    textbook = is_schur(quotient(q, g)) and (len(g) == 1 or is_schur(derivative(g)))
    assert (decide(q) != "unstable") == textbook
    if textbook:
        assert circle_part(q) == g


@given(st.lists(st.integers(-30, 30), min_size=2, max_size=7).filter(lambda p: p[0] != 0))
def test_decisions_agree_with_numpy_away_from_the_circle(coefficients):
    moduli = np.abs(np.roots(coefficients))
    largest = moduli.max(initial=0)
    if abs(largest - 1) > 1e-3:
        assert (decide(integer_polynomial([Fraction(c) for c in coefficients])) != "unstable") == (largest < 1)
