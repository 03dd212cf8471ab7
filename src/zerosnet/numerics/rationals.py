"""Coefficients: exact rationals if the user gave exact numbers, floats if the user gave floats.

A float is never silently rationalised and a rational never silently rounded: 0.1 and "0.1" are different numbers.
"""

import math
import re
import reprlib
from decimal import Decimal
from fractions import Fraction
from operator import index
from typing import Any

from zerosnet.errors import InputError
from zerosnet.files import is_whole

Number = Fraction | float

_ACCEPTED = 'a number such as 2, 0.1 or "1/3"'
_LARGEST = int(1e300)  # so that a float can hold any coefficient, and a sum of them
# spaces about the slash only, so that "1 0" is not 10; an exponent of four digits would ask for a lot of memory
_TEXT = re.compile(r"[+-]?(\d+\s*/\s*\d+|(\d+\.?\d*|\.\d+)([eE][+-]?0*\d{1,3})?)", re.ASCII)
_MINUS = "\N{MINUS SIGN}"  # as pages print it
_LONGEST = 2_000
_MOST_BITS = 6_644  # of a numerator or denominator of that many digits


def number(value: Any, name: str = "number") -> Number:
    """Read a coefficient; `name` is what an error message calls it.

    Examples:
        >>> number("16/9"), number(0.5), number("0.5")
        (Fraction(16, 9), 0.5, Fraction(1, 2))
    """
    if type(value) is float and abs(value) <= 1e300:  # matrices have thousands of them
        return value
    result = _read(value, name)
    if not -_LARGEST <= result <= _LARGEST:
        raise InputError(f"{name} is larger than 1e300; expected {_ACCEPTED}")
    if isinstance(result, Fraction) and max(result.numerator, result.denominator, key=abs).bit_length() > _MOST_BITS:
        raise InputError(f"{name} has more than {_LONGEST} digits; expected {_ACCEPTED}")
    return result


def _read(value: Any, name: str) -> Number:
    if isinstance(value, str):
        return _from_text(value, name)
    if isinstance(value, bool) or getattr(getattr(value, "dtype", None), "kind", "") == "b":
        raise InputError(f"{name} is {value!r}; expected {_ACCEPTED}")
    if isinstance(value, int | Fraction):
        return Fraction(value)
    if isinstance(value, Decimal) and value.is_finite():
        return _from_text(str(value), name)
    if getattr(value, "is_Rational", False):  # sympy, without importing it
        return Fraction(int(value.p), int(value.q))
    try:
        return Fraction(index(value))  # numpy integers; fails for arrays of floats, which int() would round
    except TypeError:
        pass
    if hasattr(value, "__float__") and math.isfinite(value):
        return float(value)
    raise InputError(f"{name} is {reprlib.repr(value)}; expected {_ACCEPTED}")


def _from_text(text: str, name: str) -> Fraction:
    shown = repr(text if len(text) <= 60 else f"{text[:60]}...")
    if len(text) > 2 * _LONGEST + 2:
        raise InputError(f"{name} is {shown}; expected {_ACCEPTED}, of at most {_LONGEST} digits")
    plain = text.strip().replace(_MINUS, "-")
    if not _TEXT.fullmatch(plain):
        raise InputError(f"{name} is {shown}; expected {_ACCEPTED}")
    try:
        return Fraction("".join(plain.split()))
    except ZeroDivisionError:
        raise InputError(f"{name} {shown} divides by zero; expected {_ACCEPTED}") from None


def numbers(text: str, name: str = "numbers") -> tuple[Fraction, ...]:
    """Read a comma-separated list of exact numbers, such as "1/3,5/9,1/9"."""
    parts = text.split(",") if text.strip() else []
    return tuple(Fraction(number(part, f"{name}[{i}]")) for i, part in enumerate(parts))


def is_exact(value: Number) -> bool:
    return isinstance(value, Fraction)


def to_json(value: Number) -> str | float:
    """Write a number for JSON: an exact one as a string, "16/9", a float as a number."""
    return str(value) if isinstance(value, Fraction) else value


def from_json(value: Any, name: str = "number") -> Number:
    """Read a number from JSON: JSON numbers, whole ones too, are floats."""
    if is_whole(value):
        return float(number(value, name))
    return number(value, name)


def to_latex(value: Number) -> str:
    if isinstance(value, Fraction):
        sign = "-" if value < 0 else ""
        size = abs(value)
        return sign + (str(size) if size.denominator == 1 else rf"\frac{{{size.numerator}}}{{{size.denominator}}}")
    mantissa, e, exponent = f"{value:.6g}".partition("e")
    return rf"{mantissa} \cdot 10^{{{int(exponent)}}}" if e else mantissa
