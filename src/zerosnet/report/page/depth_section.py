"""Used depth: how many of its blocks a network uses, beside the effective depth that its scheme promises."""

from collections.abc import Sequence
from statistics import fmean

from zerosnet.experiments import Ablation
from zerosnet.report.page.chart import figures
from zerosnet.report.page.configurations import Configuration, Panel, facts_of
from zerosnet.report.page.curves import depth_charts
from zerosnet.report.page.html import Html, element
from zerosnet.report.page.tables import folded, plain_table

_WORDS = (
    "A block adds βf to the state. Where that is a vanishing share of the state, the block does nothing, and the "
    "network is shallower than it looks. The curves show it directly: test accuracy with f switched off from block n "
    "on. At the right end n is the number of blocks: all of them are on, as in the whole network. A network whose "
    "curve is flat from an early block on uses only the blocks before it, whether its scheme is zero-stable or not."
)
_NUMBERS = (
    "Effective depth is computed from the coefficients. Used depth is measured: the fewest first blocks that reach the "
    "whole network's accuracy within one point, all later ones switched off. The tables have means over the seeds, "
    "and in brackets from the least to the most where the seeds differ."
)
_OPEN_UP_TO = 15  # rows
_MOST_NAMED = 8  # networks without a curve
_NONE = "None of the runs in the stores has an ablation curve yet; zerosnet reproduce makes them."


def depth_section(panels: Sequence[Panel]) -> list[Html]:
    """Curves and a table for every panel whose runs were ablated."""
    parts, without = list[Html](), list[str]()
    for panel in panels:
        members = [one for one in panel.members if _ablations(one)]
        without += [f"{one.name} ({panel.title})" for one in panel.members if one not in members]
        if members:
            table = folded("The numbers", _table(panel.title, members), len(members), _OPEN_UP_TO)
            parts += [element("h4", panel.title), figures(depth_charts(panel)), table]
    if not parts:
        return [element("p", _WORDS), element("p", _NONE, class_="none")]
    missing = [element("p", _missing(without), class_="none")] if without else []
    return [element("p", _WORDS), element("p", _NUMBERS), *parts, *missing]


def _missing(names: Sequence[str]) -> str:
    more = [f"{len(names) - _MOST_NAMED} more"] if len(names) > _MOST_NAMED else []
    return f"Without a curve: {'; '.join([*names[:_MOST_NAMED], *more])}."


def _table(title: str, members: Sequence[Configuration]) -> Html:
    heads = ("scheme", "zero-stable", "blocks", "effective depth", "used depth", "accuracy %", "seeds")
    found = [ablation for one in members for ablation in _ablations(one)]
    images = " or ".join(f"{count:,}" for count in sorted({ablation.images for ablation in found}))
    types = " or ".join(sorted({ablation.convolutions for ablation in found}))
    caption = (
        f"Blocks of {title}. The accuracy is that of the last epoch's weights, evaluated again by plain torch with "
        f"convolutions in {types} on {images} test images: it may differ slightly from the tables above, which have "
        "what was measured while training"
    )
    return plain_table(caption, heads, map(_row, members), right=5)


def _row(one: Configuration) -> list[object]:
    found = _ablations(one)
    return [
        one.name,
        one.stability_text,
        found[0].blocks,
        "" if (depth := facts_of(one).effective_depth) is None else f"{depth:.1f}",
        _mean_and_range([a.used_blocks for a in found]),
        _mean_and_range([100 * a.accuracy for a in found], 2),
        len(found),
    ]


def _ablations(one: Configuration) -> list[Ablation]:
    return [run.ablation for run in one.runs if run.ablation is not None]


def _mean_and_range(values: Sequence[float], digits: int = 0) -> str:
    """27, or 24.7 (24 to 25) if the values differ."""
    low, high = (f"{value:.{digits}f}" for value in (min(values), max(values)))
    return low if low == high else f"{fmean(values):.{max(1, digits)}f} ({low} to {high})"
