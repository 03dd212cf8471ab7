"""Photograph the explorer for the pages: python docs/figures/explorer.py (needs Chromium, its driver, selenium)"""

import base64
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

from selenium import webdriver

IMAGES = Path(__file__).parent.parent / "images"
VIEWS = {
    "explorer.png": "?family=zerosnet&param=1/4&blocks=27",  # one of the paper's rows, not zero-stable
    "explorer_wirings.png": "?view=wirings&form=doubly-stochastic&streams=4&spread=0.3&seed=1&blocks=27",
}
WIDTH = 1280


def main() -> None:
    command = [sys.executable, "-m", "zerosnet", "explore", "--no-browser", "--port", "0"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or shutil.which("google-chrome") or "chromium"
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"):
        options.add_argument(argument)
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
    try:
        found = re.search(r"http://\S+", server.stdout.readline() if server.stdout else "")
        assert found, "the explorer did not start"
        for name, view in VIEWS.items():
            (IMAGES / name).write_bytes(photograph(browser, found.group() + view))
            print(f"docs/images/{name}")
    finally:
        browser.quit()
        server.terminate()
        server.wait()


def photograph(browser: webdriver.Chrome, address: str) -> bytes:
    """The whole page as PNG."""
    size = {"width": WIDTH, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.get(address)
    time.sleep(4)  # the first drawing, and the exact sets
    height = browser.execute_script("return document.querySelector('footer').getBoundingClientRect().bottom")
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {**size, "height": round(height) + 12})
    browser.execute_script("document.querySelector('#latency').hidden = true")  # of the machine, not of the page
    time.sleep(2)
    return base64.b64decode(browser.execute_cdp_cmd("Page.captureScreenshot", {})["data"])


if __name__ == "__main__":
    main()
