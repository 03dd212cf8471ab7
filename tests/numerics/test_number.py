import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from zerosnet.errors import InputError
from zerosnet.numerics import rationals as num


@pytest.mark.parametrize(
    "value, expected",
    [
        (3, Fraction(3)),
        ("1/3", Fraction(1, 3)),
        ("0.1", Fraction(1, 10)),
        (" -2 / 4 ", Fraction(-1, 2)),
        ("\N{MINUS SIGN}9/5", Fraction(-9, 5)),
        ("1e-3", Fraction(1, 1000)),
        (sympy.Rational(5, 9), Fraction(5, 9)),
        (sympy.Integer(2), Fraction(2)),
        (Decimal("0.1"), Fraction(1, 10)),
        (np.int64(7), Fraction(7)),
    ],
)
def test_exact_numbers_stay_exact(value, expected):
    result = num.number(value)
    assert isinstance(result, Fraction)
    assert result == expected


@pytest.mark.parametrize("value", [0.1, np.float64(0.1), np.array(0.1), sympy.Float(0.1)])
def test_a_float_is_never_rationalised_or_truncated(value):
    result = num.number(value)
    assert type(result) is float
    assert result == 0.1


@pytest.mark.parametrize(
    "value",
    [
        True,
        np.bool_(True),
        math.nan,
        math.inf,
        None,
        [],
        1j,
        "",
        "x",
        "nan",
        "inf",
        "1/0",
        "1e999999999",
        "1e9_999_999_999",
        "1_0",
        "1 0",
        "1 2/3",
        "1/3 5/9",
        "1" * 3000,
        10**400,
        1e301,
        "1e301",
        Decimal("nan"),
        sympy.nan,
        sympy.oo,
        np.float64("inf"),
    ],
)
def test_what_is_no_finite_number_is_refused_in_one_line_that_names_it(value):
    with pytest.raises(InputError, match="lambda") as caught:
        num.number(value, "lambda")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 3200


def test_division_by_zero_is_named():
    with pytest.raises(InputError, match="divides by zero"):
        num.number("1/0")


@given(st.fractions() | st.floats(allow_nan=False, allow_infinity=False, min_value=-1e300, max_value=1e300))
def test_json_round_trip_is_lossless(value):
    again = num.from_json(num.to_json(value))
    assert type(again) is type(value)
    assert again == value


def test_whole_json_numbers_are_floats():
    assert type(num.from_json(2)) is float


@pytest.mark.parametrize(
    "value", [10**400, -(10**400), float("nan"), float("-inf"), "Infinity", "1e999", True, None, [[10**99] * 99]]
)
def test_what_no_float_can_hold_is_refused_in_json(value):
    with pytest.raises(InputError, match="expected a number") as caught:
        num.from_json(value, "alphas[0]")
    assert str(caught.value).startswith("alphas[0] ") and len(str(caught.value)) < 400


def test_lists_in_text():
    assert num.numbers("1/3, 5/9 ,-1") == (Fraction(1, 3), Fraction(5, 9), Fraction(-1))
    assert num.numbers("  ") == ()


def test_latex():
    assert num.to_latex(Fraction(-5, 9)) == r"-\frac{5}{9}"
    assert num.to_latex(Fraction(2)) == "2"
    assert num.to_latex(0.25) == "0.25"
    assert num.to_latex(-2.5e-7) == r"-2.5 \cdot 10^{-7}"
