"""The view of wirings in a real browser: what it answers when somebody moves something."""

import pytest
from tests.explorer.browsing import WITHOUT_A_BROWSER, address_bar, button, fill, label, one, texts
from tests.explorer.serving import eventually

pytestmark = [pytest.mark.browser, WITHOUT_A_BROWSER]
pytest.importorskip("selenium", reason="selenium is not installed")

from selenium.webdriver import Keys  # noqa: E402

SHOWN = ("#wirings .badge strong", "#wirings .gains svg")
DOUBLY = "?view=wirings&form=doubly-stochastic&streams=4&spread=0.3&seed=1&write=all&read=turns&layers=56"


@pytest.fixture
def wirings(page):
    def open_page(query="?view=wirings", **screen):
        return page(query, shown=SHOWN, **screen)

    return open_page


def facts(browser):
    return dict(zip(texts(browser, "#wirings .facts dt"), texts(browser, "#wirings .facts dd")))


def choose(browser, selector, value):
    one(browser, f'{selector} option[value="{value}"]').click()


def test_the_tab_is_reached_by_keyboard_and_the_browser_goes_back(page):
    browser = page("?family=lm&param=1/2")
    link = one(browser, '[data-to="wirings"]')
    assert link.get_attribute("aria-current") is None
    link.send_keys(Keys.ENTER)
    eventually(lambda: texts(browser, SHOWN[1]))
    assert link.get_attribute("aria-current") == "page" and address_bar(browser)["view"] == "wirings"
    assert not one(browser, "#main").is_displayed() and not one(browser, "#compare").is_displayed()
    browser.back()
    eventually(lambda: one(browser, "#main").is_displayed() and not one(browser, "#wirings").is_displayed())
    eventually(lambda: address_bar(browser).get("family") == "lm")


def test_gains_of_one_are_a_residual_network_and_larger_ones_outgrow_it(wirings):
    browser = wirings()
    assert texts(browser, "#wirings .badge strong") == ["the depth is used"]
    assert facts(browser)["effective depth"] == "20.0 of 27 blocks"
    assert len(texts(browser, "#wirings .forecast rect.stage title")) == 54
    fill(browser, one(browser, "#wirings .exact"), "2")
    eventually(lambda: "outgrows" in texts(browser, "#wirings .badge strong")[0])
    assert "10⁸-fold" in texts(browser, "#wirings .reason")[0]
    eventually(lambda: address_bar(browser).get("keep") == "2")
    assert "forward: 10⁸-fold" in label(browser, "#wirings .gains svg")


def test_a_slider_moves_the_likeness_of_streams(wirings):
    browser = wirings(DOUBLY)
    assert "alike after 15" in label(browser, ".likeness svg")
    spread = one(browser, '[aria-label^="s, the spread"]')
    spread.send_keys(Keys.HOME)
    eventually(lambda: "stay apart" in label(browser, ".likeness svg"))
    assert facts(browser)["alike after"] == "never" and facts(browser)["gain backward"] == "1-fold"
    eventually(lambda: address_bar(browser)["spread"] == "0")
    button(browser, "Draw again").click()
    eventually(lambda: address_bar(browser)["seed"] == "2")


def test_every_form_can_be_chosen_and_what_is_drawn_keeps_its_numbers(wirings):
    browser = wirings()
    forms = [option.get_attribute("value") for option in browser.find_elements("css selector", "#form option")]
    assert len(forms) == 9
    for form in [*forms[1:], "constant"]:
        choose(browser, "#form", form)
        eventually(lambda form=form: address_bar(browser).get("form") == form)
        eventually(lambda: not one(browser, "#wirings .problem").is_displayed())
        assert browser.switch_to.active_element.get_attribute("id") == "form"
    choose(browser, "#form", "free")
    fill(browser, one(browser, '[aria-label="m, the number of streams, exact value"]'), "3")
    eventually(lambda: address_bar(browser).get("streams") == "3")
    choose(browser, "#form", "row-stochastic")
    eventually(lambda: facts(browser).get("streams") == "3")


def test_a_matrix_is_typed_row_by_row(wirings):
    browser = wirings("?view=wirings&form=matrix&matrix=1/2,1/2;1/2,1/2&layers=20")
    area = one(browser, "textarea")
    assert area.get_attribute("value").split("\n") == ["1/2  1/2"] * 2
    fill(browser, area, "0 1 0\n0 0 1\n1, 0, 0")
    eventually(lambda: address_bar(browser).get("matrix") == "0,1,0;0,0,1;1,0,0")
    eventually(lambda: facts(browser).get("streams") == "3")
    assert "row 1, column 2: 1" in texts(browser, ".matrices title")
    choose(browser, "#write", "typed")
    eventually(lambda: address_bar(browser).get("write") == "1,0,0")


def test_a_stack_has_up_to_432_blocks(wirings):
    browser = wirings()
    choose(browser, "#depth", "")
    eventually(lambda: address_bar(browser).get("blocks") == "24")
    one(browser, '[aria-label^="N, the number"]').send_keys(Keys.END)
    eventually(lambda: "of 432 blocks" in facts(browser)["effective depth"])
    assert "layers" not in address_bar(browser)


def test_presets_are_marked_and_an_address_brings_the_view_back(wirings):
    browser = wirings(DOUBLY)
    pressed = "[data-preset][aria-pressed='true']"
    assert texts(browser, pressed) == ["Rows and columns that add up to 1"]
    one(browser, '[data-preset="Two streams, averaged"]').click()
    eventually(lambda: texts(browser, "#wirings .badge strong") == ["streams become alike"])
    assert texts(browser, pressed) == ["Two streams, averaged"]
    eventually(lambda: address_bar(browser).get("matrix") == "1/2,1/2;1/2,1/2")
    before = facts(browser)
    browser = wirings(browser.current_url.partition("/?")[2].join(["?", ""]))
    assert facts(browser) == before


def test_an_error_about_a_wiring_stands_beside_the_old_view(browser, wirings):
    wirings("?view=wirings&form=row-stochastic")
    field = one(browser, '[aria-label="s, the spread of the mixing, exact value"]')
    fill(browser, field, "3/2")
    eventually(lambda: "expected a number from 0 to 1" in one(browser, "#wirings .problem").text)
    assert field.get_attribute("aria-invalid") == "true" and "stale" in one(browser, "#wirings .side").get_attribute(
        "class"
    )
    fill(browser, field, "1/2")
    eventually(lambda: not one(browser, "#wirings .problem").is_displayed())
    refused = [entry["message"] for entry in browser.get_log("browser")]  # Chromium logs every answer of 422 itself
    assert all("422" in message for message in refused)


def test_a_link_with_a_wrong_wiring_shows_the_error_alone(page):
    browser = page("?view=wirings&form=matrix&matrix=1,2;3&layers=20", shown=("#wirings .controls",))
    eventually(lambda: "matrix has 2 rows" in one(browser, "#wirings .problem").text)
    assert not one(browser, "#wirings .panels").is_displayed() and not one(browser, "#wirings .more").is_displayed()
    fill(browser, one(browser, "textarea"), "1 0\n0 1")
    eventually(lambda: one(browser, "#wirings .matrices").is_displayed())
    assert one(browser, "#wirings .more").is_displayed()
    browser.get_log("browser")  # Chromium logs the answer of 422 itself


def test_on_a_phone_the_numbers_come_before_the_plots(wirings):
    browser = wirings(width=420, height=844)
    top = "return document.querySelector(arguments[0]).getBoundingClientRect().top"
    numbers, plots = (browser.execute_script(top, selector) for selector in ("#wirings .facts", "#wirings .panels"))
    assert numbers < plots


@pytest.mark.parametrize("form", ["first-state", "matrix", "free", "lists"])
def test_a_phone_needs_no_scrolling_sideways(wirings, form):
    browser = wirings(f"?view=wirings&form={form}", width=390, height=844)
    assert browser.execute_script("return document.documentElement.scrollWidth") == 390
    widths = (
        "return [...document.querySelectorAll('#wirings svg.plot')].map((plot) => plot.getBoundingClientRect().right)"
    )
    assert max(browser.execute_script(widths)) <= 390


def test_python_is_copied(browser, wirings, address):
    permissions = {"origin": address.rstrip("/"), "permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]}
    browser.execute_cdp_cmd("Browser.grantPermissions", permissions)
    wirings(DOUBLY)
    read = "navigator.clipboard.readText().then(arguments[0], (error) => arguments[0](String(error)))"
    one(browser, '[data-copy="wiring"]').click()
    eventually(lambda: 'draw_mixing("doubly-stochastic", 4, N, "0.3", seed=1)' in browser.execute_async_script(read))
    button(browser, "Copy link").click()
    eventually(lambda: "view=wirings&form=doubly-stochastic" in browser.execute_async_script(read))
