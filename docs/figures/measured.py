"""What was measured on CIFAR-10 with 56-layer networks, of the paper's ten schemes and of our pairs: results/runs."""

from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, Any

from zerosnet.experiments import RunEvidence, experiment, read_evidence
from zerosnet.experiments.conclusions import parasitic_modulus
from zerosnet.numerics import is_zero_stable
from zerosnet.report.figures.style import BLUE, GREY, VERMILION, new_figure, styled
from zerosnet.training import Store

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

RUNS = Path(__file__).parents[2] / "results" / "runs"
STABLE: dict[str, Any] = {"color": BLUE, "marker": "o"}
OTHER: dict[str, Any] = {"color": VERMILION, "marker": "s"}
Curve = list[tuple[float, float]]


def measured_figure() -> "Figure":
    """The paper's ten schemes: against the roots, under noise, and block by block."""
    paper = {str(row.scheme) for row in experiment("table-zerosnet-cifar10").rows}
    groups = {scheme: runs for scheme, runs in runs_by_scheme().items() if scheme in paper}
    with styled():
        figure = new_figure(11.5, 3.7)
        modulus, noise, depth = figure.subplots(1, 3)
        draw(modulus, groups, lambda run: [(parasitic_modulus(run.scheme), 100 * run.record.result.best_test_accuracy)])
        modulus.axvline(1, color=GREY, linewidth=0.8, linestyle=":")
        draw(noise, groups, gaussian_noise)
        draw(depth, groups, switched_off)
        for axes, title, label in (
            (modulus, "Test accuracy, %, best epoch", "largest parasitic modulus"),
            (noise, "… of the last epoch, under Gaussian noise", "standard deviation of the noise"),
            (depth, "… of the last epoch, f switched off from block n on", "block n; at the right end all are on"),
        ):
            axes.set_title(title, loc="left")
            axes.set_xlabel(label)
        handles = [
            modulus.plot([], [], color=BLUE, marker="o", label="zero-stable")[0],
            modulus.plot([], [], color=VERMILION, marker="s", linestyle="--", label="not zero-stable")[0],
        ]
        modulus.legend(handles=handles, loc="upper right")
    return figure


def pairs_figure() -> "Figure":
    """All schemes, those of the experiment `pairs` too: does accuracy follow the roots, or the depth that is used?"""
    groups = runs_by_scheme()
    with styled():
        figure = new_figure(8.5, 3.7)
        roots, depth = figure.subplots(1, 2, sharey=True)
        for runs in groups.values():
            accuracy = mean(100 * run.record.result.best_test_accuracy for run in runs)
            used = mean(run.ablation.used_blocks for run in runs)
            look = STABLE if is_zero_stable(runs[0].scheme) else OTHER
            face = {"markerfacecolor": look["color"], "zorder": 2} if len(runs) > 2 else {"markerfacecolor": "none"}
            look = {"linestyle": "", "markersize": 5, "zorder": 3, **look, **face}
            roots.plot(parasitic_modulus(runs[0].scheme), accuracy, **look)
            depth.plot(used, accuracy, **look)
        roots.axvline(1, color=GREY, linewidth=0.8, linestyle=":")
        roots.set_title("Test accuracy, %, best epoch", loc="left")
        roots.set_xlabel("largest parasitic modulus")
        depth.set_xlabel("blocks used, of 27")
        empty = {"linestyle": "", "markersize": 5}
        kinds = [
            depth.plot([], [], **STABLE | empty, label="zero-stable")[0],
            depth.plot([], [], **OTHER | empty, label="not zero-stable")[0],
            depth.plot([], [], **STABLE | empty, markerfacecolor="none", label="open: of the pairs, 1 or 2 seeds")[0],
        ]
        depth.legend(handles=kinds, loc="lower right")
    return figure


def runs_by_scheme() -> dict[str, list[RunEvidence]]:
    """The finished 56-layer ZeroSNets on CIFAR-10 with recipe paper, by their scheme."""
    groups: dict[str, list[RunEvidence]] = defaultdict(list)
    for run in read_evidence([Store(RUNS)]).runs:
        spec = run.record.spec
        usual = (spec.dataset, spec.recipe.name) == ("cifar10", "paper") and not (spec.rewired or spec.changes)
        if spec.model.startswith("zerosnet56") and usual:
            groups[str(run.scheme)].append(run)
    return groups


def draw(axes: "Axes", groups: dict[str, list[RunEvidence]], curve: Callable[[RunEvidence], Curve]) -> None:
    """Draw one line per scheme, the mean over its seeds; orange, dashed and with squares if it is not zero-stable."""
    for runs in groups.values():
        stable = is_zero_stable(runs[0].scheme)
        look = STABLE if stable else OTHER | {"linestyle": "--"}
        points = [(column[0][0], mean(y for _, y in column)) for column in zip(*map(curve, runs))]
        axes.plot(*zip(*points), linewidth=1.1, markersize=3.5, **look)


def gaussian_noise(run: RunEvidence) -> Curve:
    rows = run.attacks["paper-noise"].rows
    clean = [(0.0, 100 * row.accuracy) for row in rows if row.method == "clean"]
    levels = [(row.settings["scale"], 100 * row.accuracy) for row in rows if row.settings.get("field") == "normal"]
    return [*clean[:1], *sorted(levels)]


def switched_off(run: RunEvidence) -> Curve:
    """Over the number of first blocks that are on, up to the whole network."""
    return [(n, 100 * accuracy) for n, accuracy in enumerate(run.ablation.curve)]
