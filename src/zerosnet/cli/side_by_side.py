"""Things side by side: facts in lines, things in columns, as many columns at a time as fit the screen."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from zerosnet.cli.output import console

_LEVELS = "▁▂▃▄▅▆▇█"
_LONGEST_CURVE = 27
_NARROWEST = 29  # a curve and a gap


def sparkline(values: Sequence[float], low: float = 0.0, high: float = 1.0) -> str:
    """Draw numbers as a line of blocks of eight heights; long ones are averaged to 27 places.

    Examples:
        >>> sparkline([0.0, 0.5, 1.0])
        '▁▅█'
    """
    places = min(len(values), _LONGEST_CURVE)
    edges = [round(i * len(values) / places) for i in range(places + 1)]
    means = [sum(values[a:b]) / (b - a) for a, b in pairwise(edges)]
    reach = (high - low) or 1.0
    top = len(_LEVELS) - 1
    return "".join(_LEVELS[min(top, max(0, round(top * (value - low) / reach)))] for value in means)


def print_side_by_side(names: Sequence[str], facts: Sequence[Mapping[str, str]]) -> None:
    """Print tables of facts, a column per thing; a fact that nothing has is left out."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    screen = console()
    every = dict.fromkeys(label for one in facts for label in one)
    labels = [label for label in every if any(one.get(label) for one in facts)]
    first = max(map(len, labels), default=0) + 1
    together = max(1, (screen.width - first) // _NARROWEST)
    for begin in range(0, len(names), together):
        part = facts[begin : begin + together]
        table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
        table.add_column("", style="cyan", no_wrap=True)
        for name in names[begin : begin + together]:
            table.add_column(name, overflow="fold")
        for label in labels:
            table.add_row(label, *(Text(one.get(label) or "-") for one in part))
        if begin:
            screen.print()
        screen.print(table)
