"""Predicted against measured accuracy, next to the same against the largest parasitic modulus."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tools.fit_law import trained_blocks
from tools.later_tables import predictions_of
from tools.run_tables import evidence
from tools.screening import grid

from zerosnet.experiments import parasitic_modulus, screened_networks, screened_pairs, wiring_of_run
from zerosnet.numerics import Scheme, Wiring, depth_trade_off, is_zero_stable, load_law
from zerosnet.report import accuracy_map, depth_design_figure, screening_map
from zerosnet.report.figures.style import BLUE, CYCLE, GREY, INK, VERMILION, new_figure, styled
from zerosnet.training import RunSpec

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STABLE: dict[str, Any] = {"color": BLUE, "marker": "o", "linestyle": "", "markersize": 5}
OTHER: dict[str, Any] = {"color": VERMILION, "marker": "s", "linestyle": "", "markersize": 5}


HOLLOW: dict[str, Any] = {"markerfacecolor": "white"}
RING: dict[str, Any] = {"color": INK, "marker": "o", "linestyle": "", "markersize": 10, "markerfacecolor": "none"}
RESULTS = Path(__file__).parents[2] / "results"
_LEAST = 1e-6  # smaller weights and shares are drawn at the edge


def registered() -> dict[Wiring, float]:
    """Predictions of the law that were on record before training, by wiring, for networks that were trained since."""
    found = {}
    for file in ("survival", "threshold-betas"):
        for run, (one, _) in predictions_of(file).items():
            spec = RESULTS / "runs" / run / "spec.json"
            if spec.exists() and "not_calibrated" not in one:
                wiring = wiring_of_run(RunSpec.from_json(json.loads(spec.read_text())))
                if wiring is not None:
                    found[wiring] = one["predicted_accuracy"]["parts"]
    return found


def law_figure() -> "Figure":
    """Draw every network of the law: predicted by the law that was fitted to the others, and against its roots.

    Networks that were trained after their prediction have a ring, and are where that prediction was.
    """
    known = registered()
    with styled():
        figure = new_figure(9, 4)
        predicted, roots = figure.subplots(1, 2, sharey=True)
        for network in load_law().networks:
            scheme = Scheme.parse(network.scheme)
            look = (STABLE if is_zero_stable(scheme) else OTHER) | (HOLLOW if network.near else {})
            before = known.get(network.wiring)
            predicted.plot(network.left_out if before is None else before, network.accuracy, **look)
            if before is not None:
                predicted.plot(before, network.accuracy, **RING)
            roots.plot(parasitic_modulus(scheme), network.accuracy, **look)
        predicted.plot([73, 95], [73, 95], color=GREY, linewidth=0.8, zorder=0)
        roots.axvline(1, color=GREY, linewidth=0.8, linestyle=":")
        predicted.set_title("Measured test accuracy, %", loc="left")
        predicted.set_xlabel("predicted from the coefficients, %")
        roots.set_xlabel("largest parasitic modulus")
        predicted.plot([], [], **STABLE, label="zero-stable")
        predicted.plot([], [], **OTHER, label="not zero-stable")
        predicted.plot([], [], **OTHER | {"color": GREY} | HOLLOW, label="hollow: near the threshold of survival")
        predicted.plot([], [], **RING, label="committed before training, this law")
        predicted.legend(loc="lower right")
    return figure


def survival_figure() -> "Figure":
    """Draw the share of every trained block against its weight at the start, and the threshold between them."""
    found, least = trained_blocks(), load_law().survival.least
    with styled():
        figure = new_figure(7.2, 4.2)
        axes = figure.subplots()
        for stage, (name, colour) in enumerate(zip(("first", "second", "third"), CYCLE)):
            places = [i for i, at in enumerate(found.stage) if at == stage]
            start = [max(found.start[i], _LEAST) for i in places]
            share = [max(found.share[i], _LEAST) for i in places]
            axes.plot(start, share, ".", color=colour, markersize=3, alpha=0.5, label=f"{name} stage")
        axes.axvline(least, color=INK, linewidth=0.8, linestyle=":")
        axes.annotate(
            f"{100 * least:.1f} %", (least, 2e-6), xytext=(4, 0), textcoords="offset points", color=INK, fontsize=8
        )
        axes.set(xscale="log", yscale="log", xlim=(1e-4, 1.2), ylim=(1e-6, 2))
        axes.set_xlabel(
            "weight before training: what the next block or the head reads of it, over the root of its width"
        )
        axes.set_title("Share of every block after training", loc="left")
        axes.legend(loc="upper left", markerscale=3)
    return figure


def map_figure() -> "Figure":
    """Draw the predicted accuracy over the disc of roots."""
    return accuracy_map(56)


def depth_design_drawn() -> "Figure":
    """Draw the trade-off of design by depth at 110 layers."""
    return depth_design_figure(depth_trade_off(3, (18, 18, 18)))


def screening_drawn() -> "Figure":
    """Draw the measured map of screened networks beside the law's."""
    return screening_map(screened_pairs(grid(screened_networks(evidence()))))
