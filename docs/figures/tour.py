"""The pictures of the tour: a scheme, a forecast, a diagnosis; and how fast training is."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

from effective_depth import diagnosis

from zerosnet.numerics import Scheme, forecast
from zerosnet.report import diagnosis_figure, forecast_figure, scheme_figure
from zerosnet.report.figures.style import BLUE, GREY, VERMILION, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"


def tour_scheme_figure() -> "Figure":
    """Draw what `zerosnet analyze "1,1,1;1" --plot` draws."""
    return scheme_figure(Scheme.parse("1,1,1;1"))


def tour_forecast_figure() -> "Figure":
    """Draw what `zerosnet predict "1,1,1;1" --plot` draws."""
    return forecast_figure(forecast("1,1,1;1", 56))


def tour_diagnosis_figure() -> "Figure":
    """Draw what `zerosnet diagnose zerosnet20 --scheme "1,1,1;1" --plot` draws."""
    return diagnosis_figure(diagnosis("1,1,1;1", "zerosnet20"))


def speed_figure() -> "Figure":
    """Draw seconds per epoch and network on one H200: the authors' way, plain PyTorch, our kernels."""
    record, plain = (
        json.loads((RESULTS / f"training-cuda{engine}.json").read_text(encoding="utf-8")) for engine in ("", "-torch")
    )
    bars = [("the authors' way, 1 network", record["authors"]["seconds_per_epoch"], GREY)]
    engines = (("torch", plain, "plain PyTorch", VERMILION), ("native", record, "our kernels", BLUE))
    for kernels, measured, word, colour in engines:
        rows = [row for row in measured["rows"] if (row["kernels"], row["layers"]) == (kernels, 56)]
        for row in sorted(rows, key=lambda row: row["replicas"]):
            name = f"{word}, {row['replicas']} network{'s fused' if row['replicas'] > 1 else ''}"
            bars.append((name, row["seconds_per_epoch_and_network"], colour))
    with styled():
        figure = new_figure(7.5, 0.36 * len(bars) + 0.9)
        axes = figure.subplots()
        names, seconds, colours = zip(*reversed(bars), strict=True)
        axes.barh(names, seconds, color=colours, height=0.65)
        for place, value in enumerate(seconds):
            axes.annotate(f" {value:.2f}", (value, place), va="center", fontsize=8)
        axes.set_xscale("log")
        axes.set_xlim(0.1, 40)
        axes.set_xlabel("seconds per epoch and network, 56 layers, one H200 (logarithmic)")
    return figure
