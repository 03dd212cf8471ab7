"""Figures that compare: schemes by their roots and shares, runs by their curves."""

from collections.abc import Iterable, Sequence
from itertools import cycle
from typing import TYPE_CHECKING

from zerosnet.numerics import root_condition
from zerosnet.report.figures.style import CYCLE, GREY, MARKERS, complex_plane, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from zerosnet.numerics import Forecast
    from zerosnet.training import RunRecord

_LEAST_SHARE = 1e-6


def schemes_figure(found: "Sequence[Forecast]") -> "Figure":
    """Draw the roots of all schemes in one plane, and the share of every block of their networks.

    Blocks that are expected to die in training are hollow.
    """
    from matplotlib.patches import Circle

    with styled():
        figure = new_figure(10, 4.3)
        roots, shares = figure.subplots(1, 2, width_ratios=(1, 1.6))
        roots.add_patch(Circle((0, 0), 1, fill=False, color=GREY, linewidth=1))
        reach, some_die = 1.15, False
        for one, colour, marker in zip(found, cycle(CYCLE), cycle(MARKERS)):
            places = root_condition(one.scheme).roots
            reach = max(reach, *(1.1 * abs(place) for place in places))
            look = {"color": colour, "marker": marker, "markersize": 6}
            roots.plot([z.real for z in places], [z.imag for z in places], linewidth=0, fillstyle="none", **look)
            shares.plot(range(len(one.shares)), one.shares, label=f"{one.scheme.name}: {_promise(one)}", **look)
            dying = [] if one.survivors is None else [n for n, lives in enumerate(one.survivors) if not lives]
            shares.plot(dying, one.shares[dying], linewidth=0, markerfacecolor="white", **look)
            some_die = some_die or bool(dying)
        if some_die:
            shares.plot([], [], color=GREY, marker="o", linewidth=0, fillstyle="none", label="dies in training")
        complex_plane(roots, (-reach, reach), (-reach, reach))
        roots.set_title("Roots", loc="left")
        shares.set_yscale("log")
        shares.set_ylim(max(_LEAST_SHARE, 0.5 * min(float(one.shares.min()) for one in found)), 1.3)
        shares.grid(axis="y")
        shares.set_xlabel("block")
        shares.set_title(f"Share of each block in the state, {found[0].layers} layers", loc="left")
        figure.legend(loc="outside lower left")
    return figure


def _promise(found: "Forecast") -> str:
    accuracy = found.prediction.accuracy
    depth = f"effective depth {found.effective_depth:.1f}"
    lives = "" if found.survivors is None else f", {found.survivors_text} survive"
    return f"{depth}{lives}" if accuracy is None else f"{depth}{lives}, accuracy {accuracy:.1f} %"


def runs_figure(groups: "Iterable[tuple[str, Sequence[RunRecord]]]") -> "Figure":
    """Draw test accuracy and training loss by epoch, a line for every run, a colour for every group."""
    with styled():
        figure = new_figure(10, 4.3)
        accuracy, loss = figure.subplots(1, 2)
        for (name, records), colour in zip(groups, cycle(CYCLE)):
            for k, record in enumerate(records):
                rows = record.metrics()
                epochs = [row["epoch"] for row in rows]
                label = name if k == 0 else None
                tests = [100 * row["test_accuracy"] for row in rows]
                accuracy.plot(epochs, tests, color=colour, linewidth=1.1, label=label)
                losses = [row["train_loss"] if row["train_loss"] is not None else float("nan") for row in rows]
                loss.plot(epochs, losses, color=colour, linewidth=1.1)
        loss.set_yscale("log")
        for axes, title in ((accuracy, "Test accuracy, %"), (loss, "Training loss")):
            axes.set_title(title, loc="left")
            axes.set_xlabel("epoch")
            axes.grid(axis="y")
        figure.legend(loc="outside lower left")
    return figure
