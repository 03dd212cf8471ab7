from fractions import Fraction

import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from zerosnet.numerics import (
    Scheme,
    adams_bashforth,
    consistency_residuals,
    error_constant,
    from_roots,
    is_consistent,
    leapfrog,
    normalised_error_constant,
    order,
    zerosnet,
)
from zerosnet.numerics.methods.order_conditions import local_error_coefficient

# gamma_k of the backward-difference form: the error constants of Adams-Bashforth
_GAMMAS = ("1/2", "5/12", "3/8", "251/720", "95/288", "19087/60480", "5257/17280", "1070017/3628800")
ADAMS_BASHFORTH = dict(enumerate(_GAMMAS, start=1))


@pytest.mark.parametrize("k, constant", ADAMS_BASHFORTH.items())
def test_adams_bashforth_has_the_order_of_its_steps_and_the_textbook_constants(k, constant):
    assert order(adams_bashforth(k)) == k
    assert error_constant(adams_bashforth(k)) == Fraction(constant)
    assert normalised_error_constant(adams_bashforth(k)) == Fraction(constant)


def test_two_step_schemes_have_their_orders():
    assert order(leapfrog()) == 2
    assert order(Scheme([-4, 5], [4, 2])) == 3  # the highest of an explicit scheme
    assert error_constant(leapfrog()) == Fraction(1, 3)
    assert normalised_error_constant(leapfrog()) == Fraction(1, 6)


@given(st.fractions().filter(lambda x: x not in (0, Fraction(-1, 3)) and abs(x) < 10**9))
def test_the_lambda_family_has_order_two_and_its_error_constant(lam):
    assert order(zerosnet(lam)) == 2
    assert error_constant(zerosnet(lam)) == (3 * lam + 1) / (6 * lam)


def test_lambda_minus_a_third_has_order_three():
    scheme = zerosnet("-1/3")
    assert order(scheme) == 3
    assert error_constant(scheme) == local_error_coefficient(scheme, 4)


def test_an_inconsistent_scheme_has_order_zero_and_no_error_constant():
    scheme = Scheme([1, 1, 1], [1])
    assert not is_consistent(scheme)
    assert consistency_residuals(scheme) == (-2, 3)
    assert order(scheme) == 0
    assert error_constant(scheme) is None
    assert normalised_error_constant(scheme) is None
    assert order(Scheme([1], [2])) == 0


def test_sigma_one_zero_leaves_no_normalised_constant():
    scheme = Scheme([2, -1], [0])
    assert is_consistent(scheme)
    assert normalised_error_constant(scheme) is None


def test_floats_are_consistent_within_rounding_and_not_beyond():
    for lam in (0.1, 0.7, -1.8, 3.3, 1e6, 1e-3):
        assert order(zerosnet(lam)) == 2
    assert not is_consistent(Scheme([0.333, 0.5556, 0.1111], [1.7778]))
    assert isinstance(error_constant(zerosnet(0.7)), float)


@given(st.lists(st.fractions(-2, 2, max_denominator=20), max_size=4))
def test_prescribed_roots_give_consistent_schemes(roots):
    assert is_consistent(from_roots(roots))


def test_coefficients_are_those_of_the_expansion_of_rho_and_sigma():
    h = sympy.Symbol("h")
    scheme = Scheme(["1/2", "-1/3", "2/7"], ["3/4", "1/5"])
    expansion = sympy.exp(h)
    expansion -= sum(sympy.Rational(str(a)) * sympy.exp(-i * h) for i, a in enumerate(scheme.alphas))
    expansion -= h * sum(sympy.Rational(str(b)) * sympy.exp(-j * h) for j, b in enumerate(scheme.betas))
    series = sympy.series(expansion, h, 0, 6).removeO()
    for q in range(6):
        assert sympy.Rational(str(local_error_coefficient(scheme, q))) == series.coeff(h, q)
