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
# what browsers get wrong as the converter leaves it: primes, infinity, slashes, bars, signs in front of a number
_SPACING = (
    (re.compile(r"<msup><mi>(\S+?)</mi><mi>(&#x02032;)</mi></msup>"), r"<mrow><mi>\1</mi><mi>\2</mi></mrow>"),
    (re.compile(r"<mo>(&#x0221E;)</mo>"), r"<mi>\1</mi>"),
    (re.compile(r"<mo>&#x0002F;</mo>"), '<mo lspace="0" rspace="0">/</mo>'),
    (
        re.compile(r'<mo stretchy="false">(&#x0007C;|&#x02016;)</mo>'),
        r'<mo stretchy="false" lspace="0" rspace="0">\1</mo>',
    ),
    (
        re.compile(
            r"(<mrow>|<mo[^>]*>(?:&#x00028;|\[|&#x0002C;|&#x0003D;|&#x02265;|&#x02264;)</mo>)<mo>(&#x02212;)</mo>"
        ),
        r'\1<mo form="prefix" lspace="0" rspace="0">\2</mo>',
    ),
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
    formula = convert(latex, display=display)
    for pattern, better in _SPACING:
        formula = pattern.sub(better, formula)
    return f'<{match["tag"]} class="arithmatex">{formula}</{match["tag"]}>'
