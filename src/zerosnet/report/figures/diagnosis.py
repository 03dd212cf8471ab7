"""Figures of diagnoses, block by block: what every block adds, and how disturbances grow through the network."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from zerosnet.report.figures.style import AMBER, BLUE, GREEN, GREY, PALE, VERMILION, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from zerosnet.models import Diagnosis, WiringDiagnosis

# rounding of the types that a state could be kept in: what a block adds below it is lost
_ROUNDINGS = {"bf16": 2.0**-9, "fp32": 2.0**-24}
_LEAST_DECADES = 3


Curve = tuple[str, str, str, str]
"""The field of a block, a colour, a name, and the look of the marks and of the line."""
_SHARES, _DIRECTIONS = "Share of each block in the next state", "Direction: what is added, kept, alike"
_SCHEME_PANELS: dict[str, tuple[Curve, ...]] = {
    "State, and what a block adds to it": (
        ("state_rms", BLUE, r"state, rms $y_{n+1}$", "o-"),
        ("residual_rms", VERMILION, r"added, rms $\beta f(y_n)$", "s-"),
    ),
    _SHARES: (
        ("ratio", VERMILION, r"rms $\beta f(y_n)$ / rms $y_{n+1}$", "s-"),
        ("predicted_share", GREY, "predicted at initialisation", "--"),
    ),
    "Growth, forwards and backwards": (
        ("forward_growth", BLUE, r"disturbance: $y_{n+1}$ over $y_0$", "o-"),
        ("forward_envelope", BLUE, "envelope of the scheme", "--"),
        ("backward_growth", AMBER, r"gradient: $y_{n+1}$ over $y_N$", "^-"),
        ("backward_envelope", AMBER, "envelope of the scheme", ":"),
    ),
}
_WIRING_PANELS: dict[str, tuple[Curve, ...]] = {
    "State, and what a block adds to it (rms)": (
        ("state_rms", BLUE, "state, as it is read next", "o-"),
        ("branch_rms", VERMILION, "part of the branch in it", "s-"),
    ),
    _SHARES: (("share", VERMILION, "measured", "s-"), ("predicted_share", GREY, "predicted", "--")),
    "Gains, forwards and backwards": (
        ("forward_gain", BLUE, "disturbance, over the first state", "o-"),
        ("wiring_gain", BLUE, "bound without branches", "--"),
        ("backward_gain", AMBER, "gradient, over the last state", "^-"),
    ),
    _DIRECTIONS: (
        ("cosine", GREEN, "cosine of branch and state", "D-"),
        ("influence", VERMILION, "block influence", "s-"),
        ("likeness", BLUE, "cosine of two streams", "o-"),
    ),
}


def diagnosis_figure(diagnosis: "Diagnosis") -> "Figure":
    """State and residual, their ratio, growth forwards and backwards, and (given labels) accuracy with f off."""
    blocks = diagnosis.blocks
    rows, columns = (1, 3) if diagnosis.accuracy is None else (2, 2)
    with styled():
        figure = new_figure(4.3 * columns, 3.8 * rows + 0.6)
        axes = list(figure.subplots(rows, columns, squeeze=False).flat)
        for one, (title, curves) in zip(axes, _SCHEME_PANELS.items()):
            _draw(one, title, curves, blocks)
        _draw_roundings(axes[1], min((block.ratio for block in blocks if block.ratio > 0), default=1.0))
        if diagnosis.accuracy is not None:
            _draw_accuracy(axes[3], diagnosis)
        for one in axes:
            _furnish(one, [block.stage for block in blocks])
        scheme = f"{diagnosis.scheme}, " if diagnosis.scheme is not None else ""
        depth = diagnosis.effective_depth
        predicted = "" if depth.predicted is None else f"{depth.predicted:.1f} predicted, "
        figure.suptitle(
            f"{diagnosis.model}: {scheme}{diagnosis.verdict}\n"
            f"effective depth {predicted}{depth.measured:.1f} measured, of {len(blocks)} blocks "
            f"({diagnosis.images} images, {diagnosis.statistics} statistics)",
            fontsize=10,
        )
    return figure


def wiring_figure(diagnosis: "WiringDiagnosis") -> "Figure":
    """Draw state and branches, shares, gains forwards and backwards, and cosines, block by block."""
    depth = diagnosis.effective_depth
    streams = f", {diagnosis.wiring.streams} streams" if diagnosis.wiring.streams > 1 else ""
    with styled():
        figure = new_figure(8.6, 8.2)
        for axes, (title, curves) in zip(figure.subplots(2, 2).flat, _WIRING_PANELS.items()):
            _draw(axes, title, curves, diagnosis.blocks)
            _furnish(axes, [block.stage for block in diagnosis.blocks])
        figure.suptitle(
            f"{diagnosis.model}{streams}: effective depth {depth.predicted:.1f} predicted, "
            f"{depth.measured:.1f} measured, of {len(diagnosis.blocks)} blocks\n"
            f"({diagnosis.examples} examples, {diagnosis.statistics} statistics)",
            fontsize=10,
        )
    return figure


def _draw(axes: "Axes", title: str, curves: Sequence[Curve], blocks: Sequence[Any]) -> None:
    """Draw the curves of a panel; one whose number is known for no block is left out."""
    for field, colour, label, look in curves:
        values = [value for block in blocks if (value := getattr(block, field)) is not None]
        if values:
            axes.plot(range(len(values)), values, look, color=colour, label=label, markersize=3, linewidth=1.2)
    if title == _DIRECTIONS:
        axes.set_ylim(-1.05, 1.05)
    else:
        axes.set_yscale("log")
    axes.set_title(title)


def _draw_roundings(axes: "Axes", lowest: float) -> None:
    """Draw the roundings that are not far below the lowest share."""
    for name, rounding in _ROUNDINGS.items():
        if rounding > lowest / 30:
            axes.axhline(rounding, color=GREY, linewidth=0.8, linestyle=":")
            place: dict[str, Any] = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points"}
            words = f"rounding of {name}"
            axes.annotate(words, (0.99, rounding), (0, 2), ha="right", fontsize=7.5, color=GREY, **place)


def _draw_accuracy(axes: "Axes", diagnosis: "Diagnosis") -> None:
    values = [100 * b.accuracy_without for b in diagnosis.blocks if b.accuracy_without is not None]
    axes.plot(range(len(values)), values, color=BLUE, marker="o", markersize=3, linewidth=1.2, label="f off from n on")
    axes.axhline(100 * (diagnosis.accuracy or 0), color=GREY, linewidth=0.9, linestyle="--", label="whole network")
    axes.set_ylim(0, 104)
    axes.set_title("Accuracy (%) with f switched off from block n on")


def _furnish(axes: "Axes", stages: Sequence[int]) -> None:
    """Draw stage boundaries and legend; small ranges of a logarithmic axis get a wider one."""
    for n in (n for n in range(1, len(stages)) if stages[n] != stages[n - 1]):
        axes.axvline(n - 0.5, color=PALE, linewidth=1, zorder=0)
    if axes.get_yscale() == "log":
        low, high = axes.get_ylim()
        middle, reach = (low * high) ** 0.5, 10 ** (_LEAST_DECADES / 2)
        axes.set_ylim(min(low, middle / reach), max(high, middle * reach))
    axes.set_xlabel("block n")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.18), ncols=2, frameon=False)
