import pytest
from hypothesis import given
from hypothesis import strategies as st

from zerosnet.explorer.limits import MOST_DIGITS, BadParameter, numbers_in
from zerosnet.numerics.rationals import number


def test_a_list_is_split_into_its_numbers():
    assert numbers_in(" 1/3, 5/9 ,1/9", "alphas") == ["1/3", "5/9", "1/9"]
    assert numbers_in("", "alphas") == []


@pytest.mark.parametrize(
    "text", ["1" * 51, "0." + "0" * 50 + "1", "1e50", "1e-50", "1e999999999", "1/" + "9" * 51, "z^2+" + "1" * 51]
)
def test_numbers_of_more_than_fifty_digits_are_refused_before_they_are_read(text):
    with pytest.raises(BadParameter, match="more than 50 digits") as caught:
        numbers_in(f"1,{text}", "alphas")
    assert caught.value.parameter == "alphas"


@pytest.mark.parametrize("text", ["1,,2", "1;2", "$(ls)", "'", "٣", "1,2,3,4,5,6,7,8,9"])
def test_what_is_no_list_of_numbers_is_refused(text):
    with pytest.raises(BadParameter, match="alphas"):
        numbers_in(text, "alphas")


@given(st.integers(-(10**60), 10**60), st.integers(1, 10**60), st.integers(-80, 80))
def test_what_is_let_through_is_short(top, bottom, exponent):
    for text in (f"{top}/{bottom}", f"{top}e{exponent}"):
        try:
            (part,) = numbers_in(text, "param")
        except BadParameter:
            continue
        value = number(part)
        assert abs(value.numerator) < 10**MOST_DIGITS
        assert value.denominator <= 10**MOST_DIGITS
