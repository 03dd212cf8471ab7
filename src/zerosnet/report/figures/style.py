"""One look for all figures: light, few lines, colours safe for the colour-blind, and markers that differ as well."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's palette, darkened where thin lines need it
BLUE, VERMILION, GREEN, AMBER, PURPLE = "#0069a8", "#c8500a", "#00805e", "#b87a00", "#a3568a"
INK, GREY, PALE, SHADE, WARM = "#22262b", "#7d838c", "#d9dde2", "#dbe9f4", "#fbe6d8"
CYCLE = (BLUE, VERMILION, GREEN, AMBER, PURPLE, GREY)
MARKERS = ("o", "s", "^", "D", "v", "P")

_RC: Any = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "mathtext.fontset": "dejavusans",
    "font.size": 9,
    "axes.titlesize": 9.5,
    "axes.titlepad": 7,
    "axes.labelsize": 9,
    "axes.edgecolor": GREY,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "xtick.color": GREY,
    "ytick.color": GREY,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "text.color": INK,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "lines.linewidth": 1.5,
    "lines.markersize": 5,
    "grid.color": PALE,
    "grid.linewidth": 0.6,
    "svg.fonttype": "path",
    "svg.hashsalt": "zerosnet",
    "pdf.fonttype": 42,
}


def styled() -> Any:
    """A context in which figures are made and written."""
    import matplotlib

    return matplotlib.rc_context(_RC)


def new_figure(width: float, height: float) -> "Figure":
    """An empty figure of that many inches; it belongs to no window and to no pyplot state."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), dpi=150, layout="constrained", facecolor="white")


def complex_plane(axes: "Axes", x: Sequence[float], y: Sequence[float]) -> None:
    """Equal scales, axes through the origin, and these limits."""
    for line in (axes.axhline, axes.axvline):
        line(0, color=PALE, linewidth=0.8, zorder=0)
    axes.set_aspect("equal", adjustable="box")
    axes.set_xlim(*x)
    axes.set_ylim(*y)


def few_ticks(axes: "Axes", count: int = 5) -> None:
    from matplotlib.ticker import MaxNLocator

    axes.xaxis.set_major_locator(MaxNLocator(count, steps=[1, 2, 5, 10]))
    axes.yaxis.set_major_locator(MaxNLocator(count, steps=[1, 2, 5, 10]))
