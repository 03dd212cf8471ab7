"""Our docstrings as Markdown: aligned lists of names become lists, examples become code.

In the source a list of names is written

    scheme  a Scheme or its text
    seed    an integer; replica k
            is the single network of its seed

or with `name: text` in every line. Markdown would run both into one paragraph, take `>>>` for a quotation, `<id>` for
HTML and brackets for links.
"""

import re
from typing import Any

from griffe import Extension, Object

_COLON = re.compile(r"(?P<name>[a-z_]\w*(?:, [a-z_]\w*)*): (?P<text>\S.*)")
_SPACED = re.compile(r"(?P<name>\S+(?: \S+)?) {2,}(?P<text>\S.*)")


class Docstrings(Extension):
    """Rewrites every docstring while it is loaded."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = as_markdown(obj.docstring.value)


def as_markdown(text: str) -> str:
    """The same docstring with its lists of names as Markdown lists and its examples fenced."""
    return "\n\n".join(_paragraph(part) for part in re.split(r"\n[ \t]*\n", text.strip("\n")))


def _paragraph(part: str) -> str:
    lines = part.split("\n")
    if lines[0].lstrip().startswith(">>>"):
        return "\n".join(["```pycon", *lines, "```"])
    if all(line.startswith("    ") for line in lines) or lines[0].startswith("|"):
        return part  # an equation, or a table
    begin = next((i for i in range(len(lines)) if _is_list(lines[i:])), len(lines))
    head = [_prose("\n".join(lines[:begin]))] if begin else []
    items = ["\n".join(_items(lines[begin:]))] if begin < len(lines) else []
    return "\n\n".join(head + items)


def _prose(text: str) -> str:
    """Escaped where Markdown would see more than text; what stands in backquotes is code already."""
    parts = text.split("`")
    return "`".join(part if i % 2 else re.sub(r"[\[*<]", r"\\\g<0>", part) for i, part in enumerate(parts))


def _is_list(lines: list[str]) -> bool:
    """Whether every line begins an entry or, being indented, continues one; a single `name: text` may be prose."""
    entries = [line for line in lines if not line.startswith(" ")]
    column = _column(lines)
    if lines[0].startswith(" ") or any(_entry(line, column) is None for line in entries):
        return False
    return column is not None or len(entries) > 1


def _column(lines: list[str]) -> int | None:
    """Where the texts of an aligned list begin."""
    spaced = next((match for line in lines if (match := _SPACED.fullmatch(line))), None)
    return None if spaced is None else spaced.start("text")


def _entry(line: str, column: int | None) -> tuple[str, str] | None:
    """Name and text; in an aligned list one space may do after the longest name."""
    if column is not None:
        name, text = line[:column], line[column:]
        return (name.strip(), text) if name.endswith(" ") and text[:1].strip() and len(name.split()) <= 2 else None
    match = _COLON.fullmatch(line)
    return None if match is None else (match["name"], match["text"])


def _items(lines: list[str]) -> list[str]:
    items: list[str] = []
    for line in lines:
        entry = None if line.startswith(" ") else _entry(line, _column(lines))
        if entry is None:
            items[-1] += " " + _prose(line.strip())
        else:
            items.append(f"- `{entry[0].strip('`')}`: {_prose(entry[1])}")
    return items
