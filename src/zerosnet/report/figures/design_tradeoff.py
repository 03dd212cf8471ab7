"""The trade-off of design: what small parasitic roots cost, for every number of steps and every order."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from zerosnet.numerics import Design, design_table
from zerosnet.report.figures.style import CYCLE, GREY, MARKERS, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def design_figure(table: Sequence[Design] | None = None, chosen: Design | None = None) -> "Figure":
    """Draw least modulus, real stability interval and error constant over the steps, one line per order.

    `chosen` is ringed.
    """
    designs = [best for best in (table or design_table()) if best.feasible]
    with styled():
        figure = new_figure(11, 3.9)
        left, middle, right = figure.subplots(1, 3)
        for axes, value, title in (
            (left, "modulus", "Least possible largest parasitic modulus"),
            (middle, "real_interval", "Real interval of absolute stability"),
            (right, "normalised_error_constant", r"Error constant $C_{p+1}/\sigma(1)$"),
        ):
            _draw(axes, designs, value)
            if chosen is not None and chosen.feasible:
                ring: dict[str, Any] = {
                    "markersize": 12,
                    "markerfacecolor": "none",
                    "markeredgecolor": "black",
                    "linestyle": "",
                }
                axes.plot([chosen.steps], [float(getattr(chosen, value))], "o", clip_on=False, **ring)
            axes.set_title(title, loc="left")
        left.axhline(1, color=GREY, linewidth=0.8, linestyle=":")
        right.legend(loc="lower left", ncols=2)
        figure.suptitle("The best schemes with one slope: order p needs at least 2(p−1) steps", fontsize=10.5)
    return figure


def _draw(axes: "Axes", designs: Sequence[Design], value: str) -> None:
    for order, colour, marker in zip(sorted({best.order for best in designs}), CYCLE, MARKERS):
        line = [best for best in designs if best.order == order]
        heights = [float(getattr(best, value)) for best in line]
        style: dict[str, Any] = {"color": colour, "marker": marker, "clip_on": False, "zorder": 3}
        axes.plot([best.steps for best in line], heights, label=f"order {order}", **style)
    axes.set_xlabel("steps d")
    axes.set_xticks(sorted({best.steps for best in designs}))
    axes.set_ylim(bottom=0)
    axes.grid(axis="y")
