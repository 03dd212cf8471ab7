"""Names of schemes: short, and read back as the same scheme."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zerosnet.numerics import Scheme


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("1;1", "euler"),
        ("9/10;1", "euler(9/10)"),
        ("1/3,5/9,1/9;16/9", "zerosnet(-9/5)"),
        ("0,1;2", "leapfrog"),
        ("1/2,1/2;3/2", "lm(1/2)"),
        ("3/2,-1/2;1", "lm(-1/2, original)"),
        ("1;3/2,-1/2", "ab2"),
        ("from-roots(1/2, 1/4)", "from-roots(1/4, 1/2)"),
        ("1,1,1;1", "1,1,1;1"),
        ("1,0,0;1", "1,0,0;1"),
    ],
)
def test_a_scheme_has_the_name_of_its_family(text, name):
    assert Scheme.parse(text).name == name
    assert Scheme([0.5, 0.5], [1.5]).name == "0.5,0.5;1.5"


fractions = st.fractions(-3, 3, max_denominator=12)


@given(st.lists(fractions, min_size=1, max_size=4), st.lists(fractions, min_size=1, max_size=2))
def test_a_name_is_read_as_the_same_scheme(alphas, betas):
    scheme = Scheme(alphas, betas)
    assert Scheme.parse(scheme.name) == scheme


@given(fractions.filter(bool))
def test_members_of_the_zerosnet_family_are_named_by_lambda(lam):
    scheme = Scheme.parse(f"zerosnet({lam})")
    assert scheme.name in {f"zerosnet({Fraction(lam)})", "leapfrog"}
