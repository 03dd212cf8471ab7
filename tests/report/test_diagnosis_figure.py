"""The figure of a diagnosis says what the diagnosis says."""

import pytest
import torch

from zerosnet.models import create_model, diagnose
from zerosnet.report import diagnosis_figure, save_figure


@pytest.fixture(scope="module")
def unstable():
    return diagnose(create_model("zerosnet56", scheme="zerosnet(-1/5)", seed=0), torch.randn(2, 3, 16, 16))


def test_curves_hold_the_measured_numbers(unstable):
    sizes, ratio, growth = diagnosis_figure(unstable).axes
    assert list(sizes.lines[0].get_ydata()) == [block.state_rms for block in unstable.blocks]
    assert list(ratio.lines[0].get_ydata()) == [block.ratio for block in unstable.blocks]
    assert list(ratio.lines[1].get_ydata()) == [block.predicted_share for block in unstable.blocks]
    assert list(growth.lines[2].get_ydata()) == [block.backward_growth for block in unstable.blocks]
    assert {text.get_text() for text in ratio.texts} == {"rounding of bf16", "rounding of fp32"}


def test_labels_add_a_panel_of_accuracies():
    model = create_model("preresnet20", seed=0)
    found = diagnose(model, torch.randn(4, 3, 16, 16), torch.arange(4))
    *_, accuracy = diagnosis_figure(found).axes
    assert list(accuracy.lines[0].get_ydata()) == [100 * block.accuracy_without for block in found.blocks]


def test_figures_can_be_written(tmp_path, unstable):
    path = save_figure(diagnosis_figure(unstable), tmp_path / "figure.png")
    assert path.read_bytes().startswith(b"\x89PNG")


def test_legends_stand_below_the_panels_and_cover_no_curve(unstable):
    figure = diagnosis_figure(unstable)
    figure.canvas.draw()
    for axes in figure.axes:
        assert axes.get_legend().get_window_extent().y1 < axes.get_window_extent().y0
