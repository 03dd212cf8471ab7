"""Residual wirings on mosaics at three learning rates: the error of every network, by what its blocks keep."""

from typing import TYPE_CHECKING

from tools.mosaic_rate_tables import KINDS, accuracies, kind_of
from tools.mosaic_rates import FIRST_RATE, NETWORKS, RATES

from zerosnet.report.figures.style import BLUE, GREY, MARKERS, VERMILION, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_ERRORS = (0.12, 100)  # axis, %


def mosaic_rates_figure() -> "Figure":
    """Draw a panel per number of layers, and a dot per network."""
    with styled():
        figure = new_figure(9, 3.8)
        panels = figure.subplots(1, len(NETWORKS), sharey=True)
        for axes, layers in zip(panels, NETWORKS):
            draw(axes, layers)
        panels[0].legend(loc="upper left", fontsize=8)
    return figure


def draw(axes: "Axes", layers: int) -> None:
    """Draw the errors at every rate, kinds side by side."""
    for place, (kind, colour, marker) in enumerate(zip(KINDS, (GREY, BLUE, VERMILION), MARKERS)):
        names = [name for name in NETWORKS[layers] if kind_of(name) == kind]
        points = [
            (number + 0.26 * (place - 1) + 0.02 * (seed - 1), max(100 - value, 0.2))
            for name in names
            for number, rate in enumerate((FIRST_RATE, *RATES))
            for seed, value in enumerate(accuracies(name.format(layers), rate))
        ]
        axes.scatter(*zip(*points), color=colour, marker=marker, s=22, alpha=0.75, label=kind)
    axes.set(yscale="log", ylim=_ERRORS)
    axes.set_xticks(range(1 + len(RATES)), [str(rate) for rate in (FIRST_RATE, *RATES)])
    axes.set_yticks([0.2, 1, 10, 100], ["0.2", "1", "10", "100"])
    axes.minorticks_off()
    axes.set_title(f"Test error on mosaics, %, {layers} layers", loc="left")
    axes.set_xlabel("learning rate")
