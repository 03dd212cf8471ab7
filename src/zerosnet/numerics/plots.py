"""The pictures behind `.plot()` of schemes, analyses, forecasts and designs; matplotlib is imported when one is drawn.

Every function draws into `axes`, or into a new figure of pyplot's, and returns the axes.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from zerosnet.numerics.depth.envelopes import log10_envelope
from zerosnet.numerics.scheme import Scheme
from zerosnet.numerics.stability.verdict import root_condition
from zerosnet.numerics.wirings.wiring import Wiring

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.patches import Patch

    from zerosnet.numerics.analysis import Analysis
    from zerosnet.numerics.designs.search import Design
    from zerosnet.numerics.wirings.depth_design import DepthDesign
    from zerosnet.numerics.wirings.forecast import Forecast

_BLUE, _RED, _GREY, _INK = "#0069a8", "#c8500a", "#7d838c", "#22262b"
_STAGES = (_BLUE, "#00805e", "#b87a00", "#a3568a")
_PALE = 0.3  # opacity of blocks that die
_LEAST = 1e-9  # below this nothing is drawn


def plot_scheme(scheme: Scheme, axes: "Axes | None" = None) -> "Axes":
    """Draw the roots of a scheme and the unit circle."""
    verdict = root_condition(scheme)
    shown = _roots(verdict.roots, axes, _BLUE if verdict.zero_stable else _RED)
    shown.set_title(f"{scheme.name}: {verdict.kind}", loc="left", fontsize=10)
    return shown


def plot_analysis(analysis: "Analysis", axes: "Axes | None" = None) -> "Axes":
    """Draw how far a perturbation grows from block to block, at most, without f."""
    shown = _axes(axes)
    logs = log10_envelope(analysis.scheme)
    colour = _BLUE if analysis.verdict.zero_stable else _RED
    shown.semilogy(range(len(logs)), 10.0 ** np.minimum(logs, 300), color=colour, marker="o", markersize=3)
    shown.set_ylim(min(0.5, 10.0 ** float(logs.min())), max(10.0, 10.0 ** float(min(logs.max() + 0.3, 300))))
    shown.set_xlabel("block")
    shown.set_ylabel("growth of a perturbation, at most")
    order = f"order {analysis.order}" if analysis.consistent else "not consistent"
    shown.set_title(f"{analysis.scheme.name}: {analysis.verdict.kind}, {order}", loc="left", fontsize=10)
    return shown


def plot_forecast(found: "Forecast", axes: "Axes | None" = None) -> "Axes":
    """Draw the share of every block as bars, and the part of what the head reads that comes from it as dots.

    Bars of blocks that are expected to die in training are pale.
    """
    shown = _axes(axes)
    keys = _shares(shown, found.shares, [stage.blocks for stage in found.wiring.stages], found.survivors)
    dots: Any = {"color": _INK, "marker": "o", "markersize": 4, "markeredgecolor": "white", "linewidth": 0}
    (parts,) = shown.plot(range(len(found.parts)), found.parts, label="part of what the head reads", **dots)
    shown.set_ylim(bottom=max(_LEAST, 0.3 * float(min(found.shares.min(), found.parts.min()))))
    accuracy = found.prediction.accuracy
    said = "" if accuracy is None else f", predicted {accuracy:.1f} %"
    depth = f"effective depth {found.effective_depth:.1f} of {len(found.shares)}"
    shown.set_title(f"{found.scheme.name}, {found.layers} layers: {depth}{said}", loc="left", fontsize=10)
    below: Any = {"loc": "upper left", "bbox_to_anchor": (0, -0.16), "ncols": 3, "fontsize": 8}  # bars fill the axes
    shown.legend(handles=[*keys, parts], frameon=False, **below)
    return shown


def plot_design(design: "Design", axes: "Axes | None" = None) -> "Axes":
    """Draw the roots of a design, and the circle that its parasitic roots lie in."""
    from matplotlib.patches import Circle

    shown = _roots(design.roots or (), axes, _BLUE if design.feasible else _RED)
    if design.modulus is not None:
        shown.add_patch(Circle((0, 0), design.modulus, fill=False, color=_GREY, linestyle=":"))
    least = "no scheme is zero-stable" if not design.feasible else f"smallest modulus {design.exact_modulus}"
    shown.set_title(f"{design.steps} steps, order {design.order}: {least}", loc="left", fontsize=10)
    return shown


def plot_depth_design(design: "DepthDesign", axes: "Axes | None" = None) -> "Axes":
    """Draw the shares of a design's blocks as bars, and those of Euler's scheme as a line."""
    shown = _axes(axes)
    wiring = Wiring.of(design.scheme, design.blocks, beta_growth=design.growth)
    keys = _shares(shown, wiring.shares(), design.blocks)
    euler = Wiring.of(Scheme([1], [1]), design.blocks).shares()
    (line,) = shown.plot(range(len(euler)), euler, color=_GREY, label="Euler")
    shown.set_title(f"{design.objective} {design.value:.2f}, Euler's {design.euler:.2f}", loc="left", fontsize=10)
    shown.legend(handles=[*keys, line], frameon=False)
    return shown


def _axes(axes: "Axes | None") -> "Axes":
    if axes is not None:
        return axes
    from matplotlib import pyplot

    return pyplot.subplots(figsize=(6, 3.6), layout="constrained")[1]


def _roots(roots: Sequence[complex], axes: "Axes | None", colour: str) -> "Axes":
    from matplotlib.patches import Circle

    shown = _axes(axes)
    shown.add_patch(Circle((0, 0), 1, fill=False, color=_GREY))
    shown.plot([z.real for z in roots], [z.imag for z in roots], color=colour, marker="o", linewidth=0)
    reach = 1.1 * max(1.0, *(abs(z) for z in roots), 1.0)
    shown.set_xlim(-reach, reach)
    shown.set_ylim(-reach, reach)
    shown.set_aspect("equal")
    return shown


def _shares(axes: "Axes", shares: Any, stages: Sequence[int], survivors: Any = None) -> "list[Patch]":
    """Draw the share of every block on a logarithmic scale, a colour per stage; return what the legend shows.

    Blocks that are no survivors are pale.
    """
    from matplotlib.patches import Patch

    keys, first = list[Patch](), 0
    lives = np.ones(len(shares), dtype=np.bool_) if survivors is None else survivors
    for number, count in enumerate(stages):
        blocks = range(first, first + count)
        colour = _STAGES[number % len(_STAGES)]
        for n, bar in zip(blocks, axes.bar(blocks, shares[first : first + count], color=colour)):
            bar.set_alpha(1.0 if lives[n] else _PALE)
        keys.append(Patch(color=colour, label=f"share, stage {number + 1}"))
        first += count
    if not lives.all():
        keys.append(Patch(color=_GREY, alpha=_PALE, label="dies in training"))
    axes.set_yscale("log")
    axes.set_ylim(max(_LEAST, 0.3 * float(np.min(shares))), 1.5)
    axes.set_xlabel("block")
    return keys
