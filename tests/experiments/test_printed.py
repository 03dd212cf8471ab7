import pytest

from zerosnet.experiments import parse_printed


def test_a_number_with_everything():
    printed = parse_printed("**73.46 (-18.38)**")
    assert (printed.value, printed.change, printed.bold, printed.deviation) == (73.46, -18.38, True, None)
    assert parse_printed("72.24*†").quoted
    assert parse_printed("69.46±0.15*").marks == "*" and not parse_printed("69.46±0.15*").quoted


@pytest.mark.parametrize(
    ("text", "rounding"), [("93.8±0.22", 0.05), ("93.28±0.12", 0.005), ("12", 0.5), ("0.28M", 0.005)]
)
def test_rounding_is_half_a_unit_of_the_last_printed_digit(text, rounding):
    assert parse_printed(text).rounding == pytest.approx(rounding)


@pytest.mark.parametrize("text", ["", "Yes", "ResNet", "1.00, 0.87, 0.87", "20 layers"])
def test_text_is_no_number(text):
    assert parse_printed(text) is None
