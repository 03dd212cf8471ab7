"""Mathematics without a network: what arithmatex marks as LaTeX becomes MathML while the site is built."""

import html
import re
from typing import Any

from latex2mathml.converter import convert

_MARKED = re.compile(
    r'<(?P<tag>span|div) class="arithmatex">\\(?P<open>[(\[])(?P<latex>.*?)\\[)\]]</(?P=tag)>', re.DOTALL
)


def on_page_content(content: str, **_: Any) -> str:
    """Called by MkDocs with the HTML of every page."""
    return _MARKED.sub(_mathml, content)


def _mathml(match: re.Match[str]) -> str:
    display = "block" if match["open"] == "[" else "inline"
    latex = html.unescape(match["latex"]).strip()
    return f'<{match["tag"]} class="arithmatex">{convert(latex, display=display)}</{match["tag"]}>'
