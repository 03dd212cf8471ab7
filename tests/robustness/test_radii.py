"""Radii as people write them."""

import pytest

from zerosnet.errors import InputError
from zerosnet.robustness import radius_text, read_radius


@pytest.mark.parametrize("level", [1, 3, 8, 16, 254])
def test_a_fraction_of_255_is_read_and_written_as_one(level):
    assert read_radius(f"{level}/255") == level / 255
    assert radius_text(level / 255) == f"{level}/255"


def test_other_radii_are_decimals():
    assert (read_radius("0.03"), radius_text(0.03), radius_text(0.075)) == (0.03, "0.03", "0.075")


@pytest.mark.parametrize("text", ["8", "0", "-1/255", "1/0", "two", "nan", ""])
def test_what_is_no_radius_is_refused(text):
    with pytest.raises(InputError, match="expected a fraction such as 8/255"):
        read_radius(text)
