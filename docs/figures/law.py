"""Predicted against measured accuracy, next to the same against the largest parasitic modulus."""

from typing import TYPE_CHECKING, Any

from zerosnet.experiments import parasitic_modulus
from zerosnet.numerics import Scheme, depth_trade_off, is_zero_stable, load_law
from zerosnet.report import accuracy_map, depth_design_figure
from zerosnet.report.figures.style import BLUE, GREY, VERMILION, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STABLE: dict[str, Any] = {"color": BLUE, "marker": "o", "linestyle": "", "markersize": 5}
OTHER: dict[str, Any] = {"color": VERMILION, "marker": "s", "linestyle": "", "markersize": 5}


def law_figure() -> "Figure":
    """Draw every network of the law: predicted by the law that was fitted to the others, and against its roots."""
    with styled():
        figure = new_figure(9, 4)
        predicted, roots = figure.subplots(1, 2, sharey=True)
        for network in load_law().networks:
            scheme = Scheme.parse(network.scheme)
            look = STABLE if is_zero_stable(scheme) else OTHER
            predicted.plot(network.left_out, network.accuracy, **look)
            roots.plot(parasitic_modulus(scheme), network.accuracy, **look)
        predicted.plot([73, 95], [73, 95], color=GREY, linewidth=0.8, zorder=0)
        roots.axvline(1, color=GREY, linewidth=0.8, linestyle=":")
        predicted.set_title("Measured test accuracy, %", loc="left")
        predicted.set_xlabel("predicted from the coefficients, %")
        roots.set_xlabel("largest parasitic modulus")
        predicted.plot([], [], **STABLE, label="zero-stable")
        predicted.plot([], [], **OTHER, label="not zero-stable")
        predicted.legend(loc="upper left")
    return figure


def map_figure() -> "Figure":
    """Draw the predicted accuracy over the disc of roots."""
    return accuracy_map(56)


def depth_design_drawn() -> "Figure":
    """Draw the trade-off of design by depth at 110 layers."""
    return depth_design_figure(depth_trade_off(3, (18, 18, 18)))
