"""The paper's Figure 3, redrawn: a block with three states in and three out, and the network of such blocks."""

from typing import TYPE_CHECKING, Any

from zerosnet.report.figures.style import BLUE, GREY, INK, PALE, SHADE, WARM, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def block_and_network_figure() -> "Figure":
    with styled():
        figure = new_figure(11.5, 6.4)
        top, bottom = figure.subplots(2, 1, height_ratios=[4.2, 2.3])
        for axes, title in ((top, "A block: three states in, three states out"), (bottom, "The network (CIFAR size)")):
            axes.set_axis_off()
            axes.set_title(title, loc="left", fontweight="bold")
        draw_block(top)
        draw_network(bottom)
    return figure


def box(axes: "Axes", x: float, y: float, width: float, height: float, text: str, **style: Any) -> None:
    """A rounded box around its centre."""
    from matplotlib.patches import FancyBboxPatch

    look = {"facecolor": "white", "edgecolor": INK, "linewidth": 1.1, **style}
    corner = (x - width / 2, y - height / 2)
    axes.add_patch(FancyBboxPatch(corner, width, height, boxstyle="round,pad=0,rounding_size=0.08", **look))
    axes.text(x, y, text, ha="center", va="center", fontsize=9, linespacing=1.35)


def arrow(axes: "Axes", start: tuple[float, float], end: tuple[float, float], **style: Any) -> None:
    look = {"arrowstyle": "-|>", "color": INK, "linewidth": 1.1, "shrinkA": 0, "shrinkB": 0, **style}
    axes.annotate("", end, start, arrowprops=look)


def node(axes: "Axes", x: float, y: float, text: str, colour: str) -> None:
    from matplotlib.patches import Circle

    axes.add_patch(Circle((x, y), 0.21, facecolor="white", edgecolor=colour, linewidth=1.2, zorder=3))
    axes.text(x, y, text, ha="center", va="center", fontsize=9.5, color=colour, zorder=4)


def draw_block(axes: "Axes") -> None:
    axes.set_xlim(0, 11.5)
    axes.set_ylim(-0.55, 3.65)
    axes.set_aspect("equal")
    rows = {"y_n": 2.1, "y_{n-1}": 1.2, "y_{n-2}": 0.3}
    total = 8.0
    for lag, (name, y) in enumerate(rows.items()):
        axes.text(0.55, y, f"${name}$", ha="center", va="center", fontsize=12)
        arrow(axes, (0.95, y), (6.29, y))
        node(axes, 6.5, y, rf"$\alpha_{lag}$", BLUE)
    box(axes, 3.85, 3.1, 3.5, 0.66, "BN · ReLU · conv   →   BN · ReLU · conv", facecolor=SHADE, edgecolor=BLUE)
    axes.text(1.85, 3.3, "$f$", fontsize=12, ha="right", va="center")
    axes.plot(1.35, 2.1, marker="o", color=INK, markersize=4)
    axes.plot([1.35, 1.35, 1.6], [2.1, 3.1, 3.1], color=INK, linewidth=1.1)
    arrow(axes, (1.58, 3.1), (2.1, 3.1))
    arrow(axes, (5.6, 3.1), (6.29, 3.1))
    node(axes, 6.5, 3.1, r"$\beta$", BLUE)
    sources = [(6.71, 3.1), *((6.71, y) for y in rows.values())]
    for x, y in sources:
        arrow(axes, (x, y), (total - 0.24, 1.65 + 0.1 * (y - 1.65)), linewidth=1)
    node(axes, total, 1.65, "+", INK)
    outs = {"y_{n+1}": 2.1, "y_n": 1.2, "y_{n-1}": 0.3}
    arrow(axes, (total + 0.22, 1.72), (9.9, 2.1))
    axes.text(10.45, 2.1, "$y_{n+1}$", ha="center", va="center", fontsize=12)
    for (name, y), start in zip(list(outs.items())[1:], (2.1, 1.2)):
        tap = 4.4 if start == 2.1 else 5.2
        low = -0.25 if start == 2.1 else -0.42
        axes.plot([tap, tap], [start, low], color=GREY, linewidth=0.9, linestyle=(0, (4, 2)), zorder=1)
        axes.plot(tap, start, marker="o", color=GREY, markersize=3.5)
        bend = 9.1 if start == 2.1 else 9.35
        axes.plot([tap, bend, bend], [low, low, y], color=GREY, linewidth=0.9, linestyle=(0, (4, 2)), zorder=1)
        arrow(axes, (bend, y), (9.9, y), color=GREY, linewidth=0.9)
        axes.text(10.45, y, f"${name}$", ha="center", va="center", fontsize=12)
    axes.text(7.35, 3.34, "fixed by the scheme,\nnot trained", fontsize=8, color=BLUE, va="center")


def draw_network(axes: "Axes") -> None:
    axes.set_xlim(0, 11.5)
    axes.set_ylim(-0.75, 1.45)
    axes.set_aspect("equal")
    y = 0.55
    box(axes, 0.72, y, 0.95, 1.0, "stem\nconv 3×3\n16", facecolor=PALE)
    box(axes, 1.95, y, 0.95, 1.0, "block 0\n$y + f(y)$\n16", facecolor=WARM)
    box(axes, 3.12, y, 0.95, 1.0, "block 1\n$y + f(y)$\n16", facecolor=WARM)
    box(axes, 4.62, y, 1.3, 1.0, "blocks\n2 … N/3\n16, 32×32", facecolor=SHADE, edgecolor=BLUE)
    box(axes, 6.62, y, 1.3, 1.0, "blocks\n… 2N/3\n32, 16×16", facecolor=SHADE, edgecolor=BLUE)
    box(axes, 8.62, y, 1.3, 1.0, "blocks\n… N\n64, 8×8", facecolor=SHADE, edgecolor=BLUE)
    box(axes, 10.45, y, 1.2, 1.0, "BN · ReLU\naverage pool\nlinear", facecolor=PALE)
    arrow(axes, (1.2, y), (1.47, y))
    flows = ((2.43, 2.64, 2), (3.6, 3.96, 3))
    for begin, end, count in flows:
        for k in range(count):
            arrow(axes, (begin, y + 0.22 * ((count - 1) / 2 - k)), (end, y + 0.22 * ((count - 1) / 2 - k)), linewidth=1)
    for begin, end in ((5.28, 5.96), (7.28, 7.96)):
        for k in range(3):
            arrow(axes, (begin, y + 0.22 * (1 - k)), (end, y + 0.22 * (1 - k)), linewidth=1, linestyle=(0, (2, 1.5)))
    arrow(axes, (9.28, y), (9.84, y))
    note = {"ha": "center", "va": "top", "fontsize": 8, "color": GREY, "linespacing": 1.3}
    axes.text(2.53, -0.08, "start: one-step blocks,\nuntil three states exist", **note)
    axes.text(
        6.62,
        -0.08,
        "dotted: at a stage change each of the three states\ngets a strided 1×1 convolution of its own",
        **note,
    )
    axes.text(4.62, 1.17, "ZeroS blocks", ha="center", va="bottom", fontsize=8.5, color=BLUE)
