"""Trade-offs of design: what small parasitic roots cost, and what order, steps and stage gain cost of the depth."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from zerosnet.numerics import DepthDesign, DepthTradeOff, Design, design_table
from zerosnet.report.figures.style import CYCLE, GREY, MARKERS, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_TITLES = {"depth": "effective depth", "head": "effective depth by parts", "accuracy": "predicted accuracy, %"}
_PRICES = {
    "modulus": "Least possible largest parasitic modulus",
    "real_interval": "Real interval of absolute stability",
    "normalised_error_constant": r"Error constant $C_{p+1}/\sigma(1)$",
}


def design_figure(table: Sequence[Design] | None = None, chosen: Design | None = None) -> "Figure":
    """Draw least modulus, real stability interval and error constant over the steps, one line per order.

    `chosen` is ringed.
    """
    designs = [best for best in (table or design_table()) if best.feasible]
    with styled():
        figure = new_figure(11, 3.9)
        panels = figure.subplots(1, 3)
        for axes, (value, title) in zip(panels, _PRICES.items()):
            lines: dict[int, list[tuple[float, float]]] = {}
            for best in designs:
                lines.setdefault(best.order, []).append((best.steps, float(getattr(best, value))))
            _draw(axes, lines, clip_on=False)
            if chosen is not None and chosen.feasible:
                _ring(axes, chosen.steps, float(getattr(chosen, value)))
            axes.set_title(title, loc="left")
            axes.set_xlabel("steps d")
            axes.set_xticks(sorted({best.steps for best in designs}))
            axes.set_ylim(bottom=0)
        panels[0].axhline(1, color=GREY, linewidth=0.8, linestyle=":")
        panels[2].legend(loc="lower left", ncols=2)
        figure.suptitle("The best schemes with one slope: order p needs at least 2(p−1) steps", fontsize=10.5)
    return figure


def depth_design_figure(found: DepthTradeOff, chosen: DepthDesign | None = None) -> "Figure":
    """Draw the best objective over the bound of the moduli, over the stage gain of these schemes, and over the steps.

    One line per order; `chosen` is ringed, the dotted line is Euler's scheme.
    """
    bounds, steps = found.by_modulus.items(), found.by_steps.items()
    with styled():
        figure = new_figure(11, 3.9)
        left, middle, right = figure.subplots(1, 3, sharey=True)
        _draw(left, {order: [(bound, best.value) for bound, best in points] for order, points in bounds})
        left.set_title(f"{found.steps} steps, small roots", loc="left")
        left.set_xlabel("largest parasitic modulus, at most")
        _draw(middle, {order: [(best.stage_gain, best.value) for _, best in points] for order, points in bounds})
        middle.set_title("The same schemes", loc="left")
        middle.set_xlabel("stage gain")
        _draw(right, {order: [(best.steps, best.value) for best in line] for order, line in steps})
        right.set_title("More steps, zero-stable", loc="left")
        right.set_xlabel("steps")
        right.set_xticks([1, 2, 3, 4])
        euler = next(best.euler for _, line in steps for best in line)
        for axes in (left, middle, right):
            axes.axhline(euler, color=GREY, linewidth=0.8, linestyle=":")
        left.set_ylabel(_TITLES[found.objective])
        if chosen is not None:
            for axes, x in ((left, chosen.parasitic_modulus), (middle, chosen.stage_gain), (right, chosen.steps)):
                _ring(axes, x, chosen.value)
        right.legend(loc="lower right")
        stages = ", ".join(map(str, found.blocks))
        words = f"The most {found.objective} in stages of {stages} blocks; dotted: Euler's scheme"
        figure.suptitle(words, fontsize=10.5)
    return figure


def _draw(axes: "Axes", lines: Mapping[int, Sequence[tuple[float, float]]], **look: Any) -> None:
    """Draw a line per order."""
    for order, colour, marker in zip(sorted(lines), CYCLE, MARKERS):
        axes.plot(*zip(*lines[order]), color=colour, marker=marker, label=f"order {order}", zorder=3, **look)
    axes.grid(axis="y")


def _ring(axes: "Axes", x: float, y: float) -> None:
    look: dict[str, Any] = {"markerfacecolor": "none", "markeredgecolor": "black", "linestyle": ""}
    axes.plot([x], [y], "o", markersize=12, clip_on=False, **look)
