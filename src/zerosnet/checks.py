"""What counts as a number: checks that all rooms share."""

import math
from typing import Any


def is_whole(value: Any) -> bool:
    """Return True for an int; True and False themselves are none."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    """Return True for an int or float that a finite float can hold; True and False themselves are none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # an int of more than 308 digits
        return False


def finite(value: Any) -> Any:
    """A copy of JSON-ready data with None in place of every float that is not finite."""
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
