"""The figure of a robustness protocol: accuracy over eps for every attack, and under every other perturbation."""

from collections.abc import Mapping
from itertools import cycle
from typing import TYPE_CHECKING

from zerosnet.report.figures.style import CYCLE, MARKERS, new_figure, styled
from zerosnet.robustness import radius_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from zerosnet.robustness import ProtocolResult, ResultRow

_MOST_COLUMNS = 3
_CONTROLS = ("huge eps", "random signs")
_LONGEST = 46


def attack_figure(results: "Mapping[str, ProtocolResult]") -> "Figure":
    """Draw a panel per attack, accuracy over eps with a line per run, and one for noises and corruptions."""
    measured = {run: result for run, result in results.items() if result.rows}
    methods = dict.fromkeys(row.method for result in measured.values() for row in result.rows if _is_at_level(row))
    others = dict.fromkeys(
        row.label for result in measured.values() for row in result.rows if row.eps is None and row.method != "clean"
    )
    count = max(1, len(methods) + bool(others))
    columns = min(count, _MOST_COLUMNS)
    rows = -(-count // columns)
    with styled():
        figure = new_figure(4.2 * columns if len(methods) else 6.5, 3.4 * rows + 0.35 + 0.22 * len(measured))
        panels = list(figure.subplots(rows, columns, squeeze=False).flat)
        for axes, method in zip(panels, methods):
            _levels(axes, measured, method)
        if others:
            _settings(panels[len(methods)], measured, list(others))
        for axes in panels[count:]:
            axes.set_visible(False)
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower left")
        figure.suptitle(", ".join(dict.fromkeys(result.protocol for result in measured.values())), fontsize=10.5)
    return figure


def _is_at_level(row: "ResultRow") -> bool:
    return row.eps is not None and row.method not in _CONTROLS


def _levels(axes: "Axes", measured: "Mapping[str, ProtocolResult]", method: str) -> None:
    """Draw the accuracy under one attack over eps, from the clean one at 0 on."""
    ticks: dict[float, None] = {}
    for (run, result), colour, marker in zip(measured.items(), cycle(CYCLE), cycle(MARKERS)):
        rows = [row for row in result.rows if row.method == method and row.eps is not None]
        most = max((row.images for row in rows), default=0)
        points = {row.eps or 0.0: 100 * row.accuracy for row in rows if row.images == most}
        clean = [row for row in result.rows if row.method == "clean" and row.images == most]
        if clean:
            points.setdefault(0.0, 100 * clean[0].accuracy)
        ticks |= dict.fromkeys(points)
        axes.plot(*zip(*sorted(points.items())), color=colour, marker=marker, label=_short(run))
    places = sorted(ticks)
    axes.set_xticks(places, ["0" if eps == 0 else radius_text(eps) for eps in places])
    _furnish(axes, method)
    axes.set_xlabel("eps")


def _settings(axes: "Axes", measured: "Mapping[str, ProtocolResult]", labels: list[str]) -> None:
    """Draw the accuracy under every noise or corruption."""
    for (run, result), colour, marker in zip(measured.items(), cycle(CYCLE), cycle(MARKERS)):
        points = {row.label: 100 * row.accuracy for row in result.rows}
        known = [(place, points[label]) for place, label in enumerate(labels) if label in points]
        axes.plot(*zip(*known), color=colour, marker=marker, linewidth=0, label=_short(run))
    axes.set_xticks(range(len(labels)), labels, rotation=90, fontsize=7)
    _furnish(axes, "noise and corruptions")


def _furnish(axes: "Axes", title: str) -> None:
    axes.set_ylim(0, 102)
    axes.grid(axis="y")
    axes.set_title(title, loc="left")
    axes.set_ylabel("accuracy, %")


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"
