"""What a notebook shows of a value: a small table in HTML, with the recursion as LaTeX."""

from collections.abc import Iterable
from html import escape

_CELL = 'style="text-align:left;vertical-align:top"'


def html_table(title: str, rows: Iterable[tuple[str, str]], latex: str | None = None) -> str:
    """Write a title, a formula if there is one, and a table of names and values."""
    formula = "" if latex is None else f"<p>${escape(latex)}$</p>"
    lines = "".join(f"<tr><th {_CELL}>{escape(name)}</th><td {_CELL}>{escape(value)}</td></tr>" for name, value in rows)
    return f"<div><b>{escape(title)}</b>{formula}<table>{lines}</table></div>"
