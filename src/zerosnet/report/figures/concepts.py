"""The paper's Figure 1, from real computations: what A-stability, BIBO stability and zero stability mean."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from zerosnet.numerics import BLOCKS, Scheme, log10_envelope
from zerosnet.report.figures.panels import log_ticks
from zerosnet.report.figures.style import BLUE, GREEN, GREY, INK, SHADE, VERMILION, WARM, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_STIFFNESS, _START, _END = 5.0, 1.6, 7.0


def stability_concepts_figure() -> "Figure":
    """A-stability, BIBO stability and zero stability side by side."""
    with styled():
        figure = new_figure(12, 4)
        panels = figure.subplots(1, 3)
        for axes, draw, title in zip(
            panels,
            (_draw_a_stability, _draw_bibo, _draw_zero_stability),
            (
                "(a) A-stability: any step size",
                "(b) BIBO stability: bounded in, bounded out",
                "(c) Zero stability: similar in, similar out",
            ),
        ):
            draw(axes)
            axes.set_title(title, loc="left")
    return figure


def _draw_a_stability(axes: "Axes") -> None:
    """y' = -5 (y - cos t) - sin t with the implicit and the explicit Euler method, at h = 0.1 and h = 0.44."""
    t = np.linspace(0, _END, 400)
    exact = np.cos(t) + (_START - 1) * np.exp(-_STIFFNESS * t)
    axes.plot(t, exact, color=GREEN, linewidth=3.5, alpha=0.55, label="exact solution", solid_capstyle="round")
    for implicit, colour, marker, name in ((True, BLUE, "o", "A-stable"), (False, VERMILION, "s", "not A-stable")):
        for h, style in ((0.1, "-"), (0.44, ":")):
            times, values = _euler(h, implicit)
            small = style == "-"
            axes.plot(
                times,
                values,
                linestyle=style,
                color=colour,
                marker="" if small else marker,
                markersize=4,
                linewidth=1.1 if small else 1.6,
                label=f"{name}, {'small' if small else 'large'} step",
            )
    axes.set_ylim(-4, 4)
    axes.set_xlim(0, _END)
    axes.set_xlabel("t")
    axes.set_ylabel("y", rotation=0)
    axes.legend(loc="upper left", ncols=1)


def _euler(h: float, implicit: bool) -> tuple[np.ndarray, np.ndarray]:
    times = np.arange(0, _END + h / 2, h)
    values = [_START]
    for t in times[:-1]:
        if implicit:
            forcing = _STIFFNESS * np.cos(t + h) - np.sin(t + h)
            values.append((values[-1] + h * forcing) / (1 + h * _STIFFNESS))
        else:
            values.append(values[-1] + h * (-_STIFFNESS * (values[-1] - np.cos(t)) - np.sin(t)))
    return times, np.array(values)


def _draw_bibo(axes: "Axes") -> None:
    """y_{n+1} = sum alphas y + u_n with |u_n| <= 1: the bound of y is the sum of the moduli of the impulse response."""
    bounded, consistent = (Scheme.parse(text) for text in ("0.1,0.2,0.3;1", "zerosnet(-9/5)"))
    n = np.arange(BLOCKS + 1)
    generator = np.random.default_rng(3)
    inputs = np.sign(np.sin(n / 3.1)) * generator.uniform(0.55, 1.0, n.size)
    bound = _output_bound(bounded)
    axes.fill_between(n, -bound, bound, color="#a9cbe3", linewidth=0, label="bound of the output")
    axes.fill_between(n, -1, 1, color="#e7f0f7", linewidth=0, label="bound of the input")
    axes.step(n, inputs, where="mid", color=GREY, linewidth=1, label="an input")
    response = _path(bounded, np.zeros(3), inputs)
    axes.plot(n, response, color=BLUE, marker="o", markersize=3, label="its output (0.1, 0.2, 0.3)")
    drift = _output_bound(consistent)
    for sign in (-1, 1):
        label = r"bound for $\lambda=-9/5$: not BIBO" if sign == 1 else None
        axes.plot(n, sign * drift, color=VERMILION, linestyle="--", linewidth=1.2, label=label)
    axes.set_ylim(-7, 7)
    axes.set_xlim(0, BLOCKS)
    axes.set_xlabel("block n")
    axes.legend(loc="lower right", fontsize=7.5, handlelength=1.6, borderaxespad=0.1)


def _path(scheme: Scheme, start: Sequence[float] | np.ndarray, inputs: Sequence[float] | np.ndarray) -> np.ndarray:
    """y_n of y_{n+1} = sum alphas[i] y_{n-i} + inputs[n], from starting values, the newest first."""
    alphas, states, path = [float(a) for a in scheme.alphas], list(start), []
    for u in inputs:
        path.append(states[0])
        states = [sum(a * y for a, y in zip(alphas, states)) + u, *states[:-1]]
    return np.array(path)


def _output_bound(scheme: Scheme) -> np.ndarray:
    impulse = np.zeros(BLOCKS + 1)
    impulse[0] = 1
    return np.cumsum(np.abs(_path(scheme, np.zeros(scheme.steps), impulse)))


def _draw_zero_stability(axes: "Axes") -> None:
    """The range of |y~ - y| over all disturbances of the starting values up to 1, and a few of them."""
    n = np.arange(BLOCKS + 1)
    generator = np.random.default_rng(1)
    floor = -2.0
    for text, colour, shade, style, name in (
        ("zerosnet(-1/2)", VERMILION, WARM, "--", r"not zero-stable, $\lambda=-1/2$"),
        ("zerosnet(-9/5)", BLUE, SHADE, "-", r"zero-stable, $\lambda=-9/5$"),
    ):
        scheme = Scheme.parse(text)
        bound = log10_envelope(scheme, BLOCKS)
        axes.fill_between(n, floor, bound, color=shade, linewidth=0)
        axes.plot(n, bound, color=colour, linestyle=style, linewidth=1.8, label=name)
        for _ in range(4):
            path = np.abs(_path(scheme, generator.uniform(-1, 1, scheme.steps), 0 * n))
            axes.plot(n, np.log10(np.maximum(path, 1e-9)), color=colour, linewidth=0.7, linestyle=style)
    log_ticks(axes, [floor, bound.max(), 8.2])
    axes.set_ylim(floor, 8.4)
    axes.set_xlim(0, BLOCKS)
    axes.set_xlabel("block n")
    axes.set_ylabel("difference of the features", labelpad=2)
    axes.annotate("similar inputs stay similar", (26.5, 0.25), fontsize=8, color=INK, ha="right", va="bottom")
    axes.legend(loc="upper left")
