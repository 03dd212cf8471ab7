"""Mathematics without a network: what arithmatex marks as LaTeX becomes MathML while the site is built.

Browsers set MathML themselves, but well only with a mathematical font. STIX Two Math, which the package ziamath
carries, goes with the site.
"""

import html
import re
from importlib.metadata import distribution
from typing import Any

from latex2mathml.converter import convert
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

FONT = "STIXTwoMath-Regular.ttf"
_MARKED = re.compile(
    r'<(?P<tag>span|div) class="arithmatex">\\(?P<open>[(\[])(?P<latex>.*?)\\[)\]]</(?P=tag)>', re.DOTALL
)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Called by MkDocs with the files of the site."""
    font = distribution("ziamath").locate_file(f"ziamath/fonts/{FONT}")
    files.append(File.generated(config, f"assets/{FONT}", abs_src_path=str(font)))
    return files


def on_page_content(content: str, **_: Any) -> str:
    """Called by MkDocs with the HTML of every page."""
    return _MARKED.sub(_mathml, content)


def _mathml(match: re.Match[str]) -> str:
    display = "block" if match["open"] == "[" else "inline"
    latex = html.unescape(match["latex"]).strip()
    return f'<{match["tag"]} class="arithmatex">{convert(latex, display=display)}</{match["tag"]}>'
