"""What lambda trades: the parasitic modulus, the real interval of absolute stability, the error constant."""

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from zerosnet.numerics import Scheme, normalised_error_constant, real_interval, root_condition
from zerosnet.report.figures.style import BLUE, GREEN, VERMILION, WARM, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MARKED = {"-9/5": "−9/5", "-1": "−1", "1/2": "1/2", "1": "1", "2": "2", "10": "10"}


def lambda_family_figure() -> "Figure":
    """Everything against mu = 1/lambda, in which the family is linear and its stable set is the interval [-1, 3)."""
    inverse = sorted({Fraction(k, 40) for k in range(-48, 129) if k} | {1 / Fraction(name) for name in MARKED})
    schemes = [Scheme.parse(f"zerosnet({1 / m})") for m in inverse]
    panels = (
        ("Largest parasitic modulus", VERMILION, [sorted(root_condition(s).moduli)[-2:] for s in schemes]),
        ("Real interval of absolute stability", BLUE, [real_interval(s) for s in schemes]),
        ("Error constant / σ(1)", GREEN, [normalised_error_constant(s) for s in schemes]),
    )
    with styled():
        figure = new_figure(11.5, 3.6)
        for axes, (title, colour, values) in zip(figure.subplots(1, 3), panels):
            x = np.array([float(m) for m in inverse])
            y = np.array([_parasitic(v) if isinstance(v, list) else float(v or 0) for v in values])
            axes.axvspan(-1.2, -1, color=WARM, linewidth=0)
            axes.axvspan(3, 3.2, color=WARM, linewidth=0)
            inside = x < 3 if colour == GREEN else np.isfinite(y)  # a pole at 1/lambda = 3
            axes.plot(x[inside], y[inside], color=colour)
            place = (7, 1) if colour == BLUE else (5, -10)
            for name, label in MARKED.items():
                m = float(1 / Fraction(name))
                at = float(np.interp(m, x, y))
                axes.plot(m, at, marker="o", color=colour, markersize=4)
                axes.annotate(label, (m, at), place, textcoords="offset points", fontsize=8)
            axes.set_xlim(-1.2, 3.2)
            axes.set_ylim(0, {GREEN: 2.2}.get(colour))
            axes.set_xlabel("1/λ (labels: λ; shaded: not zero-stable)")
            axes.set_title(title, loc="left")
    return figure


def _parasitic(moduli: list[float]) -> float:
    """1 is always a root; of the two largest moduli the other one."""
    return min(moduli) if max(moduli) <= 1 + 1e-9 else max(moduli)
