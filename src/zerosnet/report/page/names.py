"""One name for every scheme: its own, with its coefficients and moduli for those who point at it."""

from functools import cache

from zerosnet.numerics import PAPER_ROWS, Scheme, root_condition
from zerosnet.report.page.html import Html, element

_ROWS = {row.scheme: row.label for row in PAPER_ROWS}


def scheme_name(scheme: Scheme) -> str:
    """The scheme's own name; coefficients that are too long are rounded.

    Examples:
        >>> scheme_name(Scheme.parse("1/3,5/9,1/9;16/9")), scheme_name(Scheme.parse("1,1,1;1"))
        ('zerosnet(-9/5)', '1,1,1;1')
    """
    return scheme.short_name


@cache
def other_names(scheme: Scheme) -> str:
    """Coefficients, and the moduli of the roots, which the paper calls its rows by."""
    text = str(scheme)
    moduli = ", ".join(f"{modulus:.2f}" for modulus in root_condition(scheme).moduli)
    row = f"; the paper's row {_ROWS[scheme]}" if scheme in _ROWS else ""
    return f"coefficients {text if len(text) < 200 else text[:200] + '…'}; moduli of roots {moduli}{row}"


def named(scheme: Scheme) -> Html:
    """The name, with the others in its tooltip."""
    return element("span", scheme_name(scheme), title=other_names(scheme), class_="scheme")
