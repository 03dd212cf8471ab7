"""Curves of the runs: test error over the epochs, accuracy over the level of a noise or the radius of an attack."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from zerosnet.files import is_number
from zerosnet.report.page.chart import Chart, Series
from zerosnet.report.page.configurations import Configuration, Panel, as_series
from zerosnet.robustness import ProtocolResult as Attack
from zerosnet.robustness import ResultRow

Points = list[tuple[float, float]]
_LEAST_ERROR = 0.01  # per cent; a logarithmic axis has no zero
NOISES = {"uniform": "Uniform noise", "normal": "Gaussian noise", None: "Constant noise"}
_LEVELS = {
    "uniform": "bound of the interval that is not 0",
    "normal": "standard deviation",
    None: "value added to every pixel",
}


def training_chart(panel: Panel) -> Chart | None:
    """Test error over the epochs, the mean over the seeds."""
    lines = [_mean(_errors(run.metrics) for run in one.runs) for one in panel.members]
    return _chart(panel, lines, panel.title, "epoch", "test error (%)", "Test error over epochs", log_y=True)


def noise_charts(panel: Panel, name: str = "paper-noise") -> list[Chart]:
    """Accuracy over the level, one chart for each kind of noise."""
    charts = []
    for kind, title in NOISES.items():
        lines = [_levels(one, name, partial(noise_level, kind=kind)) for one in panel.members]
        chart = _chart(panel, lines, title, _LEVELS[kind], "accuracy (%)", f"Accuracy under {title.lower()}")
        charts.append(chart)
    return [chart for chart in charts if chart is not None]


def attack_charts(panel: Panel, name: str) -> list[Chart]:
    """Accuracy over eps, one chart for each method of a protocol that has more than one eps."""
    methods = {
        (row.method, row.images): row.access
        for attack in _attacks(panel, name)
        for row in attack.rows
        if row.access and row.eps
    }
    charts = []
    for (method, images), access in methods.items():
        lines = [_levels(one, name, partial(_eps, method=method, images=images)) for one in panel.members]
        if max((len(line) for line in lines), default=0) < 3:
            continue
        title = f"{method} ({access}), {images:,} images"
        chart = _chart(panel, lines, title, "eps, images in [0, 1]", "accuracy (%)", f"Accuracy under {method}")
        charts.append(chart)
    return [chart for chart in charts if chart is not None]


def depth_charts(panel: Panel) -> list[Chart]:
    """Draw what every block adds to the state, and the accuracy with only the first n blocks switched on."""
    found = [[run.ablation for run in one.runs if run.ablation is not None] for one in panel.members]
    off = [_mean(_percentages(ablation.curve) for ablation in each) for each in found]
    share = [_mean([(n, r) for n, r in enumerate(a.ratios) if r] for a in each) for each in found]
    accuracy = _chart(
        panel,
        off,
        "f switched off from block n on",
        "block n; at the right end all are on",
        "accuracy (%)",
        "Accuracy without the blocks from n on",
    )
    ratio = _chart(
        panel, share, "What a block adds to the state", "block n", "rms(β f) / rms(y)", "Share of a block", log_y=True
    )
    return [chart for chart in (accuracy, ratio) if chart is not None]


def _percentages(fractions: Iterable[float]) -> Points:
    return [(n, 100 * fraction) for n, fraction in enumerate(fractions)]


def noise_level(row: ResultRow, kind: str | None) -> float | None:
    """The place of a row on the axis of a kind of noise: signed, and 0 for no noise; None for other kinds."""
    if row.method == "clean":
        return 0.0
    settings: dict[str, Any] = row.settings
    if row.method != "noise" or settings.get("field", "") != kind:
        return None
    shift, scale = settings.get("shift", 0.0), settings.get("scale", 0.0)
    if not is_number(shift) or not is_number(scale):
        return None
    return float({"uniform": shift if shift < 0 else shift + scale, "normal": scale, None: shift}[kind])


def _eps(row: ResultRow, method: str, images: int) -> float | None:
    if row.images != images:
        return None
    if row.method == "clean":
        return 0.0
    return float(row.eps) if row.method == method and row.eps is not None else None


def _attacks(panel: Panel, name: str) -> list[Attack]:
    return [run.attacks[name] for one in panel.members for run in one.runs if name in run.attacks]


def _levels(one: Configuration, name: str, level: Callable[[ResultRow], float | None]) -> Points:
    each = []
    for run in one.runs:
        rows = run.attacks[name].rows if name in run.attacks else ()
        each.append([(x, 100 * row.accuracy) for row in rows if (x := level(row)) is not None])
    points = _mean(each)
    return points if len(points) > 1 else []


def _errors(metrics: Iterable[dict[str, Any]]) -> Points:
    return [
        (row["epoch"], max(_LEAST_ERROR, 100 * (1 - row["test_accuracy"]))) for row in metrics if "test_accuracy" in row
    ]


def _mean(lines: Iterable[Points]) -> Points:
    """The mean of several curves at every x that at least one of them has."""
    values: dict[float, list[float]] = defaultdict(list)
    for line in lines:
        for x, y in line:
            values[x].append(y)
    return [(x, sum(ys) / len(ys)) for x, ys in sorted(values.items())]


def _chart(
    panel: Panel, lines: Sequence[Points], title: str, x: str, y: str, what: str, *, log_y: bool = False
) -> Chart | None:
    series = as_series(panel, lines)
    return Chart(title, x, y, series, _described(what, series), log_y=log_y) if series else None


def _described(what: str, series: Sequence[Series]) -> str:
    """A text for those who do not see the curves: first and last value of each."""
    ends = (f"{one.name}: {one.points[0][1]:.3g} to {one.points[-1][1]:.3g}" for one in series[:12])
    more = f"; and {len(series) - 12} more" if len(series) > 12 else ""
    return f"{what}, first to last value. {'; '.join(ends)}{more}."
