"""HTML out of nested calls: everything that is not `Html` already is escaped, so no text can become markup.

>>> element("p", "a < b, ", element("b", "bold"), id="x")
'<p id="x">a &lt; b, <b>bold</b></p>'
"""

import re
from collections.abc import Iterable
from html import escape
from typing import Any

_EMPTY = frozenset({"meta", "br", "hr", "path", "line", "circle", "rect", "polyline", "use", "col"})
# control characters are allowed in no HTML or XML text; escaping does not help
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


class Html(str):
    """Text that is markup already and goes through as it is. Only `element`, `join` and constants make it."""

    __slots__ = ()


def text(value: Any) -> Html:
    """Any value as text; markup stays markup, None is nothing."""
    if isinstance(value, Html):
        return value
    return Html("" if value is None else escape(_UNPRINTABLE.sub("\ufffd", str(value)), quote=True))


def signed(numbers: str) -> str:
    """Numbers with true minus signs."""
    return numbers.replace("-", "−")


def element(name: str, /, *children: Any, **attributes: Any) -> Html:
    """<name attributes>children</name>.

    A trailing underscore is dropped from attribute names (`class_`), others become hyphens (`aria_label`). Values of
    None and False leave the attribute out, True writes its name alone. Children may be nested iterables.
    """
    written = "".join(_attribute(key.rstrip("_").replace("_", "-"), value) for key, value in attributes.items())
    if name in _EMPTY and not children:
        return Html(f"<{name}{written}/>")
    return Html(f"<{name}{written}>{join(children)}</{name}>")


def join(children: Iterable[Any], separator: str = "") -> Html:
    """Children one after another, nested iterables included."""
    return Html(text(separator).join(_child(child) for child in children))


def _child(child: Any) -> str:
    if isinstance(child, str) or not isinstance(child, Iterable):
        return text(child)
    return join(child)


def _attribute(name: str, value: Any) -> str:
    if value is None or value is False:
        return ""
    return f" {name}" if value is True else f' {name}="{text(str(value))}"'
