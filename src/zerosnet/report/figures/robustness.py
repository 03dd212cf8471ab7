"""Figures of robustness: to noise, known before training or not; to corruptions; to attacks; and certified."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from zerosnet.experiments import (
    NOISES,
    AttackedNetwork,
    CertifiedNetwork,
    CorruptedNetwork,
    NoisyNetwork,
    fit_noise_law,
    gauge_pairs,
    left_out_predictions,
    rounded_name,
)
from zerosnet.report.figures.style import BLUE, CYCLE, GREY, MARKERS, VERMILION, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NOISE = "Gaussian 0.04"
STABLE: dict[str, Any] = {"color": BLUE, "marker": "o", "linestyle": "", "markersize": 5}
_APART = 4.5  # points of accuracy between two names
_LOWEST = 2.0  # no name lies on the axis
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
    curves = [(rounded_name(one.name), one.zero_stable, dict(one.certified)) for one in networks]
    return _over_radius(curves, "L2 radius, for images of [0, 1]", "Certified test accuracy, %")


def attacked_figure(networks: Sequence[AttackedNetwork], method: str = "pgd-50") -> "Figure":
    """Draw the accuracy under a white-box attack over its radius, and what AutoAttack leaves as crosses."""
    shown = [one for one in networks if method in one.kept]
    curves = [(rounded_name(one.name), one.zero_stable, {0.0: one.clean, **one.over_radius(method)}) for one in shown]
    crosses = "; crosses: AutoAttack" if any("autoattack" in one.kept for one in shown) else ""
    figure = _over_radius(curves, "L-infinity radius, of 255", f"Test accuracy under {method.upper()}, %{crosses}")
    (axes,) = figure.axes
    for one in shown:
        left = one.over_radius("autoattack")
        axes.plot(list(left), list(left.values()), "x", color=_line(one.zero_stable)["color"], markersize=7)
    return figure


def _over_radius(curves: Sequence[tuple[str, bool | None, dict[float, float]]], label: str, title: str) -> "Figure":
    """Draw one line per network, its name at the right end of it, spread so that names do not overlap."""
    with styled():
        figure = new_figure(7.5, 3.8)
        axes = figure.subplots()
        last, height = max(max(curve) for _, _, curve in curves), _LOWEST - _APART
        for _, stable, curve in curves:
            axes.plot(sorted(curve), [curve[radius] for radius in sorted(curve)], **_line(stable))
        # at the height of the last value above 0: beyond that no sample could certify more
        heights = [next((curve[r] for r in sorted(curve, reverse=True) if curve[r] > 0), 0.0) for _, _, curve in curves]
        for value, (name, stable, _) in sorted(zip(heights, curves), key=lambda pair: pair[0]):
            height = max(height + _APART, value)
            look: dict[str, Any] = {"fontsize": 7.5, "color": _line(stable)["color"], "va": "center"}
            axes.annotate(name, (last, height), xytext=(6, 0), textcoords="offset points", **look)
        axes.set_xlim(0, 1.45 * last)
        axes.set_xticks([tick for tick in axes.get_xticks() if tick <= last])
        axes.set_ylim(0, 100)
        axes.grid(axis="y")
        axes.set_xlabel(label)
        axes.set_title(title, loc="left")
        _legend(figure, [stable for _, stable, _ in curves])
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
