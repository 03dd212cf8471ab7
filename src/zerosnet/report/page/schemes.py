"""A scheme in a cell of a table: its name, and small drawings of its roots and of the share of every block."""

from collections.abc import Sequence
from functools import cache

from zerosnet.numerics import PAPER_ROWS, Scheme, root_condition
from zerosnet.report.page.html import Html, element

_SIDE, _LEAST = 34, 1.25
_BAR, _HIGH = 3, 24
_ON_CIRCLE = 1e-9
_ROWS = {row.scheme: row.label for row in PAPER_ROWS}


def named(scheme: Scheme) -> Html:
    """The name, with coefficients and moduli for those who point at it."""
    return element("span", scheme.short_name, title=_other_names(scheme), class_="scheme")


@cache
def _other_names(scheme: Scheme) -> str:
    """Coefficients, and the moduli of the roots, which the paper calls its rows by."""
    text = str(scheme)
    moduli = ", ".join(f"{modulus:.2f}" for modulus in root_condition(scheme).moduli)
    row = f"; the paper's row {_ROWS[scheme]}" if scheme in _ROWS else ""
    return f"coefficients {text if len(text) < 200 else text[:200] + '…'}; moduli of roots {moduli}{row}"


def roots_icon(scheme: Scheme) -> Html:
    """The unit circle and the roots: dots within it, squares outside."""
    verdict = root_condition(scheme)
    reach = max(_LEAST, 1.1 * max(verdict.moduli, default=1.0))
    middle, unit = _SIDE / 2, (_SIDE / 2 - 2) / reach
    parts = [element("circle", cx=middle, cy=middle, r=f"{unit:.1f}", class_="o")]
    for root, modulus in zip(verdict.roots, verdict.moduli):
        x, y = middle + unit * root.real, middle - unit * root.imag
        outside = modulus > 1 + _ON_CIRCLE
        shape = f"M{x - 2:.1f} {y - 2:.1f}h4v4h-4z" if outside else f"M{x - 2:.1f} {y:.1f}a2 2 0 1 0 4 0a2 2 0 1 0-4 0z"
        parts.append(element("path", d=shape, class_=f"k s{1 if outside else 0}"))
    moduli = ", ".join(f"{modulus:.2f}" for modulus in verdict.moduli)
    label = f"Roots of moduli {moduli}, beside the unit circle"
    return _icon(_SIDE, _SIDE, parts, label)


def shares_icon(shares: Sequence[float]) -> Html:
    """A bar per block, as high as its share; a full one is 1."""
    bars = "".join(
        f"M{_BAR * n + 1} {_HIGH}V{_HIGH - max(0.6, (_HIGH - 1) * min(share, 1.0)):.1f}"
        for n, share in enumerate(shares)
    )
    width = _BAR * len(shares)
    parts = [element("path", d=f"M0 {_HIGH - 0.3}H{width}", class_="g"), element("path", d=bars, class_="bars")]
    label = f"Share of every block, from {shares[0]:.2g} in the first of {len(shares)} to {shares[-1]:.2g} in the last"
    return _icon(width, _HIGH, parts, label)


def _icon(width: float, height: float, parts: Sequence[Html], label: str) -> Html:
    box = f"0 0 {width} {height}"
    words = element("title", label)
    return element(
        "svg", words, parts, viewBox=box, width=width, height=height, role="img", aria_label=label, class_="icon"
    )
