"""Zero stability at a glance: the roots of four members of the lambda family, and what they do over 27 blocks."""

from typing import TYPE_CHECKING

import numpy as np

from zerosnet.numerics import Scheme, log10_envelope, root_condition
from zerosnet.numerics.depth.envelopes import BLOCKS
from zerosnet.report.figures.panels import draw_roots, log_ticks
from zerosnet.report.figures.style import AMBER, BLUE, GREEN, MARKERS, VERMILION, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MEMBERS = (
    ("-9/5", BLUE, "the least parasitic roots"),
    ("-1", GREEN, "leap-frog, left out by the paper"),
    ("1/3", AMBER, "1 is a triple root"),
    ("-1/2", VERMILION, "a root outside"),
)


def root_condition_figure() -> "Figure":
    with styled():
        figure = new_figure(12.2, 3.5)
        axes = figure.subplots(1, 5, width_ratios=[1, 1, 1, 1, 1.5])
        for panel, (lam, _, what) in zip(axes, MEMBERS):
            verdict = root_condition(Scheme.parse(f"zerosnet({lam})"))
            draw_roots(panel, verdict, legend=False)
            answer = "zero-stable" if verdict.zero_stable else "not zero-stable"
            panel.set_title(f"λ = {lam.replace('-', '−')}: {answer}\n{what}", fontsize=8.5, loc="left")
        _draw_growth(axes[-1])
    return figure


def _draw_growth(panel: "Axes") -> None:
    n, curves = np.arange(BLOCKS + 1), []
    for (lam, colour, _), marker in zip(MEMBERS, MARKERS):
        curve = log10_envelope(Scheme.parse(f"zerosnet({lam})"), BLOCKS)
        curves.append(curve)
        width = 4 if colour == BLUE else 1.5  # two curves coincide
        panel.plot(
            n, curve, color=colour, marker=marker, markevery=4, linewidth=width, label=f"λ = {lam.replace('-', '−')}"
        )
    log_ticks(panel, np.concatenate(curves))
    panel.set_xlabel("block n")
    panel.set_title("Largest perturbation after n blocks,\nstarting values perturbed by 1", fontsize=8.5, loc="left")
    panel.legend(loc="upper left")
