"""The explorer while somebody drags: from the movement of a slider to the page painted, in a real browser.

Every movement waits for the one before, so that each is one request, its answer, its drawing and the browser's next
frame, which comes 60 times a second; `server` is the part up to the answer. The load of the machine is written down
before and after (this benchmark itself is 1 to 1.5), because a second process on two cores doubles everything.
"""

import os
import re
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_EIGHT = "alphas=1/3,5/9,1/9,0,0,0,0,1/50&betas=1,1/2,1/3,1/4,1/5,1/6,1/7,1/8"
_SEVEN_ROOTS = "family=from-roots&param=-1/3,1/2,-1/2,1/4,-1/4,z^2%2B1/9"
VIEWS = {  # the address, and the slider that moves
    "euler": ("family=euler&param=1&blocks=27", ".slide"),
    "lm": ("family=lm&param=1/2&blocks=27", ".slide"),
    "lm, beta as printed": ("family=lm&param=1/2&beta=paper&blocks=27", ".slide"),
    "lm, beta 1": ("family=lm&param=1/2&beta=original&blocks=27", ".slide"),
    "zerosnet, 27 blocks": ("family=zerosnet&param=-9/5&blocks=27", ".slide"),
    "zerosnet, 432 blocks": ("family=zerosnet&param=-9/5&blocks=432", ".slide"),
    "zerosnet, number of blocks": ("family=zerosnet&param=-9/5&blocks=27", "#blocks"),
    "momentum": ("family=momentum&param=0.9&blocks=27", ".slide"),
    "adams-bashforth": ("family=adams-bashforth&param=3&blocks=27", ".slide"),
    "from roots, 2": ("family=from-roots&param=-1/3,-1/3&blocks=27", ".slide"),
    "from roots, 7": (f"{_SEVEN_ROOTS}&blocks=54", ".slide"),
    "free, 3 steps": ("alphas=1/3,5/9,1/9&betas=16/9&blocks=27", ".slide"),
    "free, 8 steps": (f"{_EIGHT}&blocks=54", ".slide"),
    "free, 8 steps, 432 blocks": (f"{_EIGHT}&blocks=432", ".slide"),
    "two schemes": ("family=zerosnet&param=-9/5&vs.family=lm&vs.param=1/2&blocks=54", ".side.b .slide"),
}
ANSWERS = {  # the query with a number from -1 to 1 that moves
    "zerosnet, 27 blocks": "family=zerosnet&param={}",
    "free, 3 steps": "alphas={},5/9,1/9&betas=16/9",
    "free, 8 steps, 432 blocks": "alphas={},5/9,1/9,0,0,0,0,1/50&betas=1,1/2,1/3,1/4,1/5,1/6,1/7,1/8&blocks=432",
}
MOVEMENTS = 100

# moves the slider, waits until the page has drawn that update, and then until the browser has painted it
_DRAG = """
const [selector, movements, done] = arguments;
const slider = document.querySelector(selector);
const [low, high] = [Number(slider.min), Number(slider.max)];
const pause = (after) => new Promise((resolve) => after(resolve));
const painted = () => pause(requestAnimationFrame).then(() => pause(setTimeout));
performance.clearMeasures("update");
performance.clearResourceTimings();
(async () => {
  const movement = [];
  for (let i = 1; i <= movements; i++) {
    await painted();
    const since = performance.now();
    slider.value = low + (high - low) * (0.1 + 0.8 * i / movements);
    slider.dispatchEvent(new Event("input", { bubbles: true }));
    while (performance.getEntriesByName("update").length < i) await pause((resolve) => setTimeout(resolve, 1));
    await painted();
    movement.push(performance.now() - since);
  }
  const requests = performance.getEntriesByType("resource").filter(({ name }) => name.includes("/api/view"));
  done([movement, requests.map(({ duration }) => duration)]);
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
    with served() as (_, address):
        options = webdriver.ChromeOptions()
        options.binary_location = chromium
        for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1280,900"):
            options.add_argument(argument)
        browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
        try:
            before, views = os.getloadavg()[0], _measure(browser, address)
            loads = {"load": before, "load_after": os.getloadavg()[0]}
            return {"movements": MOVEMENTS, **loads, "views": views, "answers": _answers()}
        finally:
            browser.quit()


@contextmanager
def served() -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """Start the explorer as a user does, for a while; give its process and its address."""
    command = [sys.executable, "-m", "zerosnet", "explore", "--no-browser", "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        found = re.search(r"http://\S+", process.stdout.readline() if process.stdout else "")
        if found is None:
            raise RuntimeError("the explorer did not start")
        yield process, found.group()
    finally:
        process.terminate()
        process.wait()


def _answers() -> dict[str, Any]:
    """Milliseconds of CPU for /api/view, in this process: shares and prediction included, no network, no browser."""
    from fastapi.testclient import TestClient

    from zerosnet.explorer.app import create_app
    from zerosnet.explorer.server import _warm_up

    _warm_up()
    client = TestClient(create_app(), "http://localhost")
    measured = {}
    for name, query in ANSWERS.items():
        spent = []
        for k in range(-MOVEMENTS // 2, MOVEMENTS // 2):
            begin = time.process_time()
            client.get(f"/api/view?{query.format((2 * k + 1) / MOVEMENTS)}").raise_for_status()
            spent.append(1000 * (time.process_time() - begin))
        kept = spent[1:]  # the first one loads sympy
        measured[name] = {"median_ms": round(statistics.median(kept), 1), "slowest_ms": round(max(kept), 1)}
        print(f"   {name}, answer: {measured[name]}", flush=True)
    return measured


def _measure(browser: Any, address: str) -> dict[str, Any]:
    browser.set_script_timeout(120)
    measured = {}
    for name, (query, slider) in VIEWS.items():
        browser.get(f"{address}?{query}")
        browser.execute_async_script("setTimeout(arguments[0], 3000)")  # the first drawing, and the exact sets
        movements, requests = browser.execute_async_script(_DRAG, slider, MOVEMENTS)
        measured[name] = {
            "median_ms": round(statistics.median(movements), 1),
            "slowest_tenth_ms": round(statistics.quantiles(movements, n=10)[-1], 1),
            "slowest_ms": round(max(movements), 1),
            "server_median_ms": round(statistics.median(requests), 1) if requests else None,
        }
        print(f"   {name}: {measured[name]}", flush=True)
    return measured
