"""The trade-off of design by depth: the most depth against parasitic modulus, stage gain, steps and order."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from zerosnet.numerics import DepthDesign, DepthTradeOff
from zerosnet.report.figures.style import CYCLE, GREY, MARKERS, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_TITLES = {"depth": "effective depth", "head": "effective depth by parts", "accuracy": "predicted accuracy, %"}


def depth_design_figure(found: DepthTradeOff, chosen: DepthDesign | None = None) -> "Figure":
    """Draw the best objective over the bound of the moduli, over the stage gain of these schemes, and over the steps.

    One line per order; `chosen` is ringed, the dotted line is Euler's scheme.
    """
    with styled():
        figure = new_figure(11, 3.9)
        left, middle, right = figure.subplots(1, 3, sharey=True)
        for order, colour, marker in _orders(found.by_modulus):
            points = found.by_modulus[order]
            values = [best.value for _, best in points]
            _line(left, [bound for bound, _ in points], values, order, colour, marker)
            _line(middle, [best.stage_gain for _, best in points], values, order, colour, marker)
        left.set_title(f"{found.steps} steps, small roots", loc="left")
        left.set_xlabel("largest parasitic modulus, at most")
        middle.set_title("The same schemes", loc="left")
        middle.set_xlabel("stage gain")
        for order, colour, marker in _orders(found.by_steps):
            line = found.by_steps[order]
            _line(right, [best.steps for best in line], [best.value for best in line], order, colour, marker)
        right.set_title("More steps, zero-stable", loc="left")
        right.set_xlabel("steps")
        right.set_xticks([1, 2, 3, 4])
        euler = next(best.euler for line in found.by_steps.values() for best in line)
        for axes in (left, middle, right):
            axes.axhline(euler, color=GREY, linewidth=0.8, linestyle=":")
            axes.grid(axis="y")
        left.set_ylabel(_TITLES[found.objective])
        if chosen is not None:
            ring: Any = {"markersize": 12, "markerfacecolor": "none", "markeredgecolor": "black", "linestyle": ""}
            for axes, x in ((left, chosen.parasitic_modulus), (middle, chosen.stage_gain), (right, chosen.steps)):
                axes.plot([x], [chosen.value], "o", clip_on=False, **ring)
        right.legend(loc="lower right")
        stages = ", ".join(map(str, found.blocks))
        figure.suptitle(
            f"The most {found.objective} in stages of {stages} blocks; dotted: Euler's scheme", fontsize=10.5
        )
    return figure


def _orders(table: dict[int, Any]) -> Sequence[tuple[int, str, str]]:
    return list(zip(sorted(table), CYCLE, MARKERS))


def _line(axes: "Axes", x: Sequence[float], y: Sequence[float], order: int, colour: str, marker: str) -> None:
    axes.plot(x, y, color=colour, marker=marker, label=f"order {order}", zorder=3)
