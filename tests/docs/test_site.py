"""The built site: strict, without anything from outside, mathematics set, no link broken."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

pytest.importorskip("mkdocs", reason="the extra docs is not installed")
pytest.importorskip("latex2mathml", reason="the extra docs is not installed")

from tests.docs.blocks import ROOT
from tests.explorer.browsing import WITHOUT_A_BROWSER, one, started, texts
from tests.explorer.serving import eventually

_LOADING = {"script": "src", "img": "src", "link": "href", "source": "src", "iframe": "src"}


class Page(HTMLParser):
    """What a page loads, where it links to, and which anchors it has."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.images_without_text = 0
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = dict(attributes)
        if (target := given.get(_LOADING.get(tag, ""))) and given.get("rel") not in ("prev", "next", "canonical"):
            self.loads.append(target)
        if tag == "a" and given.get("href"):
            self.links.append(str(given["href"]))
        if given.get("id"):
            self.anchors.add(str(given["id"]))
        self.images_without_text += tag == "img" and not given.get("alt")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from mkdocs.commands.build import build
    from mkdocs.config import load_config

    folder = tmp_path_factory.mktemp("site")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ZEROSNET_LIVE_STEP", "1/2")
        build(load_config(str(ROOT / "mkdocs.yml"), site_dir=str(folder), strict=True))
    return folder


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    return {path: Page(path) for path in site.rglob("*.html") if path.name != "404.html"}


def test_nothing_is_loaded_from_outside(site: Path, pages: dict[Path, Page]) -> None:
    for path, page in pages.items():
        assert [target for target in page.loads if re.match(r"(https?:)?//", target)] == [], path
    for style in site.rglob("*.css"):
        assert not re.search(r"url\(['\"]?https?:|@import", style.read_text(encoding="utf-8")), style


def test_every_inner_link_and_anchor_exists(pages: dict[Path, Page]) -> None:
    for path, page in pages.items():
        for link in page.links:
            if re.match(r"[a-z]+:", link):
                continue
            place, _, anchor = link.partition("#")
            target = (path.parent / place).resolve() if place else path
            assert target.is_file(), f"{path}: {link}"
            if anchor and target in pages and anchor != "__skip":
                assert anchor in pages[target].anchors, f"{path}: {link}"


@pytest.mark.browser
@WITHOUT_A_BROWSER
def test_the_site_carries_the_explorer_as_a_live_page(site: Path) -> None:
    with started() as browser:
        browser.get((site / "live" / "index.html").as_uri() + "?family=euler&param=3/2")
        assert eventually(lambda: texts(browser, ".badge strong")) == ["not zero-stable"]
        assert browser.get_log("browser") == []


@pytest.mark.browser
@WITHOUT_A_BROWSER
def test_the_site_can_be_read_and_searched_from_a_disk(site: Path) -> None:
    with started() as browser:
        browser.set_window_size(1400, 900)
        browser.get((site / "tour.html").as_uri())
        one(browser, ".md-footer__link--next").click()
        eventually(lambda: browser.current_url == (site / "results.html").as_uri())
        one(browser, ".md-search__input").send_keys("leapfrog")
        eventually(lambda: any("leapfrog" in text for text in texts(browser, ".md-search-result__item")))
        assert browser.get_log("browser") == []


def test_mathematics_is_set_and_none_is_left_as_latex(site: Path) -> None:
    text = (site / "theorems.html").read_text(encoding="utf-8")
    assert text.count("<math") > 40
    for path in site.rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r'class="arithmatex">\\[(\[]', text), path
        formulas = re.findall(r"<math.*?</math>", text, re.DOTALL)
        assert not [formula for formula in formulas if re.search(r"&#x0005C;|<mi>\\\\", formula)], path


def test_every_image_has_an_alternative_text(pages: dict[Path, Page]) -> None:
    assert {path: page.images_without_text for path, page in pages.items() if page.images_without_text} == {}


@pytest.mark.parametrize(
    ("room", "names"),
    [
        ("numerics", ("Scheme", "root_condition", "design", "FAMILIES")),
        ("models", ("create_model", "multistep", "diagnose")),
        ("training", ("RunSpec", "recipe", "train")),
        ("robustness", ("Protocol", "pgd", "run_protocol")),
        ("experiments", ("Experiment", "collect")),
    ],
)
def test_the_reference_has_the_public_names(
    pages: dict[Path, Page], site: Path, room: str, names: tuple[str, ...]
) -> None:
    anchors = pages[site / "api" / f"{room}.html"].anchors
    missing = [name for name in names if not any(anchor.endswith(f".{name}") for anchor in anchors)]
    assert missing == []


def test_sections_of_docstrings_become_lists_and_examples_become_code(site: Path) -> None:
    text = (site / "api" / "numerics.html").read_text(encoding="utf-8")
    assert re.search(r"<li class=\"doc-section-item[^>]*>\s*<b><code><span [^>]*>margin</span></code></b>", text)
    assert "<blockquote>" not in text, "an example without the line `Examples:` above it"
