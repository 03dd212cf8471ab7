"""The figure of a protocol: what its panels show, and texts of ticks that do not overlap."""

from itertools import pairwise

import pytest

from zerosnet.errors import InputError
from zerosnet.report import attack_figure, save_figure
from zerosnet.robustness import ProtocolResult, ResultRow


def row(method, accuracy, eps=None, label=None, **settings):
    return ResultRow(label or method, method, accuracy, round(100 * accuracy), 100, eps=eps, settings=settings)


def attacked(*radii, method="pgd-20"):
    return ProtocolResult("pgd-whitebox", (row("clean", 0.9), *(row(method, 0.5, eps) for eps in radii)))


def smoothed(sigma=0.25):
    rows = [row("certified", 0.8 - step / 25, step * sigma / 5, sigma=sigma) for step in range(17)]
    return ProtocolResult("smoothing", (row("clean", 0.9), *rows, row("abstained", 0.125, sigma=sigma)))


def corrupted(*names):
    rows = [row("corruption", 0.8 - s / 10, corruption=name, severity=s) for name in names for s in range(1, 6)]
    return ProtocolResult("corruptions", (row("clean", 0.9), *rows))


def panels(results):
    return [axes for axes in attack_figure(results).axes if axes.get_visible()]


def ticks(axes):
    return [tick.get_text() for tick in axes.get_xticklabels()]


def have_gaps(axes, figure):
    figure.canvas.draw()
    boxes = [tick.get_window_extent() for tick in axes.get_xticklabels() if tick.get_text()]
    return all(left.x1 < right.x0 for left, right in pairwise(boxes))


def test_every_attack_has_a_panel_with_a_line_per_run():
    rows = tuple(row(name, left, 8 / 255) for name, left in (("fgsm", 0.5), ("pgd-20", 0.4), ("random signs", 0.8)))
    result = ProtocolResult("pgd-whitebox", (row("clean", 0.9), *rows))
    shown = panels({"a": result, "b": result})
    assert [axes.get_title(loc="left") for axes in shown] == ["fgsm", "pgd-20"]
    assert [list(line.get_ydata()) for line in shown[0].lines] == [[90, 50], [90, 50]]


def test_radii_that_are_fractions_of_255_are_written_in_that_unit():
    (axes,) = panels({"a": attacked(0.25 / 255, 8 / 255)})
    assert ticks(axes) == ["0", "0.25", "8"] and axes.get_xlabel() == "eps in 1/255, evenly spaced"


def test_other_radii_are_written_as_decimals():
    (axes,) = panels({"a": attacked(1e-9, 8 / 255)})
    assert ticks(axes) == ["0", "1e-09", "0.0314"] and axes.get_xlabel() == "eps, evenly spaced"


@pytest.mark.parametrize("radii", [(0.25, 0.5, 1, 2, 3, 5, 8), tuple(k / 1000 for k in range(1, 41))])
def test_texts_of_ticks_do_not_overlap(radii):
    result = attacked(*(eps / 255 for eps in radii))
    figure = attack_figure({"a": ProtocolResult("p", (*result.rows, *attacked(0.1, method="fgsm").rows[1:]))})
    assert all(have_gaps(axes, figure) for axes in figure.axes)


def test_a_run_without_a_radius_of_another_has_its_points_at_the_right_places():
    (axes,) = panels({"a": attacked(1 / 255, 8 / 255), "b": attacked(8 / 255)})
    assert [list(line.get_xdata()) for line in axes.lines] == [[0, 1, 2], [0, 2]]


def test_smoothing_is_certified_accuracy_over_the_l2_radius():
    figure = attack_figure({"a": smoothed(), "b": smoothed(0.5)})
    (axes,) = figure.axes
    assert axes.get_title(loc="left") == "certified accuracy" and axes.get_xlabel() == "L2 radius"
    assert [max(line.get_xdata()) for line in axes.lines] == pytest.approx([0.8, 1.6])
    assert have_gaps(axes, figure)


def test_the_legend_of_smoothing_has_sigma_and_abstentions():
    (legend,) = attack_figure({"a": smoothed(0.5)}).legends
    assert [text.get_text() for text in legend.get_texts()] == ["a, sigma 0.5, abstains on 12.5 %"]


def test_every_corruption_has_a_small_panel_from_clean_to_the_fifth_severity():
    shown = panels({"a": corrupted("fog", "glass_blur", "snow")})
    assert [axes.get_title(loc="left") for axes in shown] == ["fog", "glass blur", "snow"]
    assert list(shown[1].lines[0].get_xdata()) == [0, 1, 2, 3, 4, 5]
    assert list(shown[1].lines[0].get_ydata()) == pytest.approx([90, 70, 60, 50, 40, 30])


def test_noises_share_a_panel():
    rows = (row("clean", 0.9), row("noise", 0.7, label="Gaussian 0.01"), row("noise", 0.6, label="Gaussian 0.02"))
    (axes,) = panels({"a": ProtocolResult("paper-noise", rows)})
    assert ticks(axes) == ["Gaussian 0.01", "Gaussian 0.02"]


def test_a_run_that_was_not_measured_is_left_out():
    (axes,) = panels({"a": smoothed(), "b": ProtocolResult("smoothing", not_run="no files")})
    assert len(axes.lines) == 1


def test_nothing_measured_is_no_figure():
    with pytest.raises(InputError, match="results has nothing that was measured"):
        attack_figure({"a": ProtocolResult("corruptions", not_run="no files")})


def test_a_figure_of_all_corruptions_is_written(tmp_path):
    save_figure(attack_figure({"a": corrupted(*(f"corruption_{k}" for k in range(19)))}), tmp_path / "a.png")
    assert (tmp_path / "a.png").stat().st_size > 10_000
