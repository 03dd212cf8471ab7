import pytest
from hypothesis import given
from hypothesis import strategies as st

from zerosnet.explorer.limits import MOST_DIGITS, BadParameter, is_own_host, numbers_in
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


@pytest.mark.parametrize("header", ["localhost", "LOCALHOST:8765", "127.0.0.1:1", "[::1]:8765", "box.lan:80"])
def test_this_machine_and_the_host_of_the_start_are_own_hosts(header):
    assert is_own_host(header, "box.lan")


@pytest.mark.parametrize("header", ["", "evil.example", "localhost.evil.example:8765", "192.168.1.5", "[::1", "[evil]"])
def test_other_names_are_not(header):
    assert not is_own_host(header, "127.0.0.1")


def test_a_server_on_all_interfaces_is_reached_by_address_but_not_by_any_name():
    assert is_own_host("192.168.1.5:8765", "0.0.0.0") and is_own_host("[fe80::1]", "::")
    assert not is_own_host("evil.example", "0.0.0.0")
