"""Check objects from JSON: which fields they have, and what each may be."""

import reprlib
from collections.abc import Callable, Mapping
from typing import Any

from zerosnet.errors import InputError
from zerosnet.files import is_number, is_whole

Kind = tuple[Callable[[Any], bool], str]
"""A test of a value, and words for what is expected."""

ANYTHING: Kind = (lambda value: True, "anything")
TEXT: Kind = (lambda value: isinstance(value, str), "a text")
TRUTH: Kind = (lambda value: isinstance(value, bool), "true or false")
NUMBER: Kind = (is_number, "a finite number")
POSITIVE: Kind = (lambda value: is_number(value) and value > 0, "a positive number")
NOT_NEGATIVE: Kind = (lambda value: is_number(value) and value >= 0, "a number from 0 on")
PERCENT: Kind = (lambda value: is_number(value) and 0 <= value < 100, "a number from 0 to below 100")
COUNT: Kind = (lambda value: is_whole(value) and value >= 0, "a whole number from 0 on")
POSITIVE_COUNT: Kind = (lambda value: is_whole(value) and value > 0, "a positive whole number")


def list_of(kind: Kind, length: int | None = None, least: int = 0) -> Kind:
    """The kind of a list of one kind, of that length or with at least so many entries."""
    test, words = kind

    def fits(value: Any) -> bool:
        if not isinstance(value, list) or len(value) < least or length not in (None, len(value)):
            return False
        return all(map(test, value))

    size = f"exactly {length}" if length is not None else f"at least {least}"
    return fits, f"a list of {size}, each {words}"


def check_fields(
    data: Any, name: str, required: Mapping[str, Kind], optional: Mapping[str, Kind] | None = None
) -> None:
    """Raise an error unless an object has all required fields, no unknown ones, and a fitting value in each.

    Args:
        data: What was read from JSON.
        name: What an error message calls it.
        required: The fields that have to be there, and what each may be.
        optional: The fields that may be there.

    Examples:
        >>> check_fields({"least": -1}, "survival", {"least": NOT_NEGATIVE})
        Traceback (most recent call last):
        zerosnet.errors.InputError: least of survival is -1; expected a number from 0 on
    """
    kinds = {**required, **(optional or {})}
    expected = f"expected an object with {', '.join(required)}"
    if not isinstance(data, dict):
        raise InputError(f"{name} is {reprlib.repr(data)}; {expected}")
    for field in required:
        if field not in data:
            raise InputError(f"{name} has no {field}; {expected}")
    for field, value in data.items():
        if field not in kinds:
            raise InputError(f"{name} has an unknown field {reprlib.repr(field)}; expected {', '.join(kinds)}")
        fits, words = kinds[field]
        if not fits(value):
            raise InputError(f"{field} of {name} is {reprlib.repr(value)}; expected {words}")
