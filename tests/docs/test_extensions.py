"""What makes the site: LaTeX as MathML, the public names of a room; and the figures."""

import importlib
import sys
from types import ModuleType

import pytest
from tests.docs.blocks import DOCS, load_file
from tests.measured_runs import needs_runs

import zerosnet.numerics

pytest.importorskip("mkdocs", reason="the extra docs is not installed")


def extension(name: str) -> ModuleType:
    return load_file(f"extensions/{name}.py")


def test_latex_becomes_mathml_with_signs_close_to_their_numbers() -> None:
    page = r'<p>so <span class="arithmatex">\(\lambda = -1/3 &lt; f\)</span></p>'
    found = extension("mathml").on_page_content(page)
    assert "<math" in found and r"\(" not in found
    assert 'form="prefix"' in found and "&#x0003C;" in found


def test_no_line_begins_with_a_percent_sign_but_code_stays_as_it_is() -> None:
    page = "<p>61 %, <!-- value: a -->2.0<!-- /value -->\n% of <code>5 %</code></p><pre>6 %\n</pre><p>7 %</p>"
    found = extension("spaces").on_page_content(page)
    assert "61&nbsp;%" in found and "/value -->&nbsp;%" in found and "7&nbsp;%" in found
    assert "<code>5 %</code>" in found and "<pre>6 %\n</pre>" in found


def test_the_reference_of_a_room_has_all_its_public_names_where_they_are_defined() -> None:
    places = extension("reference").places("zerosnet.numerics")
    assert sorted(place.rpartition(".")[2] for place in places) == sorted(zerosnet.numerics.__all__)
    for place in places:
        module, _, name = place.rpartition(".")
        assert hasattr(importlib.import_module(module), name), place


MEASURED = pytest.param("measured", marks=needs_runs)


@pytest.mark.parametrize("name", ["from_ode", "block", "root_condition", "lambda_family", MEASURED])
def test_figures_can_be_drawn(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(DOCS / "figures"))
    module = importlib.import_module(name)
    monkeypatch.delitem(sys.modules, name)
    figures = [v for key, v in vars(module).items() if key.endswith("_figure") and v.__module__ == name]
    assert figures and all(draw().axes for draw in figures)


@needs_runs
def test_curves_of_the_measured_figure_go_from_no_block_to_the_whole_network() -> None:
    lines = load_file("figures/measured.py").measured_figure().axes[2].lines
    assert len(lines) == 10
    assert {(line.get_xdata()[0], line.get_xdata()[-1]) for line in lines} == {(0, 27)}


@needs_runs
def test_every_network_that_was_predicted_before_training_has_a_ring_if_the_law_was_fitted_on_it_since() -> None:
    from tools.later_tables import by_package

    law = load_file("figures/law.py")
    predicted, _ = law.law_figure().axes
    rings = [
        line for line in predicted.lines if line.get_markersize() == law.RING["markersize"] and len(line.get_xdata())
    ]
    assert len(rings) == sum(one.learned for one in by_package()) > 30
