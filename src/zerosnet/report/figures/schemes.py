"""Figures of a scheme, and of the ten rows of the paper."""

from collections.abc import Sequence
from fractions import Fraction
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np

from zerosnet.numerics import (
    BLOCKS,
    PAPER_ROWS,
    Growth,
    Number,
    Scheme,
    analyze,
    log10_envelope,
    real_interval,
    root_condition,
)
from zerosnet.report.figures.panels import draw_envelope, draw_region, draw_roots, explain_roots, log_ticks
from zerosnet.report.figures.style import BLUE, GREY, MARKERS, VERMILION, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


_LONGEST = 70


def scheme_figure(scheme: Scheme) -> "Figure":
    """Roots in the unit circle, region of absolute stability, perturbation envelope over 27 blocks."""
    analysis = analyze(scheme)
    verdict = analysis.verdict
    with styled():
        figure = new_figure(11, 4.6)
        roots, region, growth_ = figure.subplots(1, 3)
        draw_roots(roots, verdict)
        roots.set_title(f"Roots: {verdict.kind}", loc="left")
        draw_region(region, scheme)
        region.set_title(f"Absolute stability: real interval {_interval(real_interval(scheme))}", loc="left")
        stable = verdict.zero_stable is not False
        draw_envelope(growth_, scheme, colour=BLUE if stable else VERMILION, marker="o" if stable else "X")
        growth_.set_box_aspect(1)
        growth_.set_title(f"Perturbations: {_fold(analysis.growth)} at most in {BLOCKS} blocks", loc="left")
        order = f"order {analysis.order}" if analysis.consistent else "not consistent"
        figure.suptitle(f"{_heading(scheme)}\n{order}; {verdict.reason}", fontsize=10.5)
    return figure


def paper_figure() -> "Figure":
    """The ten rows of the paper's mapping table: their roots, and how far perturbations grow over 27 blocks."""
    with styled():
        figure = new_figure(11.5, 9.5)
        top, bottom = figure.subfigures(2, 1, squeeze=False, height_ratios=[1.85, 1]).flat
        panels = list(top.subplots(2, 5).flat)
        for axes, row in zip(panels, PAPER_ROWS):
            verdict = root_condition(row.scheme)
            draw_roots(axes, verdict, legend=False)
            answer = "zero-stable" if verdict.zero_stable else "not zero-stable"
            consistent = rf"$\lambda = {row.lam}$" if row.lam else "not consistent"
            axes.set_title(f"{row.label}\n{consistent}, {answer}", fontsize=8.5)
        explain_roots(top, panels)
        top.suptitle("The paper's ten schemes, named by the moduli of their roots", fontsize=11)
        left, right = bottom.subplots(1, 2)
        for axes, kind, stable, colour in (
            (left, "not zero-stable", False, VERMILION),
            (right, "zero-stable", True, BLUE),
        ):
            rows = [row for row in PAPER_ROWS if bool(root_condition(row.scheme).zero_stable) is stable]
            _draw_envelopes(axes, [(row.label, row.scheme) for row in rows], colour)
            axes.set_title(f"Perturbation envelopes, {kind}", loc="left")
    return figure


def _draw_envelopes(axes: "Axes", named: Sequence[tuple[str, Scheme]], colour: str) -> None:
    """Envelopes in one panel, each named at its end."""
    ends = []
    for (name, scheme), marker in zip(named, MARKERS):
        draw_envelope(axes, scheme, colour=colour, marker=marker)
        ends.append((float(log10_envelope(scheme)[-1]), name))
    log_ticks(axes, np.concatenate([log10_envelope(scheme) for _, scheme in named]))
    low, high = axes.get_ylim()
    gap, floor = (high - low) / 13, -np.inf
    for end, name in sorted(ends):
        floor = max(end, floor + gap)
        place: dict[str, Any] = {"fontsize": 8, "color": colour, "va": "center", "annotation_clip": False}
        line = {"arrowstyle": "-", "color": GREY, "linewidth": 0.5, "shrinkA": 0, "shrinkB": 3}
        axes.annotate(name, (BLOCKS, end), (BLOCKS + 1.6, floor), arrowprops=line, **place)


def _heading(scheme: Scheme) -> str:
    """The recursion, if it fits on a line."""
    return f"${scheme.to_latex()}$" if len(str(scheme)) <= _LONGEST else f"{scheme.steps}-step scheme"


def _interval(reach: Number) -> str:
    return "none" if reach == 0 else "unbounded" if reach == inf else f"[\u2212{short(reach)}, 0]"


def _fold(growth: Growth) -> str:
    """The constant c over 27 blocks, "10-fold"."""
    logarithm = growth.log10_constant
    return f"{10**logarithm:.3g}-fold" if logarithm < 3 else rf"$10^{{{logarithm:.1f}}}$-fold"


def short(value: Number) -> str:
    """The number as a text, exact if that is short."""
    text = str(value)
    return text if isinstance(value, Fraction) and len(text) <= 9 else f"{float(value):.4g}"
