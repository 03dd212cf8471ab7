"""Figures of robustness show every network they are given."""

from zerosnet.experiments import NOISES, NoisyNetwork
from zerosnet.report import noise_figure, noise_law_figure


def made_up() -> list[NoisyNetwork]:
    found = []
    for k in range(8):
        size = 3.0 * 1.7**k
        noisy = dict.fromkeys(NOISES, 100 - 50 * size ** (-0.2))
        found.append(NoisyNetwork("1;1", k % 3 == 0, 5.0 + k, size, 100 - 30 * size**-0.3, noisy, 1))
    return found


def test_every_network_is_a_point_on_its_side_of_the_root_condition():
    depth, clean = noise_figure(made_up()).axes
    for axes in (depth, clean):
        assert [len(line.get_xdata()) for line in axes.lines] == [3, 5]
    assert [text.get_text() for text in depth.get_legend().get_texts()] == ["zero-stable", "not zero-stable"]


def test_predictions_of_an_exact_law_lie_on_the_diagonal_and_those_of_the_roots_do_not():
    law, roots = noise_law_figure(made_up()).axes
    points = [line for line in law.lines if len(line.get_xdata()) == 8]
    assert len(points) == len(NOISES)
    assert max(abs(x - y) for line in points for x, y in zip(line.get_xdata(), line.get_ydata())) < 1e-6
    assert max(abs(x - y) for x, y in zip(roots.lines[0].get_xdata(), roots.lines[0].get_ydata())) > 3
