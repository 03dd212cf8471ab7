"""Figures show what was computed: checked on the artists, without looking at pixels."""

import subprocess
import sys

import numpy as np
import pytest
import torch

from zerosnet.experiments import NOISES, NoisyNetwork
from zerosnet.models import create_model, diagnose
from zerosnet.numerics import FAMILIES, PAPER_ROWS, Scheme, analyze, design, envelope, family, forecast, real_interval
from zerosnet.report import (
    design_figure,
    diagnosis_figure,
    family_figure,
    noise_figure,
    noise_law_figure,
    paper_figure,
    save_figure,
    scheme_figure,
    schemes_figure,
    stability_concepts_figure,
)
from zerosnet.report.figures.panels import draw_region, draw_roots, region_window
from zerosnet.report.figures.style import new_figure


def lines_of(axes) -> dict[str, np.ndarray]:
    return {line.get_label(): np.column_stack(line.get_data()) for line in axes.get_lines()}


def test_roots_are_drawn_where_they_are():
    verdict = analyze(Scheme.parse("zerosnet(-1/2)")).verdict
    axes = new_figure(3, 3).subplots()
    draw_roots(axes, verdict)
    lines = lines_of(axes)
    assert lines["principal root 1"].tolist() == [[1, 0]]
    assert lines["outside"][0] == pytest.approx([-1.8828, 0], abs=1e-4)
    assert lines["inside"][0] == pytest.approx([0.1328, 0], abs=1e-4)


def test_kinds_of_roots_differ_without_colour():
    axes = new_figure(3, 3).subplots()
    draw_roots(axes, analyze(Scheme.parse("from-roots(2, -1, 1/2)")).verdict)
    markers = [line.get_marker() for line in axes.get_lines() if line.get_linestyle() == "None"]
    assert len(markers) == len(set(markers)) == 4


def test_a_double_root_is_labelled():
    axes = new_figure(3, 3).subplots()
    draw_roots(axes, analyze(Scheme.parse("zerosnet(-9/5)")).verdict)
    assert [text.get_text() for text in axes.texts] == ["×2"]


def test_region_marks_the_real_interval():
    axes = new_figure(3, 3).subplots()
    scheme = Scheme.parse("ab3")
    draw_region(axes, scheme)
    marked = [line.get_xdata()[0] for line in axes.get_lines() if line.get_linewidth() == 2.5]
    assert marked[0] == pytest.approx(-float(real_interval(scheme)))


@pytest.mark.parametrize("text", ["euler", "zerosnet(-9/5)", "ab3", "ab8", "zerosnet(10)", "leapfrog", "1;1,1"])
def test_window_holds_the_origin_and_the_real_interval(text):
    scheme = Scheme.parse(text)
    (left, right), (bottom, top) = region_window(scheme)
    assert left <= -float(real_interval(scheme)) and right >= 0
    assert bottom < 0 < top == -bottom


def test_scheme_figure_has_roots_region_and_envelope():
    scheme = Scheme.parse("zerosnet(1/2)")
    figure = scheme_figure(scheme)
    assert len(figure.axes) == 3
    drawn = figure.axes[2].get_lines()[0].get_ydata()
    assert 10**drawn == pytest.approx(envelope(scheme))
    assert "order 2" in figure.get_suptitle()


@pytest.mark.parametrize("text", ["1e300;1", "0;1", "0,0;0", "1,0,0,0,0,0,0,-1;1", "2,-1;1", "0.5,0.25;1,1,1,1"])
def test_odd_schemes_can_be_drawn(tmp_path, text):
    assert save_figure(scheme_figure(Scheme.parse(text)), tmp_path / "odd.png").stat().st_size > 10_000


@pytest.mark.parametrize("name", FAMILIES)
def test_every_family_can_be_drawn(tmp_path, name):
    assert save_figure(family_figure(family(name)), tmp_path / "family.svg").stat().st_size > 5_000


def test_family_figure_shades_the_exact_stable_set():
    figure = family_figure(family("zerosnet"), "-9/5")
    moduli = figure.axes[0]
    edges = sorted(round(patch.get_x() + patch.get_width() * side, 9) for patch in moduli.patches for side in (0, 1))
    assert edges[1:3] == [-1.0, round(1 / 3, 9)]
    assert "(−∞, −1] ∪ (1/3, ∞)" in moduli.get_title(loc="left")
    assert len(figure.axes) == 3


def test_paper_figure_shows_all_rows():
    figure = paper_figure()
    titles = [axes.get_title() for axes in figure.axes]
    assert [title.split("\n")[0] for title in titles[:10]] == [row.label for row in PAPER_ROWS]
    assert sum("not zero-stable" in title for title in titles) == 4
    (key,) = figure.subfigs[0].legends
    assert [text.get_text() for text in key.get_texts()] == ["principal root 1", "inside", "outside"]


def test_concepts_are_three_panels_from_computations():
    figure = stability_concepts_figure()
    assert [axes.get_title(loc="left")[:3] for axes in figure.axes] == ["(a)", "(b)", "(c)"]
    lines = lines_of(figure.axes[0])
    exact, a_stable = lines["exact solution"], lines["A-stable, large step"]
    assert np.abs(np.interp(a_stable[:, 0], exact[:, 0], exact[:, 1]) - a_stable[:, 1]).max() < 0.3
    assert np.abs(lines["not A-stable, large step"][:, 1]).max() > 4


def test_design_figure_rings_the_chosen_one():
    best = design(3, 2)
    figure = design_figure(chosen=best)
    ring = [line for line in figure.axes[0].get_lines() if line.get_markersize() == 12]
    assert [tuple(line.get_xydata()[0]) for line in ring] == [(3, best.modulus)]


# -- noise ------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def noisy():
    """Networks whose accuracies follow an exact law of their effective parameters."""
    found = []
    for k in range(8):
        size = 3.0 * 1.7**k
        under = dict.fromkeys(NOISES, 100 - 50 * size ** (-0.2))
        found.append(NoisyNetwork("1;1", k % 3 == 0, 5.0 + k, size, 100 - 30 * size**-0.3, under, 1))
    return found


def test_every_network_is_a_point_on_its_side_of_the_root_condition(noisy):
    depth, clean = noise_figure(noisy).axes
    for axes in (depth, clean):
        assert [len(line.get_xdata()) for line in axes.lines] == [3, 5]
    assert [text.get_text() for text in depth.get_legend().get_texts()] == ["zero-stable", "not zero-stable"]


def test_predictions_of_an_exact_law_lie_on_the_diagonal_and_those_of_the_roots_do_not(noisy):
    law, roots = noise_law_figure(noisy).axes
    points = [line for line in law.lines if len(line.get_xdata()) == 8]
    assert len(points) == len(NOISES)
    assert max(abs(x - y) for line in points for x, y in zip(line.get_xdata(), line.get_ydata())) < 1e-6
    assert max(abs(x - y) for x, y in zip(roots.lines[0].get_xdata(), roots.lines[0].get_ydata())) > 3


# -- diagnoses ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("labels", [None, torch.arange(4)], ids=["without labels", "with labels"])
def test_curves_of_a_diagnosis_hold_the_measured_numbers_and_no_legend_covers_one(labels):
    network = create_model("zerosnet56", scheme="zerosnet(-1/5)", seed=0)
    found = diagnose(network, torch.randn(4, 3, 16, 16), labels)
    figure = diagnosis_figure(found)
    sizes, ratio, growth, *accuracy = figure.axes
    assert list(sizes.lines[0].get_ydata()) == [block.state_rms for block in found.blocks]
    assert list(ratio.lines[0].get_ydata()) == [block.ratio for block in found.blocks]
    assert list(ratio.lines[1].get_ydata()) == [block.predicted_share for block in found.blocks]
    assert list(growth.lines[2].get_ydata()) == [block.backward_growth for block in found.blocks]
    assert {text.get_text() for text in ratio.texts} == {"rounding of bf16", "rounding of fp32"}
    measured = [] if labels is None else [[100 * block.accuracy_without for block in found.blocks]]
    assert [list(axes.lines[0].get_ydata()) for axes in accuracy] == measured
    figure.canvas.draw()
    for axes in figure.axes:
        assert axes.get_legend().get_window_extent().y1 < axes.get_window_extent().y0


def test_figures_never_load_pyplot():
    code = (
        "import sys; from zerosnet.report import *; from zerosnet.numerics import Scheme;"
        "scheme_figure(Scheme.parse('euler')); print('matplotlib.pyplot' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "False"


def test_blocks_that_die_are_hollow_where_schemes_are_compared():
    stable, other = forecast("zerosnet(-9/5)"), forecast("1,1,1;1")
    _, shares = schemes_figure([stable, other]).axes
    dying = np.flatnonzero(~other.survivors)
    hollow = [line.get_xdata() for line in shares.get_lines() if line.get_markerfacecolor() == "white"]
    assert len(dying) and [list(x) for x in hollow] == [[], list(dying)]
    labels = [line.get_label() for line in shares.get_lines()]
    assert "dies in training" in labels
    assert any(f"{other.survivors_text} survive" in label for label in labels)
    alone = schemes_figure([stable]).axes[1]
    assert "dies in training" not in [line.get_label() for line in alone.get_lines()]
