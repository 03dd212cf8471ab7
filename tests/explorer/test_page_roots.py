"""The page in a real browser: roots that are moved by hand, and what a network promises meanwhile."""

from fractions import Fraction

import pytest
from tests.explorer.browsing import WITHOUT_A_BROWSER, address_bar, label, one, texts, verdicts
from tests.explorer.serving import eventually

pytestmark = [pytest.mark.browser, WITHOUT_A_BROWSER]
pytest.importorskip("selenium", reason="selenium is not installed")

from selenium.webdriver import ActionChains, Keys  # noqa: E402

PAIR = "?alphas=1.2,-0.85,0.65&betas=1.45"  # roots 0.1 +- 0.8i


def coefficients(browser):
    bar = address_bar(browser)
    return [Fraction(text) for text in bar.get("alphas", "").split(",") if text], Fraction(bar.get("betas", "0"))


def drag(browser, index, right, down):
    grip = browser.find_elements("css selector", ".grip")[index]
    moves = ActionChains(browser, duration=20).move_to_element(grip).click_and_hold()
    for i in range(10):
        moves.move_by_offset(*(size * (i + 1) // 10 - size * i // 10 for size in (right, down)))
    moves.release().perform()


def test_a_dragged_root_takes_its_conjugate_along_and_stays_consistent(page):
    browser = page(PAIR)
    before = coefficients(browser)
    drag(browser, 0, -40, 0)
    eventually(lambda: coefficients(browser) != before)
    (first, second, third), beta = coefficients(browser)
    assert first + second + third == 1
    assert beta == 1 + second + 2 * third
    assert third == pytest.approx((first - 1) ** 2 / 4 + Fraction(64, 100), abs=0.05)  # the height has hardly changed
    assert first < Fraction(9, 10)
    assert verdicts(browser) == ["zero-stable"]


def test_a_pair_that_is_let_go_on_the_axis_is_a_double_root(page):
    browser = page(PAIR)
    unit = one(browser, ".disc").size["width"] / 2
    drag(browser, 0, 0, round(0.8 * unit))
    eventually(lambda: "×2" in texts(browser, ".roots .note"))


def test_a_real_root_moves_alone_along_the_axis(page):
    browser = page("?family=from-roots&param=-1/2,1/2")
    drag(browser, 0, 20, 0)
    eventually(lambda: coefficients(browser)[0])
    moved, other = one(browser, ".room.roots").get_attribute("aria-valuetext").split(", ")
    assert (moved > "0.6", other) == (True, "-0.500 + 0.000 i")
    assert one(browser, "#family-a").get_attribute("value") == "free"


def test_roots_are_moved_with_the_arrow_keys(page):
    browser = page()
    room = one(browser, ".room.roots")
    assert room.get_attribute("role") == "slider"
    for key in (Keys.ARROW_UP, Keys.ARROW_UP, Keys.ARROW_RIGHT):
        seen = room.get_attribute("aria-valuetext")
        room.send_keys(key)
        eventually(lambda seen=seen: room.get_attribute("aria-valuetext") != seen)
    assert room.get_attribute("aria-valuetext").startswith("-0.280 + 0.100 i")
    assert browser.switch_to.active_element == room


def test_roots_of_other_schemes_stay_where_they_are(page):
    browser = page("?family=adams-bashforth&param=3")
    assert not browser.find_elements("css selector", ".grip")
    assert one(browser, ".room.roots").get_attribute("role") is None


def test_shares_and_accuracy_follow_the_scheme(page):
    browser = page("?alphas=1,1,1&betas=1")
    assert len(texts(browser, ".forecast rect.stage title")) == 54
    assert "predicted accuracy 81." in texts(browser, ".words p")[0]
    assert "grows 1.84-fold" in texts(browser, ".limit")[0]
    one(browser, '.presets [data-label="0.33, 0.33, 1.00"]').click()
    eventually(lambda: "predicted accuracy 93." in texts(browser, ".words p")[0])


def test_the_map_marks_the_scheme_and_names_the_measured_ones(page):
    browser = page(PAIR)
    eventually(lambda: texts(browser, "#map .here title"))
    assert texts(browser, "#map .here title")[0].startswith("this scheme: 0.1 ± 0.8i, predicted 93.")
    assert any("scheme 1/3,5/9,1/9;16/9" in title for title in texts(browser, "#map .map-dot title"))
    assert "below 80 % near 1" in label(browser, "#map svg")
    browser = page("?family=euler&param=1")
    eventually(lambda: "no pair of roots" in one(browser, "#map + .legend").text)


@pytest.mark.timing
def test_a_dragged_root_is_followed_within_a_tenth_of_a_second(page):
    browser = page(PAIR)
    browser.execute_script("performance.clearMeasures('update')")
    drag(browser, 0, -40, 20)
    script = "return performance.getEntriesByName('update').map((one) => one.duration)"
    took = sorted(eventually(lambda: browser.execute_script(script)))
    assert took[len(took) // 2] < 300  # generous: other tests may be running
