"""The paper's printed numbers as values, and the tables they stand in.

Every table is a text file below tables/, its cells as in the paper: "93.28±0.12", bold as "**93.28**±0.12", footnote
marks behind the number ("†" taken from another paper, "*" pre-activation), a reduction in brackets.
"""

import re
from dataclasses import asdict, dataclass
from functools import cache
from importlib import resources
from typing import Any

_NUMBER = re.compile(
    r"(?P<value>-?\d+(?:\.\d+)?)(?P<unit>M?)(?:±(?P<deviation>\d+(?:\.\d+)?))?"
    r"(?: \((?P<change>-?\d+(?:\.\d+)?)\))?(?P<marks>[*†]*)"
)


@dataclass(frozen=True)
class Printed:
    """A number of the paper: value and deviation as printed, `text` to the letter (digits left out stay left out)."""

    text: str
    value: float
    deviation: float | None = None
    bold: bool = False
    marks: str = ""
    change: float | None = None
    """The reduction that stands in brackets behind an adversarial accuracy."""

    @property
    def quoted(self) -> bool:
        """Taken by the paper from another paper."""
        return "†" in self.marks

    @property
    def rounding(self) -> float:
        """Half a unit of the last printed digit: how far the value can be from what was measured."""
        digits = re.match(r"-?\d+(?:\.(\d+))?", self.text)
        return 0.5 * 10.0 ** -len(digits[1] or "") if digits else 0.0

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def parse_printed(cell: str) -> Printed | None:
    """A cell of a table; None if it holds no number.

    Examples:
        >>> parse_printed("**93.28**±0.12")
        Printed(text='93.28±0.12', value=93.28, deviation=0.12, bold=True, marks='', change=None)
    """
    text = cell.replace("**", "").strip()
    match = _NUMBER.fullmatch(text)
    if match is None:
        return None
    deviation, change = (None if match[name] is None else float(match[name]) for name in ("deviation", "change"))
    return Printed(text, float(match["value"]), deviation, "**" in cell, match["marks"], change)


@dataclass(frozen=True)
class PrintedTable:
    """The cells of a table, as text."""

    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def records(self) -> list[dict[str, str]]:
        return [dict(zip(self.heads, row)) for row in self.rows]


def parse_table(text: str) -> PrintedTable:
    lines = [tuple(cell.strip() for cell in line.split("|")) for line in text.splitlines() if line.strip()]
    return PrintedTable(lines[0], tuple(lines[1:]))


@cache
def printed_table(name: str) -> PrintedTable:
    """The table of an experiment, such as "table-robustness"."""
    return parse_table(resources.files(__package__).joinpath("tables", f"{name}.txt").read_text(encoding="utf-8"))
