"""Words of the page that a first reader does not know, explained once and in heads of columns."""

from zerosnet.report.page.html import Html, element

_WORDS = (
    (
        "zero-stable (Z. S.)",
        "no root of the scheme's characteristic polynomial lies outside the unit circle, and those on it are simple",
    ),
    ("parasitic modulus", "the distance from 0 of the largest root other than 1, the principal one"),
    ("share", "how much a block adds, relative to the state that it makes; computed from the coefficients"),
    ("effective depth", "how many blocks count: the sum of share / (share + 0.1) over all blocks"),
    (
        "used depth",
        "measured: the fewest first blocks that keep the accuracy within one point, all later ones switched off",
    ),
    ("predicted", "test accuracy by the accuracy law, from the coefficients alone (CIFAR-10, recipe paper)"),
    ("points", "differences of accuracies in per cent"),
)
_SHORT = {
    "Z. S.": dict(_WORDS)["zero-stable (Z. S.)"],
    "zero-stable": dict(_WORDS)["zero-stable (Z. S.)"],
    "parasitic modulus": dict(_WORDS)["parasitic modulus"],
    "shares of the blocks": dict(_WORDS)["share"],
    "effective depth": dict(_WORDS)["effective depth"],
    "used depth": dict(_WORDS)["used depth"],
    "predicted %": dict(_WORDS)["predicted"],
}


def glossary() -> Html:
    """The words with what they mean."""
    each = (element("div", element("dt", word), element("dd", meaning)) for word, meaning in _WORDS)
    return element("dl", each, class_="words")


def explained(head: str) -> Html | str:
    """A column's head, with its meaning if it is one of the words."""
    return element("abbr", head, title=_SHORT[head]) if head in _SHORT else head
