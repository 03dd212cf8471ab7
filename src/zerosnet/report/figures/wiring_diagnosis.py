"""The figure of the diagnosis of any network: sizes and shares of its blocks, gains, and how alike things are."""

from typing import TYPE_CHECKING

from zerosnet.report.figures.diagnosis import draw_curve, furnish
from zerosnet.report.figures.style import AMBER, BLUE, GREEN, GREY, VERMILION, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from zerosnet.models import WiringDiagnosis


def wiring_figure(diagnosis: "WiringDiagnosis") -> "Figure":
    """Draw state and branches, shares, gains forwards and backwards, and cosines, block by block."""
    depth = diagnosis.effective_depth
    streams = f", {diagnosis.wiring.streams} streams" if diagnosis.wiring.streams > 1 else ""
    with styled():
        figure = new_figure(8.6, 8.2)
        for axes, panel in zip(figure.subplots(2, 2).flat, (_sizes, _shares, _gains, _cosines)):
            panel(axes, diagnosis)
            furnish(axes, [block.stage for block in diagnosis.blocks])
        figure.suptitle(
            f"{diagnosis.model}{streams}: effective depth {depth.predicted:.1f} predicted, "
            f"{depth.measured:.1f} measured, of {len(diagnosis.blocks)} blocks\n"
            f"({diagnosis.examples} examples, {diagnosis.statistics} statistics)",
            fontsize=10,
        )
    return figure


def _sizes(axes: "Axes", diagnosis: "WiringDiagnosis") -> None:
    blocks = diagnosis.blocks
    draw_curve(axes, [b.state_rms for b in blocks], BLUE, "state, as it is read next", marker="o")
    draw_curve(axes, [b.branch_rms for b in blocks], VERMILION, "part of the branch in it", marker="s")
    axes.set_yscale("log")
    axes.set_title("State, and what a block adds to it (rms)")


def _shares(axes: "Axes", diagnosis: "WiringDiagnosis") -> None:
    blocks = diagnosis.blocks
    draw_curve(axes, [b.share for b in blocks], VERMILION, "measured", marker="s")
    draw_curve(axes, [b.predicted_share for b in blocks], GREY, "predicted", linestyle="--")
    axes.set_yscale("log")
    axes.set_title("Share of each block in the next state")


def _gains(axes: "Axes", diagnosis: "WiringDiagnosis") -> None:
    blocks = diagnosis.blocks
    draw_curve(axes, [b.forward_gain for b in blocks], BLUE, "disturbance, over the first state", marker="o")
    draw_curve(axes, [b.wiring_gain for b in blocks], BLUE, "bound without branches", linestyle="--")
    draw_curve(axes, [b.backward_gain for b in blocks], AMBER, "gradient, over the last state", marker="^")
    axes.set_yscale("log")
    axes.set_title("Gains, forwards and backwards")


def _cosines(axes: "Axes", diagnosis: "WiringDiagnosis") -> None:
    blocks = diagnosis.blocks
    draw_curve(axes, [b.cosine for b in blocks], GREEN, "cosine of branch and state", marker="D")
    draw_curve(axes, [b.influence for b in blocks], VERMILION, "block influence", marker="s")
    alike = [b.likeness for b in blocks if b.likeness is not None]
    if alike:
        draw_curve(axes, alike, BLUE, "cosine of two streams", marker="o")
    axes.set_ylim(-1.05, 1.05)
    axes.set_title("Direction: what is added, kept, alike")
