"""Real and imaginary stability intervals: known values, exact where rational, and a scan that agrees."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zerosnet.numerics import Scheme, from_roots, imaginary_interval, real_interval, root_radius

REAL = {
    "euler": "2",
    "zerosnet(-9/5)": "1/2",
    "zerosnet(10)": "44/29",
    "zerosnet(5)": "12/7",
    "zerosnet(1)": "1",
    "zerosnet(1/2)": "1/3",
    "zerosnet(-1)": "0",
    "zerosnet(1/4)": "0",
    "leapfrog": "0",
    "ab2": "1",
    "ab3": "6/11",
    "ab4": "3/10",
    "0,-1;1": "2",
}


@pytest.mark.parametrize("text", REAL)
def test_real_interval_is_known_and_exact(text):
    interval = real_interval(Scheme.parse(text))
    assert isinstance(interval, Fraction)
    assert interval == Fraction(REAL[text])


@pytest.mark.parametrize("text", [*REAL, "ab5", "lm(1/3)"])
def test_float_schemes_have_the_same_real_interval(text):
    scheme = Scheme.parse(text)
    found = real_interval(scheme.to_float())
    assert isinstance(found, float)
    assert found == pytest.approx(float(real_interval(scheme)), abs=1e-9)


@pytest.mark.parametrize(
    ("text", "known"),
    [("leapfrog", 1), ("zerosnet(-1)", 1), ("euler", 0), ("ab2", 0), ("ab3", 0.7236), ("ab4", 0.43), ("ab5", 0)],
)
def test_imaginary_interval_is_known(text, known):
    scheme = Scheme.parse(text)
    assert float(imaginary_interval(scheme)) == pytest.approx(known, abs=5e-4)
    assert imaginary_interval(scheme.to_float()) == pytest.approx(float(imaginary_interval(scheme)), abs=1e-6)


def test_leapfrog_ends_exactly_at_i():
    assert imaginary_interval(Scheme.parse("leapfrog")) == Fraction(1)


def test_without_slopes_intervals_are_infinite_or_empty():
    still = Scheme.parse("lm(-1/2, paper)")
    assert real_interval(still) == imaginary_interval(still) == math.inf
    assert real_interval(Scheme.parse("zerosnet(1/3)")) == imaginary_interval(Scheme.parse("zerosnet(1/3)")) == 0


def test_a_root_shared_by_rho_and_sigma_does_no_harm():
    # rho = (z-1)(z-1/5), sigma = 3/2 (z-1): w moves the other root alone, z = 1/5 + 3w/2
    scheme = Scheme(["6/5", "-1/5"], ["3/2", "-3/2"])
    assert real_interval(scheme) == Fraction(4, 5)
    assert float(imaginary_interval(scheme)) == pytest.approx(2 / 3 * math.sqrt(1 - 1 / 25))


@pytest.mark.parametrize(
    ("text", "end"), [("34/25,-9/16,81/400;-3/2,3/2", "337/600"), ("27/20,-189/400,49/400;-2/3,-2/3,4/3", "309/800")]
)
def test_the_locus_is_followed_through_a_root_one_shared_by_rho_and_sigma(text, end):
    scheme = Scheme.parse(text)
    assert real_interval(scheme) == Fraction(end)
    assert real_interval(scheme.to_float()) == pytest.approx(float(Fraction(end)))


@pytest.mark.parametrize(
    ("text", "real"), [("1;1e200", "2e-200"), ("1;1e-200", "2e200"), ("1,0;1e200,1e200", None), ("1e-300;1", None)]
)
def test_enormous_coefficients_have_intervals(text, real):
    scheme = Scheme.parse(text)
    assert math.isfinite(imaginary_interval(scheme))
    assert real is None or real_interval(scheme) == Fraction(real)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.fractions("-9/10", "9/10", max_denominator=10), min_size=0, max_size=4), st.data())
def test_intervals_of_slopes_that_sum_to_zero_end_where_a_root_leaves_the_disc(roots, data):
    """sigma(1) = 0: the root 1 is shared by rho and sigma, and stays where it is."""
    betas = data.draw(st.lists(st.fractions(-2, 2, max_denominator=4), min_size=1, max_size=3).filter(any))
    scheme = Scheme(from_roots(roots).alphas, [*betas, -sum(betas)])
    x = float(real_interval(scheme))
    if 0 < x < math.inf:
        assert (root_radius(scheme, -x * np.linspace(0.001, 0.999, 25), [0.0]) <= 1 + 1e-6).all()
        assert root_radius(scheme, [-x * 1.001 - 1e-4], [0.0])[0, 0] > 1


@settings(max_examples=60, deadline=None)
@given(st.lists(st.fractions("-9/10", "9/10", max_denominator=10), min_size=0, max_size=4))
def test_real_interval_ends_where_a_root_leaves_the_disc(roots):
    scheme = from_roots(roots)
    x = float(real_interval(scheme))
    inside = -x * np.linspace(0.001, 0.999, 25)
    assert (root_radius(scheme, inside, [0.0]) <= 1 + 1e-7).all()
    assert root_radius(scheme, [-x * 1.001 - 1e-4], [0.0])[0, 0] > 1


@settings(max_examples=40, deadline=None)
@given(st.lists(st.fractions("-4/5", "4/5", max_denominator=5), min_size=1, max_size=3), st.integers(1, 3))
def test_imaginary_interval_ends_where_a_root_leaves_the_disc(roots, second):
    scheme = Scheme(from_roots(roots).alphas, [2, Fraction(-second, 2)])
    y = float(imaginary_interval(scheme))
    assert (root_radius(scheme, [0.0], y * np.linspace(0.001, 0.999, 25)) <= 1 + 1e-7).all()
    assert root_radius(scheme, [0.0], [y * 1.01 + 0.05])[0, 0] > 1
