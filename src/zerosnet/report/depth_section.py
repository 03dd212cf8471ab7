"""Effective depth: how many of its blocks a network uses, beside what its scheme promises."""

from collections.abc import Iterable, Sequence

from zerosnet.report.chart import figures
from zerosnet.report.configurations import Configuration, Panel
from zerosnet.report.curves import depth_charts
from zerosnet.report.html import Html, element
from zerosnet.report.tables import folded, plain_table

_WORDS = (
    "A block adds βf to the state. Where that is a vanishing share of the state, the block does nothing, and the "
    "network is shallower than it looks. The curves show it directly: test accuracy with f switched off from block n "
    "on. At the right end n is the number of blocks: all of them are on, as in the whole network. A network whose "
    "curve is flat from an early block on uses only the blocks before it, whether its scheme is zero-stable or not."
)
_OPEN_UP_TO = 15  # rows
_MOST_NAMED = 8  # networks without a curve
_NONE = "None of the runs in the stores has an ablation curve yet; zerosnet reproduce makes them."


def depth_section(panels: Sequence[Panel]) -> list[Html]:
    """Curves and a table for every panel whose runs were ablated."""
    parts, without = [element("p", _WORDS)], list[str]()
    for panel in panels:
        members = [one for one in panel.members if any(run.ablation for run in one.runs)]
        without += [f"{one.name} ({panel.title})" for one in panel.members if one not in members]
        if members:
            table = folded("The numbers", _table(panel.title, members), len(members), _OPEN_UP_TO)
            parts += [element("h4", panel.title), figures(depth_charts(panel)), table]
    if len(parts) == 1:
        return [*parts, element("p", _NONE, class_="none")]
    return [*parts, element("p", _missing(without), class_="none")] if without else parts


def _missing(names: Sequence[str]) -> str:
    more = [f"{len(names) - _MOST_NAMED} more"] if len(names) > _MOST_NAMED else []
    return f"Without a curve: {'; '.join([*names[:_MOST_NAMED], *more])}."


def _table(title: str, members: Sequence[Configuration]) -> Html:
    heads = ("scheme", "zero-stable", "blocks", "add 1 % or more", "needed for the accuracy", "accuracy %")
    caption = (
        f"Blocks of {title}: all, those that add at least 1 % to the state, and the fewest first ones that reach the "
        "whole network's accuracy within 1 % (mean over the seeds), on the images that were used for it"
    )
    return plain_table(caption, heads, map(_row, members), right=4)


def _row(one: Configuration) -> list[object]:
    found = [run.ablation for run in one.runs if run.ablation is not None]
    word = {True: "yes", False: "no", None: "trained"}[one.zero_stable]
    return [
        one.name,
        word,
        found[0].blocks,
        _mean(a.effective_depth for a in found),
        _mean(a.used_blocks for a in found),
        _mean((100 * a.accuracy for a in found), 2),
    ]


def _mean(values: Iterable[float], digits: int = 1) -> str:
    each = list(values)
    return f"{sum(each) / len(each):.{digits}f}"
