"""The weight from which blocks learn: test accuracy over it, and how it falls with the number of epochs."""

from typing import TYPE_CHECKING

from tools.flow_time import recipe_of, weight
from tools.flow_time_tables import TEST, beta_of, is_adam, measured, runs

from zerosnet.report.figures.style import BLUE, CYCLE, GREY, INK, MARKERS, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PLAIN = ("4 epochs", "8 epochs", "16 epochs", "32 epochs")
_RATES = (5, 20)  # axis of the middles, %
_PLACES = {"8 epochs, lr 0.2": ((-7, -9), "right"), "8 epochs, no decay": ((7, 2), "left")}  # not on the line


def flow_time_figure() -> "Figure":
    """Draw accuracy over the weight of the blocks, and over epochs the weight at which accuracy is half-way up."""
    with styled():
        figure = new_figure(9, 3.8)
        curves, middles = figure.subplots(1, 2)
        draw_curves(curves)
        draw_middles(middles)
    return figure


def draw_curves(axes: "Axes") -> None:
    """Draw a curve for every number of epochs, with its name at the left end."""
    for row, colour, marker in zip(PLAIN, CYCLE, MARKERS):
        points = [(100 * weight(beta_of(run)), 100 * run["test_accuracy"]) for run in runs()[row]]
        axes.plot(*zip(*points), color=colour, marker=marker)
        axes.annotate(row, min(points), (0, 5), textcoords="offset points", color=colour, fontsize=8)
    axes.set_xscale("log")
    axes.set_xticks([0.1, 1, 10], ["0.1", "1", "10"])
    axes.set_title("Test accuracy on mosaics, %", loc="left")
    axes.set_xlabel("weight of a block in what the head reads, at the start, %")


def draw_middles(axes: "Axes") -> None:
    """Draw the weight at the middle of every row with SGD, and a line that falls like one over the square root."""
    for row in filter(lambda row: not is_adam(row), runs()):
        plain = row in PLAIN
        epochs, value = recipe_of(row).epochs, 100 * measured(row, TEST)
        axes.plot(epochs, value, "o", color=BLUE if plain else GREY, markersize=6 if plain else 4)
        if not plain:
            place, side = _PLACES.get(row, ((7, -3), "left"))
            name = row.partition(", ")[2]
            axes.annotate(name, (epochs, value), place, textcoords="offset points", fontsize=8, ha=side)
    start = 100 * measured(PLAIN[1], TEST)
    axes.plot([4, 32], [start * (8 / epochs) ** 0.5 for epochs in (4, 32)], color=INK, linestyle=":", linewidth=1)
    axes.set(xscale="log", yscale="log", ylim=_RATES)
    axes.set_xticks([4, 8, 16, 32], ["4", "8", "16", "32"])
    axes.set_yticks([5, 10, 20], ["5", "10", "20"])
    axes.minorticks_off()
    axes.set_title("Weight at which test accuracy is half-way up, %", loc="left")
    axes.set_xlabel("epochs (dotted: one over the square root of them)")
