"""Figures of a family: where its roots go as the parameter moves, and which parameters are zero-stable."""

from typing import TYPE_CHECKING, Any

import numpy as np

from zerosnet.errors import InputError
from zerosnet.numerics import Family, Number, ParameterSet, Scheme, number, parasitic_roots, root_condition, root_radius
from zerosnet.report.figures.panels import draw_region, region_window
from zerosnet.report.figures.schemes import scheme_figure, short
from zerosnet.report.figures.style import (
    BLUE,
    CYCLE,
    GREY,
    INK,
    SHADE,
    VERMILION,
    complex_plane,
    few_ticks,
    new_figure,
    styled,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SAMPLES = 601


def family_figure(family: Family, param: Any = None, **options: Any) -> "Figure":
    """Moduli and paths of the parasitic roots over the parameter, the stable set shaded.

    With `param` that member is marked and its region of absolute stability shown; `options` go to it. A family of one
    member is drawn as a scheme, one with whole parameters by the regions of its members.
    """
    if not family.parameter:
        return scheme_figure(family.member(**options))
    if family.alphas is None:
        return scheme_figure(family.member(param, **options)) if param is not None else _regions_figure(family)
    value = None if param is None else number(param, family.parameter)
    member = None if param is None else family.member(param, **options)
    stable = family.stable_set()
    x = _range(family, stable, value)
    everywhere = np.tan(np.linspace(-np.pi / 2, np.pi / 2, 2 * _SAMPLES)[1:-1])  # the whole line, ever thinner
    with styled():
        figure = new_figure(8.2 if member is None else 12, 4.7)
        panels = figure.subplots(1, 2 if member is None else 3, width_ratios=[1.25, 1] + [1] * (member is not None))
        _draw_moduli(panels[0], family, stable, x, value)
        _draw_paths(panels[1], family, stable, everywhere, member)
        if member is not None and value is not None:
            draw_region(panels[2], member)
            panels[2].set_title(rf"Absolute stability at ${family.symbol} = {short(value)}$", loc="left")
        figure.suptitle(f"${family.formula}$", fontsize=10.5)
    return figure


def _range(family: Family, stable: ParameterSet, value: Number | None) -> np.ndarray:
    """Choose parameters about the ends of the stable set, and the one that was asked for."""
    ends = [float(end) for interval in stable.intervals for end in (interval.low, interval.high) if end is not None]
    ends = ends or [-1.0, 1.0]
    wanted = ends if value is None else [*ends, float(value)]
    pad = 1 + (max(wanted) - min(wanted)) / 2
    x = np.linspace(min(wanted) - pad, max(wanted) + pad, _SAMPLES)
    holes = [float(i.high) for i in family.domain.intervals if i.high is not None]
    return x[[min((abs(v - hole) for hole in holes), default=1.0) > 1e-9 for v in x]]


def _root_paths(family: Family, x: np.ndarray) -> np.ndarray:
    """The parasitic roots at every parameter, [parameter, root], by falling modulus."""
    if family.alphas is None:
        raise InputError(f"family {family.name} has no real parameter")
    return parasitic_roots([[float(a) for a in family.alphas(float(value))] for value in x])


def _draw_moduli(axes: "Axes", family: Family, stable: ParameterSet, x: np.ndarray, value: Number | None) -> None:
    top = 2.2
    roots = _root_paths(family, x)
    for interval in stable.intervals:
        low, high = (float(e) if e is not None else edge for e, edge in ((interval.low, x[0]), (interval.high, x[-1])))
        axes.axvspan(low, high, color=SHADE, linewidth=0, zorder=0)
        for end, closed in ((interval.low, interval.low_closed), (interval.high, interval.high_closed)):
            if end is not None:
                face = BLUE if closed else "white"
                axes.plot(float(end), 1, "o", color=BLUE, markerfacecolor=face, markersize=6, zorder=4)
    axes.axhline(1, color=GREY, linewidth=0.8, linestyle=":")
    for i in range(roots.shape[1]):
        moduli = np.abs(roots[:, i])
        colour, style = BLUE if i == 0 else INK, ("-", "--", ":")[i % 3]
        axes.plot(x, np.where(moduli < 2 * top, moduli, np.nan), color=colour, linestyle=style)
    if value is not None:
        axes.axvline(float(value), color=INK, linewidth=1)
        axes.annotate(f" {short(value)}", (float(value), top), fontsize=8, va="top")
    axes.set_xlim(x[0], x[-1])
    axes.set_ylim(0, top)
    axes.set_box_aspect(0.8)
    axes.set_xlabel(f"${family.symbol}$")
    axes.set_ylabel("moduli of the parasitic roots")
    few_ticks(axes)
    text = str(stable).replace("oo", "∞").replace("U", "∪").replace("-", "−")
    axes.set_title(f"Zero-stable: {text}", loc="left")


def _draw_paths(axes: "Axes", family: Family, stable: ParameterSet, x: np.ndarray, member: Scheme | None) -> None:
    from matplotlib.patches import Circle

    roots = _root_paths(family, x)
    axes.add_patch(Circle((0, 0), 1, facecolor=SHADE, edgecolor=BLUE, linewidth=1, zorder=0.5))
    inside = np.array([float(value) in stable for value in x])
    for which, colour, marker, label in (
        (inside, BLUE, "o", "zero-stable"),
        (~inside, VERMILION, "x", "not zero-stable"),
    ):
        z = roots[which].ravel()
        axes.plot(z.real, z.imag, linestyle="", marker=marker, markersize=2.2, color=colour, label=label, zorder=2)
    if member is not None:
        verdict = root_condition(member)
        z = np.array(verdict.roots)
        axes.plot(z.real, z.imag, "o", color=INK, markerfacecolor="none", markersize=9, zorder=4, label="this member")
    complex_plane(axes, (-1.75, 1.75), (-1.75, 1.75))
    few_ticks(axes)
    axes.legend(
        loc="upper center", bbox_to_anchor=(0.5, -0.08), ncols=3, markerscale=1.2, handletextpad=0.0, columnspacing=0.8
    )
    axes.set_title(f"Paths of the roots over ${family.symbol}$", loc="left")


def _regions_figure(family: Family) -> "Figure":
    """The boundaries of the absolute stability regions of the first members."""
    values = [interval.low for interval in family.domain.intervals]
    with styled():
        figure = new_figure(5.2, 4.8)
        axes = figure.subplots()
        windows = []
        for value, colour, style in zip(values, CYCLE, ("-", "--", "-.", ":", (0, (6, 1, 1, 1, 1, 1)))):
            scheme = family.member(value)
            x, y = region_window(scheme)
            windows.append((x, y))
            re, im = np.linspace(*x, 161), np.linspace(0, y[1], 81)
            radius = root_radius(scheme, re, im)
            both, heights = np.vstack([radius[:0:-1], radius]), np.concatenate([-im[:0:-1], im])
            axes.contour(re, heights, both, levels=[1], colors=[colour], linestyles=[style], linewidths=1.5)
            axes.plot([], [], color=colour, linestyle=style, label=f"${family.symbol} = {value}$")
        complex_plane(axes, windows[0][0], windows[0][1])
        axes.legend(loc="upper left")
        axes.set_xlabel(r"$\mathrm{Re}\;h\mu$")
        axes.set_ylabel(r"$\mathrm{Im}\;h\mu$")
        axes.set_title(f"Absolute stability: {family.description}", fontsize=9)
    return figure
