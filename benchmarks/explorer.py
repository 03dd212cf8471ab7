"""The explorer while somebody drags: from the movement of the slider to the page drawn, in a real browser.

Every movement waits for the one before, so that each is one request, its answer and its drawing; `server` is the part
up to the answer. The load of the machine is written down, because a second process on two cores doubles everything.
"""

import os
import re
import shutil
import statistics
import subprocess
import sys
from typing import Any

VIEWS = {
    "zerosnet, 27 blocks": ("?family=zerosnet&param=-9/5&blocks=27", ".slide"),
    "zerosnet, 432 blocks": ("?family=zerosnet&param=-9/5&blocks=432", ".slide"),
    "two schemes": ("?family=zerosnet&param=-9/5&vs.family=lm&vs.param=1/2&blocks=54", ".side.b .slide"),
    "free, 8 steps": ("?alphas=1/3,5/9,1/9,0,0,0,0,1/50&betas=1,1/2,1/3,1/4,1/5,1/6,1/7,1/8&blocks=54", ".slide"),
}
MOVEMENTS = 100

# moves the slider, and waits until the page has measured that update
_DRAG = """
const [selector, movements, done] = arguments;
const slider = document.querySelector(selector);
const [low, high] = [Number(slider.min), Number(slider.max)];
performance.clearMeasures("update");
performance.clearResourceTimings();
(async () => {
  for (let i = 1; i <= movements; i++) {
    slider.value = low + (high - low) * (0.1 + 0.8 * i / movements);
    slider.dispatchEvent(new Event("input", { bubbles: true }));
    while (performance.getEntriesByName("update").length < i) await new Promise((resolve) => setTimeout(resolve, 2));
  }
  const requests = performance.getEntriesByType("resource").filter(({ name }) => name.includes("/api/view"));
  const times = (entries) => entries.map(({ duration }) => duration);
  done([times(performance.getEntriesByName("update")), times(requests)]);
})();
"""


def run() -> dict[str, Any]:
    chromium, driver = shutil.which("chromium") or shutil.which("google-chrome"), shutil.which("chromedriver")
    if not (chromium and driver):
        return {"skipped": "there is no Chromium with its driver on this machine"}
    try:
        from selenium import webdriver
    except ModuleNotFoundError:
        return {"skipped": "selenium is not installed; it comes with: pip install 'zerosnet[test]'"}
    command = [sys.executable, "-m", "zerosnet", "explore", "--no-browser", "--port", "0"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        found = re.search(r"http://\S+", server.stdout.readline() if server.stdout else "")
        if found is None:
            return {"skipped": "the explorer did not start"}
        options = webdriver.ChromeOptions()
        options.binary_location = chromium
        for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1280,900"):
            options.add_argument(argument)
        browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
        try:
            return {"movements": MOVEMENTS, "load": os.getloadavg()[0], "views": _measure(browser, found.group())}
        finally:
            browser.quit()
    finally:
        server.terminate()
        server.wait()


def _measure(browser: Any, address: str) -> dict[str, Any]:
    browser.set_script_timeout(120)
    measured = {}
    for name, (query, slider) in VIEWS.items():
        browser.get(address + query)
        browser.execute_async_script("setTimeout(arguments[0], 3000)")  # the first drawing, and the exact sets
        updates, requests = browser.execute_async_script(_DRAG, slider, MOVEMENTS)
        measured[name] = {
            "median_ms": round(statistics.median(updates), 1),
            "slowest_tenth_ms": round(statistics.quantiles(updates, n=10)[-1], 1),
            "server_median_ms": round(statistics.median(requests), 1) if requests else None,
        }
        print(f"   {name}: {measured[name]}", flush=True)
    return measured
