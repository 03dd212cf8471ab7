"""Figures of robustness: to noise, known before training or not; to corruptions; and certified over the radius."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from zerosnet.experiments import (
    NOISES,
    CertifiedNetwork,
    CorruptedNetwork,
    NoisyNetwork,
    fit_noise_law,
    gauge_pairs,
    left_out_predictions,
)
from zerosnet.report.figures.style import BLUE, CYCLE, GREY, MARKERS, VERMILION, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NOISE = "Gaussian 0.04"
STABLE: dict[str, Any] = {"color": BLUE, "marker": "o", "linestyle": "", "markersize": 5}
JOINED: dict[str, Any] = {"color": "black", "linewidth": 1.6, "marker": "o", "markersize": 9, "markerfacecolor": "none"}
OTHER: dict[str, Any] = {"color": VERMILION, "marker": "s", "linestyle": "", "markersize": 5}


def noise_figure(networks: Sequence[NoisyNetwork], noise: str = NOISE) -> "Figure":
    """Draw what a noise takes away from every network against its effective depth, and against its clean accuracy.

    A line joins two networks that are one network in two scales (`gauge_pairs`).
    """
    with styled():
        figure = new_figure(9, 3.8)
        depth, clean = figure.subplots(1, 2)
        _scatter(depth, [(one.parameters, one.loss(noise), one.zero_stable) for one in networks])
        _scatter(clean, [(one.clean, one.noisy[noise], one.zero_stable) for one in networks])
        for place, pair in enumerate(gauge_pairs(networks)):
            ends, label = (pair.unstable, pair.stable), "" if place else "one network in two scales"
            depth.plot([one.parameters for one in ends], [one.loss(noise) for one in ends], **JOINED, label=label)
            clean.plot([one.clean for one in ends], [one.noisy[noise] for one in ends], **JOINED)
        depth.set_xscale("log")
        depth.set_xlabel("effective parameters, from the coefficients alone")
        depth.set_title(f"{noise}: loss, % of clean accuracy", loc="left")
        clean.set_xlabel("clean test accuracy, %")
        clean.set_title(f"{noise}: test accuracy, %", loc="left")
        depth.legend(loc="upper right")
    return figure


def noise_law_figure(networks: Sequence[NoisyNetwork], noises: Sequence[str] = NOISES) -> "Figure":
    """Draw measured accuracy under noise against the prediction of the law that was fitted to the other networks."""
    with styled():
        figure = new_figure(9, 3.8)
        law, roots = figure.subplots(1, 2, sharex=True, sharey=True)
        for noise, colour, marker in zip(noises, CYCLE, MARKERS):
            measured = [one.noisy[noise] for one in networks]
            predicted = left_out_predictions(networks, noise)
            look: dict[str, Any] = {"color": colour, "marker": marker, "linestyle": "", "markersize": 3.5}
            errors = fit_noise_law(networks, noise).left_out
            for axes, name in ((law, "parts"), (roots, "root_condition")):
                label = f"{noise}: {errors[name]:.1f} points"
                axes.plot([one[name] for one in predicted], measured, **look, label=label)
        for axes, title in ((law, "Effective parameters"), (roots, "Root condition")):
            axes.axline((60, 60), slope=1, color=GREY, linewidth=0.8, zorder=0)
            axes.set_xlabel("predicted test accuracy, %")
            axes.legend(loc="upper left", fontsize=7)
            axes.set_title(f"{title}: measured, %", loc="left")
    return figure


def corruption_figure(networks: Sequence[CorruptedNetwork]) -> "Figure":
    """Draw the accuracy of every network by corruption and severity, a panel for each corruption."""
    names = list(dict.fromkeys(name for network in networks for name in network.errors.by_severity))
    columns = 5
    rows = -(-len(names) // columns)
    with styled():
        figure = new_figure(10, 1.75 * rows + 0.5)
        panels = list(figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True).flat)
        for axes, name in zip(panels, names):
            for network in networks:
                errors = network.errors.by_severity.get(name, ())
                accuracies = [100 - value for value in (network.errors.clean, *errors)]
                axes.plot(range(len(accuracies)), accuracies, **_line(network.zero_stable))
            axes.set_title(name.replace("_", " "), loc="left", fontsize=8.5)
            axes.grid(axis="y")
        for axes in panels[len(names) :]:
            axes.set_visible(False)
        _legend(figure, [network.zero_stable for network in networks])
        figure.supxlabel("severity, 0 is clean", fontsize=9)
        figure.supylabel("test accuracy, %", fontsize=9)
    return figure


def certified_figure(networks: Sequence[CertifiedNetwork]) -> "Figure":
    """Draw the certified accuracy of smoothed networks over the radius."""
    with styled():
        figure = new_figure(6.5, 4)
        axes = figure.subplots()
        for network in networks:
            radii = sorted(network.certified)
            accuracies = [network.certified[radius] for radius in radii]
            axes.plot(radii, accuracies, **_line(network.zero_stable))
            axes.annotate(network.name, (radii[0], accuracies[0]), fontsize=6.5, color=GREY, va="bottom")
        axes.set_ylim(0, 100)
        axes.grid(axis="y")
        axes.set_xlabel("L2 radius, for images of [0, 1]")
        axes.set_title("Certified test accuracy, %", loc="left")
        _legend(figure, [network.zero_stable for network in networks])
    return figure


def _line(zero_stable: bool | None) -> dict[str, Any]:
    look = {True: (BLUE, "-"), False: (VERMILION, "--"), None: (GREY, "-.")}[zero_stable]
    return {"color": look[0], "linestyle": look[1], "linewidth": 1.1}


def _legend(figure: "Figure", sides: Sequence[bool | None]) -> None:
    from matplotlib.lines import Line2D

    words = {True: "zero-stable", False: "not zero-stable", None: "trained coefficients"}
    shown = [side for side in words if side in sides]
    lines = [Line2D([], [], **_line(side)) for side in shown]
    figure.legend(lines, [words[side] for side in shown], loc="outside upper right", ncols=3)


def _scatter(axes: "Axes", points: Sequence[tuple[float, float, bool]]) -> None:
    for look, label, stable in ((STABLE, "zero-stable", True), (OTHER, "not zero-stable", False)):
        chosen = [(x, y) for x, y, side in points if side is stable]
        axes.plot([x for x, _ in chosen], [y for _, y in chosen], **look, label=label)
    axes.grid(axis="y")
