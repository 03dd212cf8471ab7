"""Our docstrings as Markdown: aligned lists of names become lists, examples become code.

In the source a list of names is written

    scheme  a Scheme or its text
    seed    an integer; replica k
            is the single network of its seed

or with `name: text` in every line. Markdown would run both into one paragraph, and take `>>>` for a quotation.
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
    begin = next((i for i in range(len(lines)) if _is_list(lines[i:])), None)
    if begin is None:
        return part
    head = "\n".join(lines[:begin])
    return (head + "\n\n" if head else "") + "\n".join(_items(lines[begin:]))


def _is_list(lines: list[str]) -> bool:
    """Whether every line begins an entry or, being indented, continues one; a single `name: text` may be prose."""
    entries = [line for line in lines if not line.startswith(" ")]
    if lines[0].startswith(" ") or any(_entry(line) is None for line in entries):
        return False
    return all(_SPACED.fullmatch(line) for line in entries) or len(entries) > 1


def _entry(line: str) -> re.Match[str] | None:
    return _SPACED.fullmatch(line) or _COLON.fullmatch(line)


def _items(lines: list[str]) -> list[str]:
    items: list[str] = []
    for line in lines:
        entry = None if line.startswith(" ") else _entry(line)
        if entry is None:
            items[-1] += " " + line.strip()
        else:
            items.append(f"- `{entry['name'].strip('`')}`: {entry['text']}")
    return items
