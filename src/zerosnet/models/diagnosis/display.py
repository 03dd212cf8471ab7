"""Show a diagnosis as text or in a notebook: a headline, and a table with a row per block."""

from collections.abc import Iterable, Sequence
from html import escape

Columns = Sequence[tuple[str, Sequence[str]]]
"""Columns with their heads, in order."""


def text_table(columns: Columns) -> str:
    """Write columns flush right, the first one flush left.

    Examples:
        >>> print(text_table([("block", ["a.f", "b.f"]), ("share", ["0.5", "0.25"])]))
        block  share
        a.f      0.5
        b.f     0.25
    """
    padded = []
    for place, (head, cells) in enumerate(columns):
        width = max(map(len, (head, *cells)))
        padded.append([cell.rjust(width) if place else cell.ljust(width) for cell in (head, *cells)])
    return "\n".join("  ".join(row) for row in zip(*padded, strict=True))


def html_columns(headline: str, columns: Columns) -> str:
    """Write a headline and the columns as HTML."""
    heads, cells = zip(*columns, strict=True)
    rows = "".join(f"<tr>{_cells('td', row)}</tr>" for row in zip(*cells, strict=True))
    title = "<br>".join(escape(line) for line in headline.splitlines())
    return f"<div><b>{title}</b><table><tr>{_cells('th', heads)}</tr>{rows}</table></div>"


def short(number: float) -> str:
    """Write a number in at most seven characters.

    Examples:
        >>> short(0.01234), short(12.34), short(1.2e15)
        ('0.0123', '12.3', '1.2e15')
    """
    if number == 0 or 1e-3 <= number < 1e4:
        return f"{number:.3g}" if number < 1e3 else f"{number:.0f}"
    return f"{number:.1e}".replace("e+0", "e").replace("e-0", "e-").replace("e+", "e")


def _cells(tag: str, cells: Iterable[str]) -> str:
    return "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells)
