"""Panels of one scheme: its roots, its region of absolute stability, and how far perturbations grow."""

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from zerosnet.numerics import (
    BLOCKS,
    Scheme,
    Verdict,
    boundary_locus,
    imaginary_interval,
    log10_envelope,
    real_interval,
    root_radius,
    stability_region,
)
from zerosnet.report.figures.style import AMBER, BLUE, GREY, INK, SHADE, VERMILION, complex_plane, few_ticks

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ON_CIRCLE = 1e-12
_FARTHEST = 50.0  # parts of a locus beyond are not shown
_DEPTHS = ("#7fb2d6", "#9cc4e1", "#b9d5ea", "#cbe0f0", SHADE)  # of a region, from small roots to roots near 1
# where a root lies: label, marker, colour; told apart without colour too
_PLACES = {
    "principal": ("principal root 1", "s", INK),
    "inside": ("inside", "o", BLUE),
    "on": ("on the circle", "D", AMBER),
    "outside": ("outside", "X", VERMILION),
}


def draw_roots(axes: "Axes", verdict: Verdict, legend: bool = True) -> None:
    """All roots of rho about the unit circle, multiple ones with their multiplicity."""
    from matplotlib.patches import Circle

    axes.add_patch(Circle((0, 0), 1, facecolor=SHADE, edgecolor=BLUE, linewidth=1, zorder=1))
    placed = list(zip(root_places(verdict), verdict.roots))
    reach = max([1.0, *(abs(root) for root in verdict.roots)]) * 1.02 + 0.25
    complex_plane(axes, (-reach, reach), (-reach, reach))
    for place, (label, marker, colour) in _PLACES.items():
        roots = [root for where, root in placed if where == place]
        if roots:
            axes.plot(
                [root.real for root in roots],
                [root.imag for root in roots],
                linestyle="",
                marker=marker,
                markersize=6.5,
                color=colour,
                markeredgecolor="white",
                markeredgewidth=0.6,
                label=label,
                zorder=3,
            )
    for root, group in groupby(sorted(verdict.roots, key=lambda z: (z.real, z.imag))):
        times = len(list(group))
        if times > 1:
            offset = (5, 5)
            axes.annotate(f"×{times}", (root.real, root.imag), offset, textcoords="offset points", fontsize=8)
    few_ticks(axes)
    if legend:
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.07), ncols=4, handletextpad=0.0, columnspacing=0.9)


def root_places(verdict: Verdict) -> list[str]:
    """The place of every root: principal, inside, on or outside."""
    sides = ["on" if abs(m - 1) <= _ON_CIRCLE else "outside" if m > 1 else "inside" for m in verdict.moduli]
    return ["principal", *sides[1:]] if verdict.has_principal_root else sides


def explain_roots(figure: Any, panels: Sequence["Axes"]) -> None:
    """One key below a figure for the marks in all its panels."""
    marks = {label: mark for axes in panels for mark, label in zip(*axes.get_legend_handles_labels())}
    shown = [label for label, _, _ in _PLACES.values() if label in marks]
    figure.legend([marks[label] for label in shown], shown, loc="outside lower center", ncols=len(shown), fontsize=9)


def draw_region(axes: "Axes", scheme: Scheme) -> None:
    """The region of absolute stability, shaded by the largest root modulus, with the whole boundary locus."""
    x, y = region_window(scheme)
    fine = 181 if scheme.steps <= 4 else 121
    re, im = np.linspace(*x, fine), np.linspace(0, y[1], fine // 2 + 1)
    radius = root_radius(scheme, re, im)
    both, heights = np.vstack([radius[:0:-1], radius]), np.concatenate([-im[:0:-1], im])
    if radius.min() < 1 - _ON_CIRCLE:
        levels = np.linspace(radius.min(), 1, len(_DEPTHS) + 1)
        axes.contourf(re, heights, both, levels=levels, colors=_DEPTHS)
        axes.contour(re, heights, both, levels=[1], colors=[BLUE], linewidths=1.4)
    locus = boundary_locus(scheme)
    axes.plot(locus.real, locus.imag, color=GREY, linewidth=0.8, linestyle=(0, (4, 2)), zorder=1.5)
    complex_plane(axes, x, y)
    left, up = float(real_interval(scheme)), float(imaginary_interval(scheme))
    bold: dict[str, Any] = {"color": BLUE, "linewidth": 2.5, "markersize": 4, "solid_capstyle": "butt", "zorder": 3}
    if 0 < left < np.inf:
        axes.plot([-left, 0], [0, 0], marker="o", markevery=[0], **bold)
    if 0 < up < np.inf:
        axes.plot([0, 0], [-up, up], marker="o", **bold)
    few_ticks(axes)
    axes.set_xlabel(r"$\mathrm{Re}\;h\mu$")
    axes.set_ylabel(r"$\mathrm{Im}\;h\mu$", labelpad=2)


def region_window(scheme: Scheme, fine: int = 160) -> tuple[tuple[float, float], tuple[float, float]]:
    """Limits that show the region of absolute stability and the origin; those of the locus if there is no region.

    It is looked for on a grid of `fine` columns, to within one of them.
    """
    locus = boundary_locus(scheme)
    locus = locus[np.isfinite(locus) & (np.abs(locus) < _FARTHEST)]
    if not len(locus) or np.abs(locus).max() < 1e-9:
        return (-1.5, 1.5), (-1.5, 1.5)
    left, right, top = min(locus.real.min(), 0), max(locus.real.max(), 0), locus.imag.max()
    for _ in range(4):  # zoom in on what is stable
        re, im = np.linspace(left, right, fine), np.linspace(0, max(top, 1e-3), fine // 2)
        cell_x, cell_y = (right - left) / (fine - 1), im[1]
        stable = stability_region(scheme, re, im)
        stable[0] = False  # the axis itself may be stable without an area
        if not stable.any():
            break
        x, y = re[stable.any(axis=0)], im[stable.any(axis=1)]
        left, right, top = min(x.min() - cell_x, 0), max(x.max() + cell_x, 0), y.max() + cell_y
    half = 0.58 * max(right - left, 2 * top, 1e-3)
    centre = (left + right) / 2
    return (centre - half, centre + half), (-half, half)


def draw_envelope(axes: "Axes", scheme: Scheme, *, colour: str, marker: str) -> None:
    """c(k): the largest |y| after k blocks, over all starting values of modulus at most 1, without f."""
    logs = log10_envelope(scheme)
    seen = np.flatnonzero(np.isfinite(logs))
    axes.plot(seen, logs[seen], color=colour, marker=marker, markersize=3.5, clip_on=False)
    axes.set_xlim(0, BLOCKS)
    axes.set_xlabel("block k")
    axes.set_ylabel("largest |y| after k blocks", labelpad=3)
    axes.grid(axis="y")
    if seen.size:
        log_ticks(axes, logs[seen])


def log_ticks(axes: "Axes", logs: Sequence[float] | np.ndarray) -> None:
    """An axis that holds decimal logarithms shows the numbers themselves, and at least those from 1/2 to 2."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    low, high = min(-0.31, float(np.min(logs))), max(0.31, float(np.max(logs)))
    axes.set_ylim(low - 0.06 * (high - low), high + 0.08 * (high - low))
    if high - low <= 2:
        ticks = [v for v in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50) if low <= np.log10(v) <= high + 0.05]
        axes.set_yticks([float(np.log10(v)) for v in ticks], [f"{v:g}" for v in ticks])
        return
    axes.yaxis.set_major_locator(MaxNLocator(6, integer=True))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"$10^{{{v:.0f}}}$"))
