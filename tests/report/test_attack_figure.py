"""The figure of a robustness protocol."""

from zerosnet.report import attack_figure
from zerosnet.robustness import ProtocolResult, ResultRow


def row(method, accuracy, eps=None, label=None):
    return ResultRow(label or method, method, accuracy, round(100 * accuracy), 100, eps=eps)


def test_every_attack_has_a_panel_with_a_line_per_run():
    rows = (
        row("clean", 0.9),
        row("fgsm", 0.5, 8 / 255),
        row("pgd-20", 0.4, 8 / 255),
        row("random signs", 0.8, 8 / 255),
    )
    figure = attack_figure({"a": ProtocolResult("pgd-whitebox", rows), "b": ProtocolResult("pgd-whitebox", rows)})
    panels = [axes for axes in figure.axes if axes.get_visible()]
    assert [axes.get_title(loc="left") for axes in panels] == ["fgsm", "pgd-20"]
    assert [tick.get_text() for tick in panels[0].get_xticklabels()] == ["0", "8/255"]
    assert [list(line.get_ydata()) for line in panels[0].lines] == [[90, 50], [90, 50]]


def test_noises_share_a_panel():
    rows = (row("clean", 0.9), row("noise", 0.7, label="Gaussian 0.01"), row("noise", 0.6, label="Gaussian 0.02"))
    (panel,) = attack_figure({"a": ProtocolResult("paper-noise", rows)}).axes
    assert [tick.get_text() for tick in panel.get_xticklabels()] == ["Gaussian 0.01", "Gaussian 0.02"]
