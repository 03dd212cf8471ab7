"""Percent signs stay on the line of their number: the space before them does not break."""

import re
from typing import Any

_CODE = re.compile(r"(<(pre|code)\b.*?</\2>)", re.DOTALL)
_SPACE = re.compile(r"(\d(?:<!-- /value -->)?)\s%")


def on_page_content(content: str, **_: Any) -> str:
    """Called by MkDocs with the HTML of every page."""
    parts = _CODE.split(content)
    text, code = parts[::3], [*parts[1::3], ""]
    return "".join(_SPACE.sub(r"\1&nbsp;%", prose) + kept for prose, kept in zip(text, code))
