"""The page in a real browser: no complaints, nothing wider than a phone, drawn quickly, light and dark."""

import os
import re
import shutil
import subprocess

import pytest
from tests.best import best_of
from tests.report.synthetic import many_specs, write_run

from zerosnet.report import write_report

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --hide-scrollbars --enable-logging=stderr --v=0"
)
# what the page cannot say about itself without a script; put into a copy of it. Asking for sizes makes the browser
# lay everything out before the clock is read.
PROBE = """<script>addEventListener("load", () => {
  const root = document.documentElement, every = name => [...document.querySelectorAll(name)];
  root.dataset.width = root.scrollWidth + "/" + root.clientWidth;
  root.dataset.boxed = every("table").every(t => t.parentElement.tabIndex === 0);
  root.dataset.height = root.scrollHeight;
  root.dataset.figure = Math.round(document.querySelector("figure").getBoundingClientRect().bottom);
  document.querySelectorAll("details").forEach(d => d.open = true);
  const noise = document.querySelector("#table-robustness .scroll");
  root.dataset.cut = noise.scrollWidth > noise.clientWidth;
  root.dataset.tall = Math.max(...every(".screen").map(s => s.clientHeight));
  root.dataset.charts = every("svg.plot").filter(s => s.getBoundingClientRect().width > 200).length;
  root.dataset.drawn = Math.round(performance.now());
  root.dataset.paper = getComputedStyle(document.body).backgroundColor;
  root.dataset.loaded = performance.getEntriesByType("resource").length;
});</script>"""

pytestmark = [pytest.mark.browser, pytest.mark.skipif(BROWSER is None, reason="no chromium was found")]


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """Sixty runs, with a probe at the end."""
    return _page(tmp_path_factory.mktemp("browser"), many_specs(120)[60:])


def _page(folder, specs):
    for spec in specs:
        write_run(folder / "runs", spec)
    path = write_report(folder / "report.html", [folder / "runs"])
    path.write_text(path.read_text().replace("</body>", f"{PROBE}</body>"))
    return path


def look(page, tmp_path, width: int, *flags: str) -> tuple[dict[str, str], str]:
    """What the probe found, and what the browser logged to its console."""
    command = [BROWSER, *FLAGS.split(), f"--user-data-dir={tmp_path}", f"--window-size={width},900", *flags]
    done = subprocess.run([*command, "--dump-dom", page.as_uri()], capture_output=True, text=True, timeout=120)
    root = re.search(r"<html([^>]*)>", done.stdout)
    assert root, done.stderr[-2000:]
    console = "\n".join(line for line in done.stderr.splitlines() if "CONSOLE" in line)
    return dict(re.findall(r'data-(\w+)="([^"]*)"', root[1])), console


@pytest.mark.parametrize("width", [1280, 390, 320])
def test_it_is_drawn_without_complaints_and_fits_the_screen(page, tmp_path, width):
    found, console = look(page, tmp_path, width)
    assert console == ""
    assert int(found["charts"]) >= 10
    wide, screen = map(int, found["width"].split("/"))
    assert wide <= screen
    assert found["boxed"] == "true"
    assert found["cut"] == ("false" if width == 1280 else "true"), "Table 6 fits a desktop"
    assert found["loaded"] == "0"


def test_it_is_short_with_its_first_figure_on_the_first_screen(page, tmp_path):
    """Eight screens of 900 pixels before anything is unfolded, and no more than one for an experiment that is."""
    found, _ = look(page, tmp_path, 1400)
    assert int(found["height"]) <= 8 * 900 and int(found["figure"]) <= 900
    assert int(found["tall"]) <= 900


def test_a_page_with_an_error_would_be_noticed(tmp_path):
    broken = tmp_path / "broken.html"
    broken.write_text("<html><body><script>console.error('broken')</script></body></html>")
    assert "broken" in look(broken, tmp_path / "profile", 800)[1]


@pytest.mark.timing
def test_a_page_of_five_hundred_runs_is_drawn_in_less_than_two_seconds(tmp_path):
    page = _page(tmp_path, many_specs(500))
    drawn = best_of(5, lambda: int(look(page, tmp_path / "profile", 1280)[0]["drawn"]), 2000)
    assert drawn < 2000, f"load {os.getloadavg()[0]:.1f}"


def test_it_is_dark_where_the_reader_wants_it_dark(page, tmp_path):
    light, _ = look(page, tmp_path / "light", 1280)
    dark, _ = look(page, tmp_path / "dark", 1280, "--blink-settings=preferredColorScheme=0")
    assert light["paper"] == "rgb(255, 255, 255)" and dark["paper"] == "rgb(20, 23, 27)"


def test_it_can_be_printed(page, tmp_path):
    target = tmp_path / "report.pdf"
    command = [BROWSER, *FLAGS.split(), f"--user-data-dir={tmp_path / 'profile'}", f"--print-to-pdf={target}"]
    subprocess.run([*command, page.as_uri()], capture_output=True, timeout=120, check=True)
    assert target.read_bytes().startswith(b"%PDF") and target.stat().st_size > 20_000
