"""Figures of a forecast: what every block adds and what the head reads of it, and a map over the disc of roots."""

from typing import TYPE_CHECKING, Any

from zerosnet.numerics import Forecast, Scheme, accuracy_of_pairs, forecast, measured_pairs
from zerosnet.report.figures.style import CYCLE, GREY, INK, complex_plane, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.contour import ContourSet
    from matplotlib.figure import Figure

_GRID = 240
_REACH = 1.5
_PALE = 0.3


def forecast_figure(found: Forecast) -> "Figure":
    """Draw the share of every block, and the part of what the head reads that comes from it."""
    with styled():
        figure = new_figure(9, 4.2)
        upper, lower = figure.subplots(2, 1, sharex=True)
        _bars(upper, found, found.shares, "share in the new state")
        _bars(lower, found, found.parts, "part of what the head reads")
        if found.survivors is not None and not found.survivors.all():
            upper.set_title("pale: dies in training", loc="right", color=GREY, fontsize=8)
        lower.set_xlabel("block")
        predicted = found.prediction
        said = "" if predicted.accuracy is None else f", predicted accuracy {predicted.accuracy:.1f} %"
        depth = f"effective depth {found.effective_depth:.1f} of {len(found.shares)}"
        figure.suptitle(f"{_short(found.scheme)}, {found.layers} layers: {depth}{said}", fontsize=10.5)
    return figure


def _bars(axes: "Axes", found: Forecast, heights: Any, title: str) -> None:
    first = 0
    for stage, colour in zip(found.wiring.stages, CYCLE):
        blocks = range(first, first + stage.blocks)
        drawn = axes.bar(blocks, [max(float(heights[n]), 1e-9) for n in blocks], color=colour, width=0.8)
        for n, bar in zip(blocks, drawn):
            bar.set_alpha(_PALE if found.survivors is not None and not found.survivors[n] else 1.0)
        first += stage.blocks
    axes.set_yscale("log")
    low = max(1e-6, min(1e-3, float(min(heights)) / 2))
    axes.set_ylim(low, 1.2)
    axes.set_title(title, loc="left")
    axes.grid(axis="y")


def accuracy_map(layers: int = 56) -> "Figure":
    """Draw the predicted accuracy over the disc of one pair of parasitic roots, with measured schemes as dots.

    The schemes have three steps and are consistent: roots 1, r and its conjugate, beta = |1 - r|^2.
    """
    counts = forecast("euler()", layers).wiring.counts
    with styled():
        figure = new_figure(8.6, 4.6)
        axes = figure.subplots()
        filled = law_map(axes, layers, _REACH)
        dots: Any = {"cmap": "viridis", "norm": filled.norm, "edgecolors": "white", "zorder": 4, "clip_on": False}
        for root, network in measured_pairs(counts):
            if abs(root) <= _REACH:
                axes.scatter([root.real], [root.imag], c=[network.accuracy], s=34, **dots)
        axes.set_ylabel("imaginary part")
        figure.colorbar(filled, label="test accuracy, %", shrink=0.8)
        axes.set_title(
            f"Consistent three-step schemes, {layers} layers: predicted accuracy; dots: measured", loc="left"
        )
    return figure


def law_map(axes: "Axes", layers: int, reach: float) -> "ContourSet":
    """Draw the predicted accuracy over the half disc of roots up to `reach`, with the unit circle."""
    import numpy as np

    re, im = np.meshgrid(np.linspace(-reach, reach, _GRID), np.linspace(0, reach, _GRID // 2))
    accuracy = accuracy_of_pairs(re + 1j * im, forecast("euler()", layers).wiring.counts)
    filled = axes.contourf(re, im, accuracy, levels=np.arange(74, 94.6, 0.5), cmap="viridis", extend="both")
    lines = axes.contour(re, im, accuracy, levels=[80, 85, 90, 93], colors="white", linewidths=0.7)
    axes.clabel(lines, fmt="%d", fontsize=7)
    half_disc(axes, reach)
    return filled


def half_disc(axes: "Axes", reach: float) -> None:
    """Draw the upper half of the unit circle, with axes up to `reach`."""
    import numpy as np

    angle = np.linspace(0, np.pi, 200)
    axes.plot(np.cos(angle), np.sin(angle), color=INK, linewidth=1.2)
    complex_plane(axes, (-reach, reach), (0, reach))
    axes.set_xlabel("real part of the parasitic root")


def _short(scheme: Scheme) -> str:
    text = str(scheme).replace(";", "; ")
    return text if len(text) <= 40 else f"{text[:37]}..."
