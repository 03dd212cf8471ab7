"""Networks without normalisation: accuracy over the learning rate, and over it times the root of the sensitivity."""

from math import log10
from typing import TYPE_CHECKING, Any

from tools.without_norm import LAYERS
from tools.without_norm_tables import euler, recorded

from zerosnet.report.figures.style import BLUE, GREY, INK, VERMILION, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STABLE: dict[str, Any] = {"color": BLUE, "marker": "o"}
OTHER: dict[str, Any] = {"color": VERMILION, "marker": "s"}
_EDGE = (-8.0, 4.0)  # powers of ten; what lies outside is drawn at the edge


def without_norm_figure() -> "Figure":
    """Draw every run twice: over its rate, and over its rate times the root of the sensitivity of its scheme."""
    with styled():
        figure = new_figure(9, 4)
        plain, scaled = figure.subplots(1, 2, sharey=True)
        for run in recorded():
            look = STABLE if run["predicted"]["zero_stable"] else OTHER
            look = look | ({} if run["layers"] == LAYERS[0] else {"markerfacecolor": "white"})
            accuracy = 100 * run["test_accuracy"] if run["status"] == "finished" else 0.0
            place = log10(run["lr"])
            answer = min(max(place + run["predicted"]["log10_sensitivity"] / 2, _EDGE[0]), _EDGE[1])
            for axes, x in ((plain, place), (scaled, answer)):
                axes.plot(x, accuracy, linestyle="", markersize=4.5, **look)
        plain.set_title("Test accuracy of the digits, %", loc="left")
        plain.set_xlabel("learning rate, power of ten")
        scaled.set_xlabel("learning rate × √sensitivity, power of ten")
        for run in euler():
            accuracy = 100 * run["test_accuracy"] if run["status"] == "finished" else 0.0
            for axes in (plain, scaled):
                axes.plot(log10(run["lr"]), accuracy, color=INK, marker="x", linestyle="", markersize=6)
        for axes in (plain, scaled):
            axes.axhline(50, color=GREY, linewidth=0.8, linestyle=":")
        for name, look in (("zero-stable", STABLE), ("not zero-stable", OTHER)):
            scaled.plot([], [], linestyle="", **look, label=name)
        scaled.plot([], [], linestyle="", color=GREY, marker="o", markerfacecolor="white", label="hollow: 20 layers")
        scaled.plot([], [], linestyle="", color=INK, marker="x", label="Euler's")
        scaled.legend(loc="upper left")
    return figure
