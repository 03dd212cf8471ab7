"""Charts are small, sound SVG: what is drawn lies inside, is described in words, and differs without colour."""

import re
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zerosnet.report.page.axes import Axis, linear_ticks, tick_text
from zerosnet.report.page.chart import HEIGHT, WIDTH, Chart, Series, figure, figures, legend, svg, thinned

numbers = st.floats(-1e9, 1e9, allow_nan=False)


def chart(*series, **options):
    return Chart("A title", "x", "y", series, "In words", **options)


def marks(drawing: str) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in re.findall(r"translate\(([-\d.]+) ([-\d.]+)\)\"", drawing)]


@given(st.lists(st.tuples(numbers, numbers), min_size=1, max_size=12))
def test_every_point_lies_inside_and_the_drawing_is_well_formed(points):
    drawing = svg(chart(Series("a", points, line=False)))
    ElementTree.fromstring(drawing)
    assert len(marks(drawing)) == len(points)
    assert all(0 <= x <= WIDTH and 0 <= y <= HEIGHT for x, y in marks(drawing))


@given(st.floats(1e-12, 1e12), st.floats(1e-12, 1e12))
def test_a_logarithmic_scale_keeps_order_and_has_ticks(a, b):
    scale = Axis.around([a, b], 0, 100, log=True)
    assert (scale(a) < scale(b)) == (a < b) or abs(scale(a) - scale(b)) < 1e-6
    assert len(scale.ticks) >= 1
    assert all(scale.low <= t * (1 + 1e-9) and t <= scale.high * (1 + 1e-9) for t in scale.ticks)


@given(numbers, st.floats(1e-3, 1e6))
def test_ticks_are_few_and_inside(low, width):
    ticks = linear_ticks(low, low + width)
    assert 2 <= len(ticks) <= 7
    assert all(low - 1e-6 * width - 1e-6 <= t <= low + width * (1 + 1e-6) + 1e-6 for t in ticks)


@pytest.mark.parametrize("value, shown", [(0, "0"), (0.04, "0.04"), (-3, "−3"), (1e-7, "1e−7"), (100000, "1e5")])
def test_tick_text_is_short(value, shown):
    assert tick_text(value) == shown


def test_a_single_value_and_no_value_have_scales():
    assert Axis.around([5.0], 0, 1)(5.0) == pytest.approx(0.5)
    assert Axis.around([], 0, 1).ticks
    assert Axis.around([float("nan"), -1.0], 0, 1, log=True).ticks


def test_a_reader_without_the_picture_hears_title_and_description():
    root = ElementTree.fromstring(svg(chart(Series("a", [(0, 1), (1, 2)]))))
    assert root.get("role") == "img"
    assert root.get("aria-label") == "A title. In words"
    assert [found.text for found in root.findall("g/title")] == ["a"], "for those who point at the line"


def test_series_differ_by_mark_and_dash_and_not_only_by_colour():
    one, two = (svg(chart(Series("a", [(0, 1), (1, 2)], mark=m, dashed=d))) for m, d in ((0, False), (1, True)))
    assert re.findall(r'd="(M[^"]*z)"', one) != re.findall(r'd="(M[^"]*z)"', two)
    assert 'class="l s0 d"' in two and 'class="l s0 d"' not in one


def test_long_lines_are_thinned_and_keep_their_ends():
    points = [(float(i), float(i)) for i in range(1000)]
    kept = thinned(points, 50)
    assert len(kept) == 50 and kept[0] == points[0] and kept[-1] == points[-1]
    assert len(svg(chart(Series("a", points)))) < 4000


def test_names_are_escaped_in_legend_title_and_description():
    evil = "<script>alert(1)</script>"
    drawn = figure(Chart(evil, evil, evil, [Series(evil, [(0, 1)], titles=[evil])], evil))
    assert "<script" not in drawn


def test_a_legend_names_each_series_once_and_by_group():
    both = [Series("a", [(0, 1)], group="stable"), Series("b", [(0, 1)], group="not"), Series("c", [], legend=False)]
    assert legend(both).count("<li>") == 4
    assert legend([both[2]]) is None
    assert figures([chart(*both), chart(*both)]).count(">a</li>") == 1
