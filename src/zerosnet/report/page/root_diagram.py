"""The roots of a scheme's characteristic polynomial beside the unit circle, small enough to stand in rows."""

from collections.abc import Sequence

from zerosnet.numerics import Scheme, root_condition
from zerosnet.report.page.html import Html, element

_SIZE, _LEAST = 148, 1.28
_ON_CIRCLE = 1e-9
_SHAPES = {
    "inside": ("M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z", "k s0"),
    "on": ("M0-4.6L4.6 0L0 4.6L-4.6 0z", "k s2"),
    "outside": ("M-3.8-3.8L3.8 3.8M-3.8 3.8L3.8-3.8", "k s1"),
}


def root_diagram(scheme: Scheme, title: str, notes: Sequence[str] = ()) -> Html:
    """A figure: circle, roots (filled inside, a diamond on the circle, a cross outside), and lines of text below."""
    verdict = root_condition(scheme)
    reach = max(_LEAST, 1.12 * max(verdict.moduli, default=1.0))
    middle, unit = _SIZE / 2, _SIZE / 2 / reach
    axes = f"M0 {middle}H{_SIZE}M{middle} 0V{_SIZE}"
    parts = [
        element("path", d=axes, class_="g"),
        element("circle", cx=middle, cy=middle, r=f"{unit:.1f}", class_="o"),
    ]
    for root, modulus in zip(verdict.roots, verdict.moduli):
        shape, look = _SHAPES[_place(modulus)]
        x, y = middle + unit * root.real, middle - unit * root.imag
        tip = element("title", f"{root.real:.4g}{root.imag:+.4g}i, modulus {modulus:.4g}")
        parts.append(element("path", tip, d=shape, transform=f"translate({x:.1f} {y:.1f})", class_=look))
    answer = {True: "zero-stable", False: "not zero-stable", None: "borderline"}[verdict.zero_stable]
    listed = ", ".join(f"{m:.2f}" for m in verdict.moduli)
    label = f"{title}: roots of moduli {listed}; {answer}"
    drawing = element("svg", parts, viewBox=f"0 0 {_SIZE} {_SIZE}", role="img", aria_label=label)
    sign = {True: "✓", False: "✕", None: "?"}[verdict.zero_stable]
    words = [element("strong", title), element("span", f"{sign} {answer}"), *(element("span", note) for note in notes)]
    return element("figure", drawing, element("figcaption", words), class_="roots")


def _place(modulus: float) -> str:
    return "on" if abs(modulus - 1) <= _ON_CIRCLE else "outside" if modulus > 1 else "inside"
