"""The radius of an attack as people write it: "8/255", "0.5/255", or a decimal such as 0.03."""

from fractions import Fraction

from zerosnet.errors import InputError

_WHOLE = 1e-9


def read_radius(text: str) -> float:
    """Read eps, in [0, 1] units, from a fraction or a decimal.

    Examples:
        >>> read_radius("8/255") == 8 / 255, read_radius("0.5/255") == 0.5 / 255, read_radius("0.03")
        (True, True, 0.03)
    """
    levels, _, whole = text.partition("/")
    try:
        eps = float(Fraction(levels.strip()) / Fraction(whole.strip() or 1))
    except (ValueError, ZeroDivisionError, OverflowError):
        eps = -1.0
    if not 0 < eps < 1:
        hint = f" ({text.strip()}/255?)" if text.strip().isdigit() and 0 < int(text) < 255 else ""
        raise InputError(f"eps is {text!r}{hint}; expected a fraction such as 8/255, or a number between 0 and 1")
    return eps


def radius_text(eps: float) -> str:
    """Write eps as a fraction of 255 if it is one, in quarters, else as a decimal.

    Examples:
        >>> radius_text(8 / 255), radius_text(0.25 / 255), radius_text(0.075)
        ('8/255', '0.25/255', '0.075')
    """
    quarters = 4 * 255 * eps
    is_fraction = quarters > 0.5 and abs(quarters - round(quarters)) < _WHOLE
    return f"{round(quarters) / 4:g}/255" if is_fraction else f"{eps:.4g}"
