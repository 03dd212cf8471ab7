"""Figures of a forecast: what every block adds and what the head reads of it, and a map over the disc of roots."""

from typing import TYPE_CHECKING, Any

from zerosnet.numerics import Forecast, Scheme, head_contributions_of_many, load_law, root_condition
from zerosnet.report.figures.style import CYCLE, GREY, INK, complex_plane, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_GRID = 240
_REACH = 1.5


def forecast_figure(found: Forecast) -> "Figure":
    """Draw the share of every block, and the part of what the head reads that comes from it."""
    with styled():
        figure = new_figure(9, 4.2)
        upper, lower = figure.subplots(2, 1, sharex=True)
        _bars(upper, found, found.shares, "share in the new state")
        _bars(lower, found, found.parts, "part of what the head reads")
        lower.axhline(found.law.tau, color=GREY, linestyle=":", linewidth=0.9)
        lower.annotate(
            "counts half", (len(found.parts) - 0.4, found.law.tau), color=GREY, fontsize=7, va="bottom", ha="right"
        )
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
        axes.bar(blocks, [max(float(heights[n]), 1e-9) for n in blocks], color=colour, width=0.8)
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
    import numpy as np

    from zerosnet.numerics import forecast

    counts = forecast("euler()", layers).wiring.counts
    law = load_law()
    re, im = np.meshgrid(np.linspace(-_REACH, _REACH, _GRID), np.linspace(0, _REACH, _GRID // 2))
    r = re + 1j * im
    trace, norm = 2 * r.real, np.abs(r) ** 2
    alphas = np.stack([1 + trace, -(trace + norm), norm], axis=-1)
    parts = np.square(head_contributions_of_many(alphas, np.abs(1 - r) ** 2, counts))
    accuracy = law.accuracy_of(parts, np.repeat(4.0 ** np.arange(len(counts)), counts))
    with styled():
        figure = new_figure(8.6, 4.6)
        axes = figure.subplots()
        levels = np.arange(74, 94.6, 0.5)
        filled = axes.contourf(re, im, accuracy, levels=levels, cmap="viridis", extend="both")
        lines = axes.contour(re, im, accuracy, levels=[80, 85, 90, 93], colors="white", linewidths=0.7)
        axes.clabel(lines, fmt="%d", fontsize=7)
        angle = np.linspace(0, np.pi, 200)
        axes.plot(np.cos(angle), np.sin(angle), color=INK, linewidth=1.2)
        dots: Any = {"cmap": "viridis", "norm": filled.norm, "edgecolors": "white", "zorder": 4, "clip_on": False}
        for root, value in _measured_pairs(counts):
            axes.scatter([root.real], [root.imag], c=[value], s=34, **dots)
        complex_plane(axes, (-_REACH, _REACH), (0, _REACH))
        axes.set_xlabel("real part of the parasitic root")
        axes.set_ylabel("imaginary part")
        figure.colorbar(filled, label="test accuracy, %", shrink=0.8)
        axes.set_title(
            f"Consistent three-step schemes, {layers} layers: predicted accuracy; dots: measured", loc="left"
        )
    return figure


def _measured_pairs(counts: tuple[int, ...]) -> list[tuple[complex, float]]:
    """The measured schemes whose parasitic roots are a conjugate pair or a double root, with their accuracies."""
    found = []
    for network in load_law().networks:
        scheme = Scheme.parse(network.scheme)
        if network.blocks != counts or len(scheme.alphas) != 3 or sum(scheme.alphas) != 1:
            continue
        roots = root_condition(scheme).parasitic_roots
        if len(roots) == 2 and abs(roots[0] - roots[1].conjugate()) < 1e-6 and abs(roots[0]) <= _REACH:
            consistent = abs(float(scheme.betas[0]) - abs(1 - roots[0]) ** 2) < 1e-6
            if consistent:
                found.append((complex(roots[0].real, abs(roots[0].imag)), network.accuracy))
    return found


def _short(scheme: Scheme) -> str:
    text = str(scheme).replace(";", "; ")
    return text if len(text) <= 40 else f"{text[:37]}..."
