"""A page in a real browser, and what stands on it."""

import shutil
from contextlib import contextmanager
from urllib.parse import parse_qs, urlparse

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
WITHOUT_A_BROWSER = pytest.mark.skipif(
    not (CHROMIUM and DRIVER), reason="there is no Chromium with its driver on this machine"
)


@contextmanager
def started():
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    try:
        yield driver
    finally:
        driver.quit()


def texts(browser, selector):
    """In one step: what is drawn anew meanwhile cannot get in between."""
    script = "return [...document.querySelectorAll(arguments[0])].map((found) => found.textContent)"
    return browser.execute_script(script, selector)


def label(browser, selector):
    script = "return document.querySelector(arguments[0])?.getAttribute('aria-label') ?? ''"
    return browser.execute_script(script, selector)


def verdicts(browser):
    return texts(browser, ".badge strong")


def one(browser, selector):
    return browser.find_element("css selector", selector)


def button(browser, text):
    return next(b for b in browser.find_elements("tag name", "button") if text in b.text)


def fill(browser, field, text):
    """Put text into a field at once: what is half-typed would be asked for too, if keys came slowly."""
    field.clear()
    field.click()
    browser.execute_cdp_cmd("Input.insertText", {"text": text})


def address_bar(browser):
    return {name: values[0] for name, values in parse_qs(urlparse(browser.current_url).query).items()}
