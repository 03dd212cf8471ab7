"""Charts as inline SVG, drawn at the width of a phone: lines and marks that differ by shape as well as by colour.

Colours are classes (`.s0` to `.s7`), so that the page's style sheet decides about light, dark and
paper; nothing here is rasterised and no text is turned into outlines.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from zerosnet.report.page.axes import Axis, tick_text
from zerosnet.report.page.html import Html, element, join

WIDTH, HEIGHT = 372, 236
_RIGHT, _TOP, _BOTTOM = 8, 8, 38
_BESIDE, _LETTER = 25, 6.3  # left of the axis: its name, and the width of a digit of its numbers
_MOST_POINTS = 90  # of a line; more cannot be seen at this width
_MARKED = 12  # lines with more points carry fewer marks than points
_SPARSE = 5

# about 3.4 units around the origin
_MARKS = (
    "M-3.3 0a3.3 3.3 0 1 0 6.6 0a3.3 3.3 0 1 0-6.6 0z",
    "M-3-3h6v6h-6z",
    "M0-3.8L3.6 2.8H-3.6z",
    "M0-4L4 0L0 4L-4 0z",
    "M0 3.8L3.6-2.8H-3.6z",
    "M-3.2-3.2L3.2 3.2M-3.2 3.2L3.2-3.2",
    "M-4 0H4M0-4V4",
    "M-1.3-3.8h2.6v2.5h2.5v2.6h-2.5v2.5h-2.6v-2.5h-2.5v-2.6h2.5z",
)
SHAPES = len(_MARKS)
COLOURS = 8


@dataclass(frozen=True)
class Series:
    """Points of one name.

    Attributes:
        colour: 0 to 7.
        mark: The shape, 0 to 7.
        line: Joined; `dashed` for what is not zero-stable.
        hollow: Marks without filling, for printed numbers.
        errors: Half lengths of error bars, if there are some.
        title: What the line is, for pointing devices; its name if none is given.
        titles: What a point is, likewise.
        legend: Whether the name stands in the legend.
        group: Names of one group stand together in the legend, behind the group's name.
    """

    name: str
    points: Sequence[tuple[float, float]]
    colour: int = 0
    mark: int = 0
    line: bool = True
    dashed: bool = False
    hollow: bool = False
    errors: Sequence[float | None] = ()
    title: str = ""
    titles: Sequence[str] = ()
    legend: bool = True
    group: str = ""


@dataclass(frozen=True)
class Chart:
    """A chart; `description` puts into words what a reader who does not see it should know.

    `at_x` is marked by a dotted line.
    """

    title: str
    x: str
    y: str
    series: Sequence[Series]
    description: str
    log_x: bool = False
    log_y: bool = False
    at_x: float | None = None


def figure(chart: Chart, *, with_legend: bool = True) -> Html:
    """The chart with its title above and its legend below."""
    below = legend(chart.series) if with_legend else None
    return element("figure", element("figcaption", chart.title), svg(chart), below, class_="chart")


def figures(charts: Sequence[Chart]) -> Html:
    """Charts of the same things side by side, with one legend for all of them."""
    drawn = element("div", (figure(chart, with_legend=False) for chart in charts), class_="charts")
    return join([drawn, legend({one.name: one for chart in charts for one in chart.series if one.legend}.values())])


def legend(series: Iterable[Series]) -> Html | None:
    """Line, mark and name of every series, group by group."""
    named = [one for one in series if one.legend]
    lists = []
    for group in dict.fromkeys(one.group for one in named):
        items = [element("li", key(one), one.name) for one in named if one.group == group]
        lists.append(element("ul", element("li", f"{group}:") if group else None, items, class_="legend"))
    return join(lists) if lists else None


def key(series: Series) -> Html:
    """A line and a mark, to be put before a name."""
    line = element("line", x1=0, y1=6, x2=22, y2=6, class_=_classes("l", series)) if series.line else None
    x = 11 if series.line else 6
    parts = [line, element("path", d=_MARKS[series.mark % SHAPES], transform=f"translate({x} 6)", class_=_mark(series))]
    width = 22 if series.line else 12
    return element("svg", parts, viewBox=f"0 0 {width} 12", width=width, height=12, class_="key", aria_hidden="true")


def svg(chart: Chart) -> Html:
    """The drawing alone."""
    every = [point for one in chart.series for point in one.points]
    tips = [
        y + sign * (error or 0) for one in chart.series for (_, y), error in zip(one.points, one.errors)
        for sign in (-1, 1)
    ]  # fmt: skip
    x_values = [x for x, _ in every] + ([] if chart.at_x is None else [chart.at_x])
    y_values = [y for _, y in every] + tips
    y = Axis.around(y_values, HEIGHT - _BOTTOM, _TOP, log=chart.log_y, margin=0.06)
    left = _BESIDE + _LETTER * max((len(tick_text(v)) for v in y.ticks), default=1)
    x = Axis.around(x_values, left, WIDTH - _RIGHT, log=chart.log_x)
    parts = [_frame(chart, x, y), *(_series(one, x, y) for one in chart.series)]
    label = f"{chart.title}. {chart.description}"
    return element("svg", parts, viewBox=f"0 0 {WIDTH} {HEIGHT}", role="img", aria_label=label, class_="plot")


def _frame(chart: Chart, x: Axis, y: Axis) -> Html:
    left, right, bottom = x.start, x.end, HEIGHT - _BOTTOM
    grid = "".join(f"M{left:.1f} {y(v):.1f}H{right}" for v in y.ticks)
    ticks = "".join(f"M{x(v):.1f} {bottom}v4" for v in x.ticks)
    words = [element("text", tick_text(v), x=f"{left - 5:.1f}", y=f"{y(v) + 3.8:.1f}", class_="e") for v in y.ticks]
    words += [element("text", tick_text(v), x=f"{x(v):.1f}", y=bottom + 15, class_="m") for v in x.ticks]
    middle = (_TOP + bottom) / 2
    words += [
        element("text", chart.x, x=f"{(left + right) / 2:.1f}", y=HEIGHT - 5, class_="m a"),
        element("text", chart.y, transform=f"translate(11 {middle:g}) rotate(-90)", class_="m a"),
    ]
    lines = [element("path", d=grid, class_="g"), element("path", d=f"{ticks}M{left:.1f} {bottom}H{right}", class_="x")]
    if chart.at_x is not None:
        lines.append(element("path", d=f"M{x(chart.at_x):.1f} {_TOP}V{bottom}", class_="r"))
    return join([*lines, *words])


def _series(series: Series, x: Axis, y: Axis) -> Html:
    places = [(x(a), y(b)) for a, b in series.points if a == a and b == b]
    parts = []
    if series.line and len(places) > 1:
        parts.append(
            element(
                "path", d="M" + "L".join(f"{a:.1f} {b:.1f}" for a, b in thinned(places)), class_=_classes("l", series)
            )
        )
    bars = "".join(
        f"M{x(a):.1f} {y(b - error):.1f}V{y(b + error):.1f}"
        for (a, b), error in zip(series.points, series.errors)
        if error
    )
    if bars:
        parts.append(element("path", d=bars, class_=_classes("b", series)))
    shape, titles = _MARKS[series.mark % SHAPES], series.titles
    for i in _marked(series, len(places)):
        a, b = places[i]
        title = [element("title", titles[i])] if i < len(titles) else []
        parts.append(element("path", *title, d=shape, transform=f"translate({a:.1f} {b:.1f})", class_=_mark(series)))
    return element("g", element("title", series.title or series.name), parts) if series.line else join(parts)


def _marked(series: Series, count: int) -> Iterable[int]:
    """Choose the points that carry a mark: all; on long lines a few, at places of its own; none on nameless lines."""
    if series.line and not series.legend:
        return ()
    if not series.line or count <= _MARKED:
        return range(count)
    shift = (series.mark % SHAPES + 1) / (SHAPES + 1)
    return [min(count - 1, round((i + shift) * count / _SPARSE)) for i in range(_SPARSE)]


def thinned(points: Sequence[tuple[float, float]], most: int = _MOST_POINTS) -> Sequence[tuple[float, float]]:
    """At most so many of the points, evenly spread, the first and the last among them."""
    if len(points) <= most:
        return points
    return [points[round(i * (len(points) - 1) / (most - 1))] for i in range(most)]


def _classes(kind: str, series: Series) -> str:
    return f"{kind} s{series.colour % COLOURS}" + (" d" if series.dashed and kind == "l" else "")


def _mark(series: Series) -> str:
    return _classes("k", series) + (" h" if series.hollow else "")
