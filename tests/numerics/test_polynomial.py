import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from zerosnet.numerics.polynomials import integer as poly

z = sympy.Symbol("z")
nonzero = st.lists(st.integers(-20, 20), min_size=1, max_size=5).map(poly.primitive).filter(bool)


def product(*factors):
    result = sympy.Poly(1, z)
    for factor in factors:
        result *= sympy.Poly(list(factor), z)
    return poly.primitive([int(c) for c in result.all_coeffs()])


@given(nonzero, nonzero, nonzero)
def test_gcd_agrees_with_sympy(a, b, common):
    p, q = product(a, common), product(b, common)
    expected = sympy.gcd(sympy.Poly(list(p), z), sympy.Poly(list(q), z))
    assert poly.gcd(p, q) == poly.primitive([int(c) for c in expected.all_coeffs()])


@given(nonzero, nonzero)
def test_a_product_divided_by_a_factor_is_the_other(a, b):
    assert poly.quotient(product(a, b), b) == a


def test_inexact_division_is_an_error():
    with pytest.raises(ArithmeticError):
        poly.quotient((1, 0, 1), (1, 1))


@given(st.lists(st.tuples(nonzero, st.integers(1, 3)), min_size=1, max_size=3))
def test_square_free_factors_multiply_to_the_polynomial_and_are_coprime(parts):
    p = product(*(factor for factor, power in parts for _ in range(power)))
    factors = poly.square_free_factors(p)
    assert product(*(factor for factor, power in factors for _ in range(power))) == p
    for i, (factor, _) in enumerate(factors):
        assert poly.gcd(factor, poly.derivative(factor)) == (1,)
        assert all(poly.gcd(factor, other) == (1,) for other, _ in factors[:i])
