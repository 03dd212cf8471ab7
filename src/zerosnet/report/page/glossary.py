"""Words of the page that a first reader does not know, explained once near its top and in heads of columns."""

from zerosnet.report.page.html import Html, element

_WORDS = (
    (
        "zero-stable (Z. S.)",
        "no root of the scheme's characteristic polynomial lies outside the unit circle, and those on it are simple",
    ),
    ("moduli of roots", "their distances from 0; 1 is the unit circle"),
    ("parasitic", "all roots but 1, the principal one; the largest of their moduli is what is compared"),
    ("consistent", "the scheme follows a differential equation as steps get small: 1 is a root, and beta fits it"),
    (
        "switched off",
        "from a block on, what blocks add (f) is left out of the trained network, and its accuracy is measured again",
    ),
    ("used blocks", "the fewest first ones that keep the accuracy within one point with all later ones switched off"),
    ("blocks above 1 %", "how many blocks add at least 1 % to the state that runs through the network"),
    ("points", "differences of accuracies in per cent"),
)
_SHORT = {
    "Z. S.": "zero-stable: no root outside the unit circle, simple ones on it",
    "parasitic modulus": "the largest modulus of a root other than 1",
    "used blocks": dict(_WORDS)["used blocks"],
    "blocks above 1 %": dict(_WORDS)["blocks above 1 %"],
}


def glossary() -> Html:
    """The words with what they mean."""
    each = ((element("dt", word), element("dd", meaning)) for word, meaning in _WORDS)
    return element("dl", each, class_="words")


def explained(head: str) -> Html | str:
    """A column's head, with its meaning if it is one of the words."""
    return element("abbr", head, title=_SHORT[head]) if head in _SHORT else head
