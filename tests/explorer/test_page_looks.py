"""The page in a real browser: how it looks on screens of all kinds."""

from itertools import combinations

import pytest
from tests.explorer.browsing import WITHOUT_A_BROWSER, button, one, texts
from tests.explorer.serving import eventually

pytestmark = [pytest.mark.browser, WITHOUT_A_BROWSER]
pytest.importorskip("selenium", reason="selenium is not installed")

from selenium.webdriver.common.by import By  # noqa: E402


def test_measured_accuracies_are_told_apart_from_printed_ones(page):
    browser = page()
    assert browser.find_elements(By.CSS_SELECTOR, "#scatter path.measured")
    assert len(browser.find_elements(By.CSS_SELECTOR, "#scatter .plot path.printed")) == 39
    assert "measured here: 20" in one(browser, "#scatter + .legend").text
    assert "printed in the paper" in one(browser, "#scatter + .legend").text


@pytest.mark.parametrize("width", [1400, 390])
@pytest.mark.parametrize("labels", ["#scatter .dot-label.always", "#map .map-note"])
def test_labels_lie_over_no_other_label(page, labels, width):
    browser = page(width=width, height=900)
    one(browser, '[data-axis="depth"]').click()
    boxes = "return [...document.querySelectorAll(arguments[0])].map((one) => one.getBoundingClientRect().toJSON())"
    found = eventually(lambda: browser.execute_script(boxes, labels))
    meeting = [
        (a, b)
        for a, b in combinations(found, 2)
        if a["left"] < b["right"] and b["left"] < a["right"] and a["top"] < b["bottom"] and b["top"] < a["bottom"]
    ]
    assert not meeting


@pytest.mark.parametrize("query", ["", "?family=zerosnet&param=1/4&vs.family=from-roots&vs.param=1/2,z^2%2B1/9"])
def test_a_phone_needs_no_scrolling_sideways(page, query):
    browser = page(query, width=390, height=844)
    assert browser.execute_script("return document.documentElement.scrollWidth") == 390
    widths = "return [...document.querySelectorAll('svg.plot')].map((plot) => plot.getBoundingClientRect().right)"
    assert max(browser.execute_script(widths)) <= 390


def test_dark_and_light_follow_the_system_and_the_button(page):
    browser = page()
    colour = "return getComputedStyle(document.body).backgroundColor"
    seen = {}
    for scheme in ("light", "dark"):
        feature = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", feature)
        seen[scheme] = browser.execute_script(colour)
    assert seen["light"] != seen["dark"]
    button(browser, "Theme").click()  # light, while the system is dark
    assert browser.execute_script(colour) == seen["light"]
    button(browser, "Theme").click()
    assert browser.execute_script(colour) == seen["dark"]
    button(browser, "Theme").click()
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


@pytest.mark.parametrize(("width", "height"), [(1280, 800), (390, 844)])
def test_the_slider_stays_in_sight_while_one_looks_at_the_growth(page, width, height):
    browser = page(width=width, height=height)
    browser.execute_script("document.querySelector('#envelope').scrollIntoView({ block: 'center' })")
    top = "return document.querySelector(arguments[0]).getBoundingClientRect().top"
    eventually(lambda: 0 <= browser.execute_script(top, ".slide") < height)
    assert 0 <= browser.execute_script(top, "#envelope") < height
    assert browser.execute_script(top, ".roots") < 0


def test_the_interface_is_described_on_a_page_of_its_own(browser, page):
    page()
    one(browser, 'a[href="api"]').click()
    eventually(lambda: len(texts(browser, "#endpoints section")) == 13)
    titles = texts(browser, "#endpoints h2")
    assert titles[0] == "GET /api/analyze"
    sections = texts(browser, "#endpoints section")
    assert titles[-1] == "GET /api/accuracies"
    assert sections[-1].endswith("/api/accuracies")  # no parameters, and nothing in their place
    assert not any("`" in section for section in sections)
