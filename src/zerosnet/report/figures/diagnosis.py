"""The figure of a diagnosis: what every block of a network adds, and how disturbances grow through it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from zerosnet.report.figures.style import AMBER, BLUE, GREY, PALE, VERMILION, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from zerosnet.models import Diagnosis

# rounding of the types that a state could be kept in: what a block adds below it is lost
_ROUNDINGS = {"bf16": 2.0**-9, "fp32": 2.0**-24}
_LEAST_DECADES = 3


def diagnosis_figure(diagnosis: "Diagnosis") -> "Figure":
    """State and residual, their ratio, growth forwards and backwards, and (given labels) accuracy with f off."""
    panels = [_sizes, _ratio, _growth, *([_accuracy] if diagnosis.accuracy is not None else [])]
    rows, columns = (1, 3) if len(panels) == 3 else (2, 2)
    with styled():
        figure = new_figure(4.3 * columns, 3.8 * rows + 0.6)
        for axes, panel in zip(figure.subplots(rows, columns, squeeze=False).flat, panels):
            panel(axes, diagnosis)
            furnish(axes, [block.stage for block in diagnosis.blocks])
        scheme = f"{diagnosis.scheme}, " if diagnosis.scheme is not None else ""
        figure.suptitle(
            f"{diagnosis.model}: {scheme}{diagnosis.verdict}\n"
            f"effective depth {_depth(diagnosis)} of {len(diagnosis.blocks)} blocks "
            f"({diagnosis.images} images, {diagnosis.statistics} statistics)",
            fontsize=10,
        )
    return figure


def _depth(diagnosis: "Diagnosis") -> str:
    depth = diagnosis.effective_depth
    predicted = "" if depth.predicted is None else f"{depth.predicted:.1f} predicted, "
    return f"{predicted}{depth.measured:.1f} measured,"


def _sizes(axes: "Axes", diagnosis: "Diagnosis") -> None:
    blocks = diagnosis.blocks
    draw_curve(axes, [b.state_rms for b in blocks], BLUE, r"state, rms $y_{n+1}$", marker="o")
    draw_curve(axes, [b.residual_rms for b in blocks], VERMILION, r"added, rms $\beta f(y_n)$", marker="s")
    axes.set_yscale("log")
    axes.set_title("State, and what a block adds to it")


def _ratio(axes: "Axes", diagnosis: "Diagnosis") -> None:
    ratios = [b.ratio for b in diagnosis.blocks]
    draw_curve(axes, ratios, VERMILION, r"rms $\beta f(y_n)$ / rms $y_{n+1}$", marker="s")
    predicted = [b.predicted_share for b in diagnosis.blocks if b.predicted_share is not None]
    if predicted:
        draw_curve(axes, predicted, GREY, "predicted at initialisation", linestyle="--")
    lowest = min((r for r in ratios if r > 0), default=1.0)
    for name, rounding in _ROUNDINGS.items():
        if rounding > lowest / 30:
            axes.axhline(rounding, color=GREY, linewidth=0.8, linestyle=":")
            axes.annotate(
                f"rounding of {name}",
                (0.99, rounding),
                (0, 2),
                xycoords=("axes fraction", "data"),
                textcoords="offset points",
                ha="right",
                fontsize=7.5,
                color=GREY,
            )
    axes.set_yscale("log")
    axes.set_title("Share of each block in the next state")


def _growth(axes: "Axes", diagnosis: "Diagnosis") -> None:
    blocks = diagnosis.blocks
    draw_curve(axes, [b.forward_growth for b in blocks], BLUE, r"disturbance: $y_{n+1}$ over $y_0$", marker="o")
    draw_curve(axes, [b.forward_envelope for b in blocks], BLUE, "envelope of the scheme", linestyle="--")
    draw_curve(axes, [b.backward_growth for b in blocks], AMBER, r"gradient: $y_{n+1}$ over $y_N$", marker="^")
    draw_curve(axes, [b.backward_envelope for b in blocks], AMBER, "envelope of the scheme", linestyle=":")
    axes.set_yscale("log")
    axes.set_title("Growth, forwards and backwards")


def _accuracy(axes: "Axes", diagnosis: "Diagnosis") -> None:
    values = [100 * b.accuracy_without for b in diagnosis.blocks if b.accuracy_without is not None]
    axes.plot(range(len(values)), values, color=BLUE, marker="o", markersize=3, linewidth=1.2, label="f off from n on")
    axes.axhline(100 * (diagnosis.accuracy or 0), color=GREY, linewidth=0.9, linestyle="--", label="whole network")
    axes.set_ylim(0, 104)
    axes.set_title("Accuracy (%) with f switched off from block n on")


def draw_curve(
    axes: "Axes", values: Sequence[float], colour: str, label: str, marker: str = "", linestyle: str = "-"
) -> None:
    """Draw a number per block, on the axis as it is."""
    axes.plot(
        range(len(values)),
        values,
        color=colour,
        label=label,
        marker=marker,
        markersize=3,
        linestyle=linestyle,
        linewidth=1.2,
    )


def furnish(axes: "Axes", stages: Sequence[int]) -> None:
    """Draw stage boundaries and legend; small ranges of a logarithmic axis get a wider one."""
    for n in (n for n in range(1, len(stages)) if stages[n] != stages[n - 1]):
        axes.axvline(n - 0.5, color=PALE, linewidth=1, zorder=0)
    if axes.get_yscale() == "log":
        low, high = axes.get_ylim()
        middle, reach = (low * high) ** 0.5, 10 ** (_LEAST_DECADES / 2)
        axes.set_ylim(min(low, middle / reach), max(high, middle * reach))
    axes.set_xlabel("block n")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.18), ncols=2, frameon=False)
