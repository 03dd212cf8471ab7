"""The paper's Figure 2, redrawn: similar inputs through two networks, and the way from an equation to a network.

The left half is computed. Eight similar starting values, 0.13 to 0.27, follow y' = tanh(2y) - y/2, whose solutions
from there all rise to one point: answer A; below zero lies answer B. The start is a network's: two one-step blocks,
then the scheme. Everything is the same in both panels but lambda.
"""

from typing import TYPE_CHECKING

import numpy as np

from zerosnet.numerics import Scheme
from zerosnet.report.figures.style import BLUE, GREEN, GREY, INK, SHADE, VERMILION, WARM, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLOCKS, STEP, STARTS, LIMIT = 12, 0.3, np.linspace(0.13, 0.27, 8), 300.0


def from_ode_figure() -> "Figure":
    with styled():
        figure = new_figure(12.4, 4.5)
        stable, unstable, way = figure.subplots(1, 3, width_ratios=[1, 1, 1.5])
        draw_paths(stable, "zerosnet(-9/5)", BLUE, "o")
        stable.set_title("Zero-stable, λ = −9/5:\nsimilar inputs, one answer", loc="left")
        draw_paths(unstable, "zerosnet(1/4)", VERMILION, "s")
        unstable.set_title("Not zero-stable, λ = 1/4:\nsimilar inputs, either answer", loc="left")
        draw_way(way)
        way.set_title("From an equation to a network", loc="left")
    return figure


def draw_paths(axes: "Axes", text: str, colour: str, marker: str) -> None:
    paths = [path(Scheme.parse(text), start) for start in STARTS]
    axes.axhspan(0, LIMIT, color=SHADE, linewidth=0)
    axes.axhspan(-LIMIT, 0, color=WARM, linewidth=0)
    for states in paths:
        axes.plot(np.clip(states, -LIMIT, LIMIT), color=colour, marker=marker, markersize=2.6, linewidth=0.9)
    axes.set_yscale("symlog", linthresh=1)
    axes.set_ylim(-LIMIT, LIMIT)
    axes.set_yticks([-100, -10, -1, 0, 1, 10, 100], ["−100", "−10", "−1", "0", "1", "10", "100"])
    axes.set_xlim(0, BLOCKS)
    axes.set_xlabel("block n")
    axes.set_ylabel("feature $y_n$", labelpad=0)
    axes.text(0.4, LIMIT * 0.75, "answer A", va="top", fontsize=8.5)
    axes.text(0.4, -LIMIT * 0.75, "answer B", va="bottom", fontsize=8.5)


def path(scheme: Scheme, start: float) -> list[float]:
    """One-step blocks until there are enough states, then the scheme: as in the networks."""
    alphas, beta = [float(a) for a in scheme.alphas], float(scheme.betas[0])
    states = [start]
    for _ in range(BLOCKS):
        slope = np.tanh(2 * states[-1]) - states[-1] / 2
        if len(states) < len(alphas):
            states.append(states[-1] + STEP * slope)
        else:
            past = sum(a * y for a, y in zip(alphas, reversed(states)))
            states.append(past + STEP * beta * slope)
    return states


WAY = (
    ("an equation", r"$y'(t) = f(t, y(t))$", GREY),
    ("a scheme with d states", r"$y_{n+1} = \sum_i \alpha_i\, y_{n-i} + h\,\beta f(y_n)$", GREY),
    ("consistent", r"$\sum_i \alpha_i = 1,\quad \beta = 1 + \sum_i i\,\alpha_i$", GREEN),
    ("zero-stable", "roots of $\\rho$ in the unit disc,\nthose on the circle simple", BLUE),
    (
        "smallest parasitic roots",
        r"$\lambda = -\frac{9}{5}$:  $\frac{1}{3},\ \frac{5}{9},\ \frac{1}{9};\ \frac{16}{9}$",
        BLUE,
    ),
    ("a network", "one block a step, $f$ from training", INK),
)


def draw_way(axes: "Axes") -> None:
    axes.set_axis_off()
    axes.set_xlim(0, 1)
    axes.set_ylim(-0.1, len(WAY) - 0.3)
    axes.plot([0.47, 0.47], [0.3, len(WAY) - 0.6], color=GREY, linewidth=1, zorder=0)
    for place, (name, what, colour) in enumerate(WAY):
        y = len(WAY) - 1 - place + 0.3
        box = {"boxstyle": "round,pad=0.42,rounding_size=0.3", "facecolor": "white", "edgecolor": colour}
        axes.text(0.34, y, name, ha="right", va="center", fontsize=9, color=colour, fontweight="bold")
        axes.text(0.385, y, what, ha="left", va="center", fontsize=9.5, bbox=box)
        if place:
            axes.plot(0.47, y + 0.52, marker="v", color=GREY, markersize=5, zorder=0)
