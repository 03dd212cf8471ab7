"""Nothing that is text becomes markup."""

from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st

from zerosnet.report.page.html import element, join, text


class Parsed(HTMLParser):
    def __init__(self, markup: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(markup)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


printable = st.text(st.characters(exclude_categories=["Cc", "Cs", "Cn", "Co"]))


@given(printable, printable)
def test_any_text_comes_back_as_it_was_and_opens_no_tag(content, attribute):
    parsed = Parsed(element("p", content, title=attribute))
    assert parsed.tags == [("p", {"title": attribute})]
    assert parsed.text == content


def test_control_characters_are_replaced():
    assert text("a\x00b\x1b[1m\ud800") == "a\ufffdb\ufffd[1m\ufffd"


def test_markup_goes_through_but_not_in_attributes():
    inner = element("b", "x")
    assert element("p", inner) == "<p><b>x</b></p>"
    assert join(["a", inner], " < ") == "a &lt; <b>x</b>"
    assert element("path", d="M0 0") == '<path d="M0 0"/>' and element("td") == "<td></td>"
    assert element("p", title=inner) == '<p title="&lt;b&gt;x&lt;/b&gt;"></p>'
