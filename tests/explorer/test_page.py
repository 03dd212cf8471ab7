"""The page in a real browser: what it answers when somebody moves something."""

from urllib.parse import urlparse

import pytest
from tests.explorer.browsing import WITHOUT_A_BROWSER, address_bar, button, fill, label, one, texts, verdicts
from tests.explorer.serving import eventually, start, stop
from tests.ports import free_port

pytestmark = [pytest.mark.browser, WITHOUT_A_BROWSER]
pytest.importorskip("selenium", reason="selenium is not installed")

from selenium.webdriver import ActionChains, Keys  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402


def test_dragging_lambda_from_the_optimum_over_minus_one_changes_the_verdict(page):
    browser = page()
    assert verdicts(browser) == ["zero-stable"]
    slider, exact = one(browser, ".slide"), one(browser, ".exact")
    assert exact.get_attribute("value") == "-9/5"
    low, high = (float(slider.get_attribute(end)) for end in ("min", "max"))
    per_pixel = (slider.size["width"] - 16) / (high - low)  # 16: the thumb
    thumb = (-1.8 - (low + high) / 2) * per_pixel
    drag = ActionChains(browser, duration=20).move_to_element_with_offset(slider, round(thumb), 0).click_and_hold()
    for i in range(20):
        drag.move_by_offset(round((i + 1) * per_pixel / 10) - round(i * per_pixel / 10), 0)
    drag.release().perform()
    dragged = float(exact.get_attribute("value"))
    assert -0.1 < dragged < 0.6
    for _ in range(200):  # the rest by keyboard
        value = float(exact.get_attribute("value"))
        if value == 0.2:
            break
        slider.send_keys(Keys.ARROW_RIGHT if value < 0.2 else Keys.ARROW_LEFT)
    eventually(lambda: verdicts(browser) == ["not zero-stable"])
    eventually(lambda: address_bar(browser).get("param") == "0.2")
    assert "outside the unit circle" in texts(browser, ".reason")[0]
    assert browser.find_elements(By.CSS_SELECTOR, ".root.outside")


def test_a_slider_keeps_its_ends_while_it_moves_between_them(page):
    browser = page("?family=from-roots&param=-1,-1/3")
    slider = one(browser, ".slide")
    slider.send_keys(Keys.ARROW_LEFT)
    eventually(lambda: address_bar(browser).get("param") == "-1.01,-1/3")
    assert (slider.get_attribute("min"), slider.get_attribute("max")) == ("-1.5", "1.5")
    exact = one(browser, ".exact")
    exact.clear()
    exact.send_keys("-9/4")
    eventually(lambda: slider.get_attribute("min") == "-3")


def test_the_locus_can_be_dragged_too(page):
    browser = page()
    room = one(browser, ".room.locus")
    ActionChains(browser).move_to_element(room).click_and_hold().move_by_offset(-8, 0).release().perform()
    eventually(lambda: verdicts(browser) == ["not zero-stable"])
    assert -1 < float(one(browser, ".exact").get_attribute("value")) < 1 / 3


def test_an_exact_value_is_decided_exactly(page):
    browser = page()
    for text, expected in (("-1", "zero-stable"), ("1/3", "not zero-stable"), ("0.33333334", "zero-stable")):
        fill(browser, one(browser, ".exact"), text)
        eventually(lambda expected=expected: verdicts(browser) == [expected])
    button(browser, "−1").click()  # an end of the stable set
    eventually(lambda: texts(browser, ".badge .kind") == ["weakly stable"])


@pytest.mark.parametrize("row", ["1.84, 0.74, 0.74", "0.33, 0.33, 1.00"])
def test_presets_are_the_paper_s_rows(page, row):
    browser = page("?family=momentum&param=0.5")
    assert len(browser.find_elements(By.CSS_SELECTOR, ".presets button")) == 10
    one(browser, f'.presets [data-label="{row}"]').click()
    expected = "not zero-stable" if row.startswith("1.84") else "zero-stable"
    eventually(lambda: verdicts(browser) == [expected])
    moduli = sorted(float(number) for number in row.split(", "))

    def shown():
        facts = dict(zip(texts(browser, ".facts dt"), texts(browser, ".facts dd")))
        return sorted(round(float(number), 2) for number in facts["moduli of the roots"].split(", ")) == moduli

    eventually(shown)


def test_every_family_can_be_chosen(page):
    browser = page()
    for family in ("euler", "lm", "momentum", "leapfrog", "adams-bashforth", "from-roots", "free", "zerosnet"):
        one(browser, f'#family-a option[value="{family}"]').click()
        eventually(lambda family=family: address_bar(browser).get("family", "free") == family)
        eventually(lambda: not one(browser, ".card .problem").is_displayed())
        eventually(lambda: verdicts(browser) == ["zero-stable"])


def test_a_shared_address_names_the_number_that_moves(page):
    browser = page("?alphas=1/3,5/9,1/9&betas=16/9")
    assert "over α₀" in label(browser, ".locus svg")
    browser.find_elements(By.CSS_SELECTOR, ".slide")[3].send_keys(Keys.ARROW_RIGHT)
    eventually(lambda: address_bar(browser).get("vary") == "beta0")
    browser = page("?" + urlparse(browser.current_url).query)
    assert "over β₀" in label(browser, ".locus svg")


def test_free_coefficients_go_up_to_eight_steps(page):
    browser = page("?alphas=1/2&betas=1")
    for _ in range(7):
        button(browser, "+ α").click()
    assert not button(browser, "+ α").is_enabled()
    eventually(lambda: address_bar(browser).get("alphas") == "1/2,0,0,0,0,0,0,0")
    assert verdicts(browser) == ["zero-stable"]


def test_two_schemes_are_compared_side_by_side_and_the_address_brings_them_back(page):
    browser = page()
    button(browser, "Compare two").click()
    eventually(lambda: len(verdicts(browser)) == 2)
    one(browser, '#family-b option[value="lm"]').click()
    one(browser, '.side.b option[value="paper"]').click()
    exact = one(browser, ".side.b .exact")
    exact.clear()
    exact.send_keys("3/2")
    eventually(lambda: verdicts(browser) == ["zero-stable", "not zero-stable"])
    eventually(lambda: address_bar(browser).get("vs.param") == "3/2" and address_bar(browser).get("vs.beta") == "paper")
    a, b = (one(browser, f".side.{key}").rect for key in "ab")
    assert a["x"] + a["width"] <= b["x"]
    query = "?" + urlparse(browser.current_url).query
    browser = page(query)
    eventually(lambda: verdicts(browser) == ["zero-stable", "not zero-stable"])
    assert len(browser.find_elements(By.CSS_SELECTOR, "#envelope .curve")) == 2
    assert len(browser.find_elements(By.CSS_SELECTOR, "#scatter .current")) == 2
    button(browser, "Close B").click()
    eventually(lambda: "vs.family" not in address_bar(browser))
    assert len(verdicts(browser)) == 1


def test_a_shared_address_shows_the_same_view(page):
    browser = page("?family=zerosnet&param=1/4&blocks=54")
    assert verdicts(browser) == ["not zero-stable"]
    assert one(browser, ".exact").get_attribute("value") == "1/4"
    assert one(browser, "#blocks-value").text == "54"
    assert "54 blocks" in label(browser, "#envelope svg")


def test_the_number_of_blocks_can_be_set_by_keyboard(page):
    browser = page()
    one(browser, "#blocks").send_keys(Keys.END)
    eventually(lambda: "432 blocks" in label(browser, "#envelope svg"))
    one(browser, "#blocks").send_keys(Keys.HOME)
    eventually(lambda: "9 blocks" in label(browser, "#envelope svg"))


def test_the_scheme_is_copied_as_python_command_and_latex(page, browser, address):
    permissions = {"origin": address.rstrip("/"), "permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]}
    browser.execute_cdp_cmd("Browser.grantPermissions", permissions)
    page()
    read = "navigator.clipboard.readText().then(arguments[0], (error) => arguments[0](String(error)))"
    for name, expected in (
        ("python", 'Scheme.parse("zerosnet(-9/5)")'),
        ("command", "zerosnet analyze 'zerosnet(-9/5)'"),
        ("latex", r"y_{n+1} = \frac{1}{3} y_{n}"),
    ):
        one(browser, f'[data-copy="{name}"]').click()
        eventually(lambda expected=expected: expected in browser.execute_async_script(read))
    button(browser, "Copy link").click()
    eventually(lambda: "family=zerosnet&param=-9/5" in browser.execute_async_script(read))


def test_an_error_of_the_server_stands_beside_the_old_view(browser, page):
    page()
    exact = one(browser, ".exact")
    exact.clear()
    exact.send_keys("0")
    eventually(lambda: "lambda is 0" in one(browser, ".card .problem").text)
    assert exact.get_attribute("aria-invalid") == "true"
    exact.send_keys(".5")
    eventually(lambda: not one(browser, ".card .problem").is_displayed())
    eventually(lambda: verdicts(browser) == ["zero-stable"])
    refused = [entry["message"] for entry in browser.get_log("browser")]  # Chromium logs every answer of 422 itself
    assert all("422" in message for message in refused)


def test_a_lost_server_is_reported_and_the_page_recovers(browser, page):
    process, url = start(free_port())
    try:
        page(url=url)
        stop(process)
        one(browser, ".slide").send_keys(Keys.ARROW_RIGHT)
        eventually(lambda: one(browser, "#away").is_displayed())
        one(browser, ".exact").clear()
        one(browser, ".exact").send_keys("1/4")
        process, again = start(int(urlparse(url).port))
        assert again == url
        eventually(lambda: not one(browser, "#away").is_displayed())
        eventually(lambda: verdicts(browser) == ["not zero-stable"])
    finally:
        browser.get("about:blank")  # before the server is gone for good, which would be said once more
        stop(process)
    lost = [entry["message"] for entry in browser.get_log("browser")]
    assert all("ERR_CONNECTION" in message or "ERR_EMPTY" in message for message in lost)
