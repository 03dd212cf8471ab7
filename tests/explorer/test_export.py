"""The page without a server: what is written, and in a real browser from a disk."""

import json
import re
from contextlib import suppress

import pytest
from tests.explorer.browsing import WITHOUT_A_BROWSER, button, label, one, texts, verdicts
from tests.explorer.serving import eventually

from zerosnet.cli.main import run
from zerosnet.errors import InputError

pytest.importorskip("pydantic", reason="the explorer's extra is not installed")

from zerosnet.explorer import export_page


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    folder = tmp_path_factory.mktemp("live")
    return folder, export_page(folder, "1/4")


def held(folder, name):
    """The views of a family, and where they lie."""
    text = (folder / f"data/{name}.js").read_text()
    index = (folder / "data/index.js").read_text()
    page = json.loads(index.removeprefix("globalThis.zerosnetPage = ").rstrip(";\n"))
    return json.loads(text.partition(" = ")[2].rstrip(";\n")), page["grids"][name]


def test_nothing_is_loaded_but_files_beside_the_page(exported):
    folder, written = exported
    html = (folder / "index.html").read_text()
    loaded = re.findall(r'(?:src|href)="([^"#]+)"', html)
    assert loaded and all((folder / name).is_file() for name in loaded)
    assert "module" not in html and "http" not in html
    assert all(path.is_file() for path in written)
    assert "drag its slider" in html and "Drag a coefficient" not in html
    assert "fetch(" in (folder / "page.js").read_text(), "the same page, which asks a server if it has one"


def test_a_view_is_the_servers_answer_in_fewer_digits(exported, client):
    views, grid = held(exported[0], "zerosnet")
    at = round((-2 - grid["low"]) / grid["step"])
    answer = client.get("/api/view", params={"family": "zerosnet", "param": "-2", "blocks": 27}).json()
    assert views[at]["analysis"]["alphas"] == answer["analysis"]["alphas"]
    assert views[at]["forecast"]["shares"] == pytest.approx(answer["forecast"]["shares"], rel=1e-4)
    assert views[at]["forecast"]["survivors"] == answer["forecast"]["survivors"]
    assert views[at]["forecast"]["accuracy"] == pytest.approx(answer["forecast"]["accuracy"], abs=0.01)
    assert views[at]["envelope"][:28] == pytest.approx(answer["envelope"]["log10"], abs=0.006)


def test_parameters_with_names_are_held_exactly_and_a_hole_is_none(exported):
    views, grid = held(exported[0], "zerosnet")
    for name in ("-9/5", "-1/5", "10", "1/3"):
        assert name in grid["named"], name
    assert views[grid["named"]["-9/5"]]["analysis"]["alphas"] == ["1/3", "5/9", "1/9"]
    assert views[round(-grid["low"] / grid["step"])] is None


def test_wirings_to_start_from_are_held_at_every_depth(exported, client):
    from zerosnet.explorer.wirings import PRESETS

    text = (exported[0] / "data/wirings.js").read_text()
    found = json.loads(text.partition(" = ")[2].rstrip(";\n"))
    assert len(found) == len(PRESETS) * 5
    _, query = PRESETS[-1]
    named = "&".join(sorted(f"{name}={value}" for name, value in (query | {"layers": "20"}).items()))
    answer = client.get("/api/wiring", params=query | {"layers": "20"}).json()
    assert found[named]["shares"] == pytest.approx(answer["shares"], rel=1e-4)
    assert found[named]["limit"] == answer["limit"]


@pytest.mark.parametrize("step", ["0", "2", "2/7", "-1/4"])
def test_a_step_that_does_not_divide_one_is_refused(tmp_path, step):
    with pytest.raises(InputError, match="step is"):
        export_page(tmp_path, step)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--step", "1/4"], "without --export"),
        (["--export", "/dev/null/x"], "cannot be made"),
        (["--export", "explorer.html"], "folder is 'explorer.html', the name of a page; expected a folder"),
    ],
)
def test_bad_input_is_one_line(arguments, words, capsys):
    assert run(["explore", *arguments]) == 2
    error = capsys.readouterr().err
    assert words in error and error.count("\n") == 1


@pytest.fixture
def disk(browser, exported):
    """Opens the page from the disk, and sees that the browser had nothing to complain about."""

    def open_page(query=""):
        screen = {"width": 1280, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
        browser.get((exported[0] / "index.html").as_uri() + query)
        eventually(lambda: texts(browser, ".badge strong"))
        eventually(lambda: texts(browser, "#scatter svg"))
        return browser

    browser.get("about:blank")
    browser.get_log("browser")
    yield open_page
    assert browser.get_log("browser") == []


@pytest.mark.browser
@WITHOUT_A_BROWSER
def test_from_a_disk_the_slider_moves_verdict_shares_and_accuracy(disk):
    browser = disk()
    assert verdicts(browser) == ["zero-stable"]
    before = texts(browser, ".words p")[0]
    slider = one(browser, ".slide")
    assert slider.get_attribute("step") == "0.25"
    browser.execute_script("arguments[0].value = 0.25; arguments[0].dispatchEvent(new Event('input'))", slider)
    eventually(lambda: verdicts(browser) == ["not zero-stable"])
    assert texts(browser, ".words p")[0] != before
    assert len(texts(browser, ".forecast rect.stage title")) == 54
    assert len(browser.find_elements("css selector", ".forecast rect.dies")) == 2 * 22, "five of 27 blocks survive"
    eventually(lambda: texts(browser, ".locus svg"))
    assert not browser.find_elements("css selector", ".grip")


@pytest.mark.browser
@WITHOUT_A_BROWSER
def test_from_a_disk_families_rows_and_comparison_work(disk):
    browser = disk("?family=lm&param=1/2")
    select = one(browser, "#family-a")
    names = [option.get_attribute("value") for option in select.find_elements("css selector", "option")]
    assert "from-roots" not in names and {"zerosnet", "euler", "lm", "momentum", "leapfrog", "free"} <= set(names)
    button(browser, "Compare two").click()
    eventually(lambda: len(verdicts(browser)) == 2)
    one(browser, '.side.a [data-label="1.84, 0.74, 0.74"]').click()
    eventually(lambda: verdicts(browser)[0] == "not zero-stable")
    assert "need a server" in texts(browser, ".side.a .numbers")[0]


@pytest.mark.browser
@WITHOUT_A_BROWSER
def test_from_a_disk_presets_of_wirings_work_and_others_need_a_server(disk):
    browser = disk()
    one(browser, '[data-to="wirings"]').click()
    eventually(lambda: texts(browser, "#wirings .badge strong") == ["the depth is used"])
    assert "need a server" in texts(browser, "#wirings .controls .hint")[0]
    assert not browser.find_elements("css selector", "#wirings .slide, #form")
    one(browser, '[data-preset="State grown"]').click()
    one(browser, '#depth option[value="110"]').click()
    eventually(lambda: "outgrows" in texts(browser, "#wirings .badge strong")[0])
    eventually(lambda: "over 54 blocks" in texts(browser, "#wirings .reason")[0])
    one(browser, '[data-to="schemes"]').click()
    eventually(lambda: one(browser, "#main").is_displayed())


@pytest.mark.browser
@WITHOUT_A_BROWSER
def test_from_a_disk_a_number_between_the_steps_is_refused_in_words(disk):
    browser = disk()
    field = one(browser, ".exact")
    field.clear()
    field.click()
    browser.execute_cdp_cmd("Input.insertText", {"text": "0.77"})
    eventually(
        lambda: (
            "steps of 0.25" in texts(browser, ".problem")[0] or "steps of 0.25" in texts(browser, ".side .problem")[0]
        )
    )


@pytest.mark.browser
@WITHOUT_A_BROWSER
def test_the_axis_of_accuracies_switches_to_effective_depth(disk):
    browser = disk()
    assert "largest modulus" in label(browser, "#scatter svg")
    one(browser, '[data-axis="depth"]').click()
    eventually(lambda: "effective depth" in label(browser, "#scatter svg"))
    assert "this scheme at 22.9" in label(browser, "#scatter svg").replace("−", "-")


@pytest.mark.browser
@WITHOUT_A_BROWSER
def test_every_measured_dot_has_a_label_and_outliers_always_if_there_is_room(disk):
    from selenium.common.exceptions import StaleElementReferenceException
    from selenium.webdriver import ActionChains

    browser = disk()
    one(browser, '[data-axis="depth"]').click()
    eventually(lambda: "effective depth" in label(browser, "#scatter svg"))
    shown = "return [...document.querySelectorAll(arguments[0])].map((found) => getComputedStyle(found).display)"
    labels = browser.execute_script(shown, "#scatter .dot-label")
    dots = browser.find_elements("css selector", "#scatter .plot path.measured, #scatter .plot path.printed")
    assert len(labels) == len(dots) > 80
    always = browser.execute_script(shown, "#scatter .dot-label.always")
    assert 1 <= len(always) <= 12 and "none" not in always
    assert len(labels) - labels.count("none") == len(always)

    def pointed_at():
        """Come to a dot from the corner, again if the plot was drawn anew meanwhile; what is labelled then."""
        with suppress(StaleElementReferenceException):
            dot = browser.find_elements("css selector", "#scatter .plot path.measured")[-1]
            ActionChains(browser, duration=20).move_to_element(one(browser, "h1")).move_to_element(dot).perform()
        return texts(browser, "#scatter .dot-label.seen")

    assert "%" in eventually(pointed_at)[0]
