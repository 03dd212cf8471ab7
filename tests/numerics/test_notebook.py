"""What a notebook shows of values, and what they are made from."""

import matplotlib
import pytest
from matplotlib.figure import Figure

from zerosnet.errors import InputError
from zerosnet.models import create_model
from zerosnet.numerics import (
    Scheme,
    Wiring,
    analyze,
    design,
    facts,
    forecast,
    is_zero_stable,
    root_condition,
)
from zerosnet.training import RunSpec, recipe

TEXT = "zerosnet(-9/5)"
VALUES = {
    "scheme": lambda: Scheme(TEXT),
    "float scheme": lambda: Scheme([0.5, 0.5], [1.5]),
    "analysis": lambda: analyze(TEXT),
    "unstable analysis": lambda: analyze("1,1,1;1"),
    "forecast": lambda: forecast(TEXT),
    "forecast for other data": lambda: forecast(TEXT, dataset="digits"),
    "design": lambda: design(3, 2),
    "impossible design": lambda: design(4, 4),
    "design by depth": lambda: design(2, objective="depth", blocks=(3, 3, 3)),
}


@pytest.fixture(params=VALUES)
def value(request):
    return VALUES[request.param]()


def test_a_text_is_a_scheme_wherever_one_is_asked_for():
    scheme = Scheme.parse(TEXT)
    assert Scheme(TEXT) == Scheme("1/3,5/9,1/9;16/9") == Scheme(scheme) == scheme
    assert analyze(TEXT) == analyze(scheme) and facts(TEXT) == facts(scheme)
    assert root_condition(TEXT) == root_condition(scheme) and is_zero_stable(TEXT)
    assert forecast(TEXT) == forecast(scheme)
    assert Wiring.of(TEXT).effective_depth() == Wiring.of(scheme).effective_depth()
    assert create_model("zerosnet20", scheme=TEXT).config == create_model("zerosnet20", scheme=scheme).config
    quick = recipe("quick", "digits")
    assert RunSpec("zerosnet20", "digits", quick, 1, TEXT).id == RunSpec("zerosnet20", "digits", quick, 1, scheme).id


@pytest.mark.parametrize("wrong", [3, None, ["1"]])
def test_what_is_no_scheme_is_refused(wrong):
    with pytest.raises(InputError, match="scheme"):
        analyze(wrong)


def test_a_repr_is_one_short_line(value):
    assert len(repr(value)) <= 90 and "\n" not in repr(value)


def test_html_is_a_table_with_nothing_unescaped(value):
    shown = value._repr_html_()
    assert shown.startswith("<div>") and shown.endswith("</div>") and "<table>" in shown
    assert all(
        shown.count(f"<{tag}") == shown.count(f"</{tag}>") for tag in ("div", "table", "tr", "td", "th", "b", "p")
    )


def test_latex_is_the_recursion():
    assert Scheme("euler")._repr_latex_() == "$y_{n+1} = y_{n} + h f(y_{n})$"
    assert analyze(TEXT)._repr_latex_() == forecast(TEXT)._repr_latex_() == design(3, 2)._repr_latex_()


def test_plot_draws_into_axes_and_returns_them(value):
    axes = Figure().subplots()
    assert value.plot(axes) is axes
    assert axes.get_title(loc="left") and axes.has_data()


def test_blocks_that_die_are_pale_in_a_plot_and_counted_in_html():
    found = forecast("1,1,1;1")
    axes = found.plot(Figure().subplots())
    assert [bar.get_alpha() == 1 for bar in axes.patches] == found.survivors.tolist()
    assert not found.survivors.all() and found.survivors.any()
    assert f'<td style="text-align:left;vertical-align:top">{found.survivors_text}</td>' in found._repr_html_()
    keys = axes.get_legend()
    shown = {text.get_text(): key.get_alpha() for text, key in zip(keys.get_texts(), keys.legend_handles)}
    assert shown["dies in training"] < 1 and shown["share, stage 3"] is None  # although all of its blocks die


def test_every_part_of_a_good_scheme_is_within_its_plot():
    found = forecast(TEXT)
    low, high = found.plot(Figure().subplots()).get_ylim()
    assert low < min(found.parts) and max(found.shares) < high


def test_survivors_are_unknown_for_other_data_and_no_block_is_pale():
    found = forecast("1,1,1;1", dataset="digits")
    axes = found.plot(Figure().subplots())
    assert found.survivors_text == "unknown" and all(bar.get_alpha() == 1 for bar in axes.patches)
    assert "dies in training" not in [text.get_text() for text in axes.get_legend().get_texts()]


def test_plot_makes_a_figure_if_none_is_given():
    matplotlib.use("agg")
    from matplotlib import pyplot

    axes = forecast(TEXT).plot()
    assert axes.figure.number in pyplot.get_fignums()
    pyplot.close(axes.figure)


def test_a_prediction_and_a_wiring_are_short_too():
    prediction = forecast(TEXT).prediction
    assert repr(prediction) == f"Prediction({prediction})" and "%" in prediction._repr_html_()
    assert repr(Wiring.of(TEXT)) == "Wiring(9+9+9 blocks, streams: 3, exact: True)"
    assert "no accuracy" in repr(forecast(TEXT, dataset="digits").prediction)
