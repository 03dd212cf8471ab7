import io
import json
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from zerosnet.errors import InputError
from zerosnet.numerics import Scheme, zerosnet

coefficients = st.lists(
    st.fractions(max_denominator=1000) | st.floats(-1e6, 1e6, allow_nan=False), min_size=1, max_size=6
)


def test_exact_and_float_schemes_are_different_values():
    exact, floating = Scheme(["1/2"], [1]), Scheme([0.5], [1.0])
    assert exact != floating
    assert exact == Scheme([Fraction(1, 2)], ["1"])
    assert len({exact, floating, Scheme(["0.5"], [1])}) == 2
    assert exact.to_float() == floating
    assert str(zerosnet("-9/5")) == "1/3,5/9,1/9;16/9"
    assert exact.is_exact
    assert not floating.is_exact


def test_a_scheme_cannot_be_changed():
    with pytest.raises(AttributeError):
        zerosnet(1).alphas = ()


@given(coefficients, coefficients)
def test_json_round_trip_is_lossless(alphas, betas):
    scheme = Scheme(alphas, betas)
    assert Scheme.from_json(json.loads(json.dumps(scheme.to_json()))) == scheme


@given(coefficients, coefficients)
def test_repr_is_an_expression_for_the_scheme(alphas, betas):
    scheme = Scheme(alphas, betas)
    assert eval(repr(scheme), {"Scheme": Scheme}) == scheme


@given(st.lists(st.fractions(), min_size=1, max_size=9), st.lists(st.fractions(), min_size=1, max_size=9))
def test_text_of_any_exact_scheme_parses_to_it(alphas, betas):
    scheme = Scheme(alphas, betas)
    again = Scheme.parse(str(scheme))
    assert again == scheme
    assert hash(again) == hash(scheme)


def test_characteristic_polynomials_have_the_degree_of_the_steps():
    scheme = Scheme([1], ["3/2", "-1/2"])
    assert scheme.steps == 2
    assert scheme.rho == (1, -1, 0)
    assert scheme.sigma == (Fraction(3, 2), Fraction(-1, 2))


def test_latex_reads_like_the_recursion():
    assert Scheme([0, 1], [2]).to_latex() == "y_{n+1} = y_{n-1} + 2 h f(y_{n})"
    expected = r"y_{n+1} = \frac{1}{3} y_{n} + \frac{5}{9} y_{n-1} + \frac{1}{9} y_{n-2} + \frac{16}{9} h f(y_{n})"
    assert zerosnet("-9/5").to_latex() == expected
    assert Scheme([-1], [0]).to_latex() == "y_{n+1} = - y_{n}"
    assert Scheme([0], [0]).to_latex() == "y_{n+1} = 0"


def test_rich_table_shows_the_coefficients():
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(zerosnet("-9/5"))
    text = console.export_text()
    assert "3-step scheme" in text
    assert "16/9" in text


@pytest.mark.parametrize(
    "alphas, betas",
    [
        ([], [1]),
        ([1], []),
        ([float("nan")], [1]),
        ([1], [float("inf")]),
        (1, [1]),
        ("1/0", "1"),
        ([True], [1]),
        ("", "1"),
    ],
)
def test_bad_coefficients_are_refused_in_one_line(alphas, betas):
    with pytest.raises(InputError) as caught:
        Scheme(alphas, betas)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        {},
        {"alphas": ["1"]},
        {"alphas": "1", "betas": ["1"]},
        {"alphas": [None], "betas": ["1"]},
        {"alphas": [], "betas": ["1"]},
        {"alphas": [[1], [1, 2]], "betas": ["1"]},
        {"alphas": [10**400], "betas": ["1"]},
        {"alphas": [float("nan")], "betas": ["1"]},
        {"alphas": ["Infinity"], "betas": ["1"]},
        {"alphas": ["1"], "betas": {"0": 1}},
        {"alphas": ["1"], "betas": ["1"], "gammas": ["1"]},
        {"alphas": ["1"], 3: ["1"]},
    ],
)
def test_bad_json_is_refused(data):
    with pytest.raises(InputError, match=r"number|object with alphas and betas"):
        Scheme.from_json(data)
