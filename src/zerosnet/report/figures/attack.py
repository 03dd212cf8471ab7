"""The figure of a robustness protocol: accuracy over eps, over certified radii, by severity, or by kind of noise."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import cycle
from typing import TYPE_CHECKING, Any

from zerosnet.errors import InputError
from zerosnet.report.figures.style import CYCLE, MARKERS, new_figure, styled
from zerosnet.robustness import radius_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from zerosnet.robustness import ProtocolResult, ResultRow

    Results = Mapping[str, ProtocolResult]

_CONTROLS = ("huge eps", "random signs")
_UNIT = "/255"
_LONGEST = 56  # letters of a run's name
_LETTER = 0.075  # inches that a tick's letter takes


@dataclass(frozen=True)
class Layout:
    """How panels of one kind are set: the most in a row, and the inches of one."""

    columns: int
    width: float
    height: float


LARGE, SMALL = Layout(3, 4.2, 3.4), Layout(5, 2.1, 1.85)
Draw = Callable[["Axes"], None]


def attack_figure(results: "Results") -> "Figure":
    """Draw the results of a protocol by run.

    Attacks have a panel each, with accuracy over eps; smoothing has certified accuracy over the L2 radius; corruptions
    have a small panel each, with accuracy over severity; noises share a panel.

    Raises:
        InputError: Nothing was measured.
    """
    measured = {run: result for run, result in results.items() if result.rows}
    if not measured:
        raise InputError("results has nothing that was measured; expected at least one result with rows")
    draws = list(_panels(measured))
    layout = SMALL if _methods(measured, "corruption") else LARGE
    columns = min(len(draws), layout.columns)
    rows = -(-len(draws) // columns)
    width = max(6.5, layout.width * columns)
    with styled():
        figure = new_figure(width, layout.height * rows + 0.35 + 0.22 * len(measured))
        panels = list(figure.subplots(rows, columns, squeeze=False).flat)
        for axes, draw in zip(panels, draws):
            draw(axes)
        for axes in panels[len(draws) :]:
            axes.set_visible(False)
        if layout is SMALL:
            _share_names(panels[: len(draws)], columns)
        handles = {line.get_label(): line for axes in reversed(panels) for line in axes.get_lines()}
        shown = [handles[label] for label in _labels(measured).values() if label in handles]
        figure.legend(handles=shown, loc="outside lower left")
        names = dict.fromkeys(_family(result.protocol) for result in measured.values())
        figure.suptitle(", ".join(names), fontsize=10.5)
    return figure


def _panels(measured: "Results") -> Iterator[Draw]:
    """List what draws the panels: one per attack or corruption, one of certificates, one of noises."""
    levels = dict.fromkeys(row.method for row in _rows(measured) if _is_at_level(row))
    corruptions = dict.fromkeys(row.settings["corruption"] for row in _rows(measured) if row.method == "corruption")
    noises = dict.fromkeys(row.label for row in _rows(measured) if _is_noise(row))
    yield from (partial(_over_eps, measured=measured, method=method) for method in levels)
    if _methods(measured, "certified"):
        yield partial(_over_radius, measured=measured)
    yield from (partial(_over_severity, measured=measured, corruption=name) for name in corruptions)
    if noises or not (levels or corruptions or _methods(measured, "certified")):
        yield partial(_by_noise, measured=measured, labels=list(noises) or ["clean"])


def _rows(measured: "Results") -> "Iterator[ResultRow]":
    return (row for result in measured.values() for row in result.rows)


def _methods(measured: "Results", method: str) -> bool:
    return any(row.method == method for row in _rows(measured))


def _is_at_level(row: "ResultRow") -> bool:
    return row.eps is not None and row.method not in (*_CONTROLS, "certified")


def _is_noise(row: "ResultRow") -> bool:
    return row.eps is None and row.method not in ("clean", "abstained", "corruption")


def _lines(measured: "Results") -> "Iterator[tuple[ProtocolResult, dict[str, Any]]]":
    """List the runs, each with the look of its line."""
    for (run, label), colour, marker in zip(_labels(measured).items(), cycle(CYCLE), cycle(MARKERS)):
        yield measured[run], {"color": colour, "marker": marker, "label": label}


def _labels(measured: "Results") -> dict[str, str]:
    """Write the names of runs; smoothed ones with their noise, and how often they abstain."""
    labels = {}
    for run, result in measured.items():
        labels[run] = run if len(run) <= _LONGEST else f"{run[: _LONGEST - 1]}…"
        for row in result.rows:
            if row.method == "abstained":
                noise = f", sigma {row.settings['sigma']:g}" if "sigma" in row.settings else ""
                labels[run] += f"{noise}, abstains on {100 * row.accuracy:.1f} %"
    return labels


def _over_eps(axes: "Axes", measured: "Results", method: str) -> None:
    """Draw the accuracy under one attack over eps, from the clean one at 0 on; radii are evenly spaced."""
    curves = [(_levels(result, method), look) for result, look in _lines(measured)]
    radii = sorted({eps for points, _ in curves for eps in points})
    places = {eps: place for place, eps in enumerate(radii)}
    for points, look in curves:
        if points:
            axes.plot([places[eps] for eps in sorted(points)], [points[eps] for eps in sorted(points)], **look)
    _furnish(axes, method)
    texts, unit = _eps_texts(radii)
    shown = _fitting(texts, LARGE.width - 1)
    axes.set_xticks(shown, [texts[place] for place in shown])
    axes.set_xticks(range(len(radii)), minor=True)
    axes.set_xlabel(f"eps{unit}, evenly spaced")


def _levels(result: "ProtocolResult", method: str) -> dict[float, float]:
    """Collect the accuracies under an attack by eps, on as many images as there are, and the clean one at 0."""
    rows = [row for row in result.rows if row.method == method and row.eps is not None]
    most = max((row.images for row in rows), default=0)
    clean = [row for row in result.rows if row.method == "clean" and row.images == most]
    return {row.eps or 0.0: 100 * row.accuracy for row in (*clean[:1], *rows) if row.images == most}


def _eps_texts(radii: Sequence[float]) -> tuple[list[str], str]:
    """Write radii in units of 1/255 if all are quarters of it, else as decimals; and the unit."""
    texts = ["0" if eps == 0 else radius_text(eps) for eps in radii]
    if all(text.endswith(_UNIT) or text == "0" for text in texts):
        return [text.removesuffix(_UNIT) for text in texts], f" in 1{_UNIT}"
    return [f"{eps:.3g}" for eps in radii], ""


def _fitting(texts: Sequence[str], width: float) -> list[int]:
    """Choose the places of every tick, or of every second, third, ..., so that their texts fit side by side."""
    needed = (max(map(len, texts)) + 1) * _LETTER * len(texts)
    return list(range(0, len(texts), max(1, -(-int(1000 * needed) // int(1000 * width)))))


def _over_radius(axes: "Axes", measured: "Results") -> None:
    """Draw the part of the images that is answered correctly, and certified to be within a radius."""
    for result, look in _lines(measured):
        rows = [row for row in result.rows if row.method == "certified"]
        if rows:
            axes.plot([row.eps or 0.0 for row in rows], [100 * row.accuracy for row in rows], **look)
    _furnish(axes, "certified accuracy")
    axes.set_xlabel("L2 radius")


def _over_severity(axes: "Axes", measured: "Results", corruption: str) -> None:
    """Draw the accuracy under a corruption over severity, from the clean one at 0 on."""
    for result, look in _lines(measured):
        rows = [row for row in result.rows if row.settings.get("corruption") == corruption]
        clean = [row for row in result.rows if row.method == "clean"]
        points = {row.settings.get("severity", 0): 100 * row.accuracy for row in (*clean, *rows)}
        if rows:
            axes.plot(sorted(points), [points[severity] for severity in sorted(points)], **look, markersize=3)
    _furnish(axes, corruption.replace("_", " "))
    axes.set_yticks(range(0, 101, 50))
    axes.set_xticks(range(6))
    axes.set_xlabel("severity")


def _by_noise(axes: "Axes", measured: "Results", labels: list[str]) -> None:
    """Draw the accuracy under every noise."""
    for result, look in _lines(measured):
        points = {row.label: 100 * row.accuracy for row in result.rows}
        known = [place for place, label in enumerate(labels) if label in points]
        axes.plot(known, [points[labels[place]] for place in known], **look, linewidth=0)
    axes.set_xticks(range(len(labels)), labels, rotation=90, fontsize=7)
    _furnish(axes, "noise")


def _furnish(axes: "Axes", title: str) -> None:
    axes.set_ylim(0, 102)
    axes.grid(axis="y")
    axes.set_title(title, loc="left")
    axes.set_ylabel("accuracy, %")


def _share_names(panels: "Sequence[Axes]", columns: int) -> None:
    """Name the axes of small panels on the left and at the bottom only."""
    for place, axes in enumerate(panels):
        if place % columns:
            axes.set_ylabel("")
        if place // columns < (len(panels) - 1) // columns:
            axes.set_xlabel("")


def _family(protocol: str) -> str:
    """Name a protocol without its noise, which the legend has."""
    return "smoothing" if protocol.startswith("smoothing") else protocol
