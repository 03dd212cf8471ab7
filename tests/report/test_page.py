"""The page: self-contained, complete, escaped, robust, small and quick."""

import os
import re
import subprocess
import sys
import time
from html.parser import HTMLParser

import pytest
from tests.best import best_of
from tests.report.synthetic import many_specs, specs_of_rows, write_run

from zerosnet.cli.main import run
from zerosnet.experiments import EXPERIMENTS
from zerosnet.numerics import PAPER_ROWS
from zerosnet.report import write_report
from zerosnet.training import RunSpec, recipe

EMPTY = {"meta", "br", "hr", "col"}


class Outline(HTMLParser):
    """Elements that were opened and not closed, ids, and links into the page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.names: set[str] = set()
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.names.add(tag)
        if tag not in EMPTY:
            self.open.append(tag)
        found = dict(attrs)
        self.ids += [found["id"]] if found.get("id") else []
        self.links += [found["href"]] if found.get("href") else []

    def handle_startendtag(self, tag, attrs):
        self.names.add(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """Runs of nine of the ten rows at 56 layers with attacks, one of them stopped; nothing else."""
    root = tmp_path_factory.mktemp("page") / "runs"
    specs = specs_of_rows(seeds=(1, 2, 3))
    for spec in specs[:-1]:
        write_run(root, spec)
    write_run(root, specs[-1], finished=False)
    return root


@pytest.fixture(scope="module")
def page(store, tmp_path_factory):
    return write_report(tmp_path_factory.mktemp("out") / "report.html", [store]).read_text()


def test_the_page_is_well_formed_with_unique_ids_and_no_dead_links(page):
    outline = Outline(page)
    assert outline.open == []
    assert len(outline.ids) == len(set(outline.ids))
    assert {link.removeprefix("#") for link in outline.links} <= set(outline.ids)


def test_the_page_needs_nothing_from_outside_and_runs_no_script(page):
    outline = Outline(page)
    assert not outline.names & {"script", "img", "link", "iframe", "object", "embed", "video", "base", "form"}
    assert not re.search(r"https?:|url\(|@import|javascript:|\son\w+=", page)


def test_every_experiment_with_runs_is_behind_a_line_and_the_others_are_one_line(page, store, tmp_path):
    there = set(EXPERIMENTS) & set(Outline(page).ids)
    assert {"table-zerosnet-cifar10", "table-robustness"} <= there and "table-pgd" not in there
    others = page.partition("Not in these stores: ")[2].partition(". ")[0].split(", ")
    assert set(others) == set(EXPERIMENTS) - there
    whole = write_report(tmp_path / "paper.html", [store], paper=True).read_text()
    assert set(EXPERIMENTS) <= set(Outline(whole).ids) and "Not in these stores" not in whole


def test_the_first_screen_is_headline_figure_three_numbers_and_the_stores(page, store):
    header = page[page.index("<header") : page.index("</header>")]
    order = [header.index(words) for words in ("<h1>", "<figure", 'class="facts three"', f"In {store}: ")]
    assert order == sorted(order) and header.count("<figure") == 2 and header.count("<li><b>") == 3
    assert "29 finished runs, 1 stopped" in header


def test_every_scheme_has_a_row_with_roots_shares_predicted_and_measured(page):
    section = page[page.index('id="own"') : page.index("</section>", page.index('id="own"'))]
    for row in PAPER_ROWS:
        assert f">{row.scheme.name}</span>" in section
    assert section.count("Roots of moduli") == 2 * len(PAPER_ROWS), "label and tooltip"
    assert section.count("Share of every block") == 2 * len(PAPER_ROWS)
    first = section[section.index("<tbody") :].split("</tr>")[0]
    assert re.search(r'<td class="n">\d+\.\d</td><td class="n">9\d\.\d\d ± [^<]*</td><td class="n">9\d\.\d</td>', first)


def test_a_users_own_runs_are_shown_before_anything_else(tmp_path):
    """Ten runs on digits, of which no table of the paper knows."""
    book = recipe("quick", "digits")
    for row in PAPER_ROWS[:5]:
        for seed in (1, 2):
            write_run(tmp_path / "runs", RunSpec("zerosnet20", "digits", book, seed, row.scheme), attacks=False)
    text = write_report(tmp_path / "report.html", [tmp_path / "runs"]).read_text()
    assert "5 networks in these stores: digits, 20 layers, recipe quick" in text
    assert "effective depth, from the coefficients" in text and "paper&#x27;s row" in text
    assert not set(EXPERIMENTS) & set(Outline(text).ids)
    own = text[text.index('id="own"') :]
    assert own.count("± ") >= 10 and "predicted %" not in own.partition("</table>")[0], "the law is not about digits"


def test_registered_predictions_stand_beside_what_was_measured(store, tmp_path):
    import json
    import shutil

    shutil.copytree(store, tmp_path / "runs")
    spec = specs_of_rows(seeds=(1,))[0]
    one = {"run": spec.id, "scheme": str(spec.scheme), "predicted_accuracy": {"root_condition": 84.2, "parts": 80.5}}
    waiting = {"run": "zerosnet56-cifar10-paper-s9-00000000", "predicted_accuracy": {"parts": 90.0}}
    (tmp_path / "predictions").mkdir()
    for name, each in (("done", [one, waiting]), ("later", [waiting])):
        file = tmp_path / "predictions" / f"{name}.json"
        file.write_text(json.dumps({"date": "2026-01-02 03:04 UTC", "predictions": each}))
    (tmp_path / "predictions" / "torn.json").write_text("{")
    text = write_report(tmp_path / "report.html", [tmp_path / "runs"]).read_text()
    section = text[text.index('id="registered"') : text.index('id="experiments"')]
    measured = 100 * json.loads((tmp_path / "runs" / spec.id / "result.json").read_text())["best_test_accuracy"]
    assert "done, 2026-01-02 03:04 UTC: 1 of 2 measured</span>" in section and ">Errors: root condition" in section
    assert f"; parts {abs(80.5 - measured):.2f}" in section and f">{measured:.1f}</td>" in section
    assert "Not measured yet: later (1 networks, 2026-01-02 03:04 UTC)." in section


def test_predictions_of_networks_that_had_a_result_are_left_out(store, tmp_path):
    import json
    import shutil

    shutil.copytree(store, tmp_path / "runs")
    first, second = specs_of_rows(seeds=(1,))[:2]
    for spec, begun in ((first, "2026-01-01 00:00 UTC"), (second, "2026-01-03 00:00 UTC")):
        place = tmp_path / "runs" / spec.id / "environment.json"
        known = json.loads(place.read_text()) if place.exists() else {}
        place.write_text(json.dumps({**known, "begun": begun}))
    predicted = {"contributions, best": 80.0, "contributions, last": 70.0}
    each = [{"run": spec.id, "scheme": str(spec.scheme), "predicted_accuracy": predicted} for spec in (first, second)]
    (tmp_path / "predictions").mkdir()
    file = tmp_path / "predictions" / "laws.json"
    file.write_text(json.dumps({"date": "2026-01-02 03:04 UTC", "predictions": each}))
    text = write_report(tmp_path / "report.html", [tmp_path / "runs"]).read_text()
    result = json.loads((tmp_path / "runs" / second.id / "result.json").read_text())
    best, last = 100 * result["best_test_accuracy"], 100 * result["test_accuracy"]
    errors = f"weights in the head, best {abs(80 - best):.2f}; weights in the head, last {abs(70 - last):.2f}"
    assert "laws, 2026-01-02 03:04 UTC: 1 of 1 measured</span>" in text and f">Errors: {errors}</small>" in text
    assert "had a result before they were predicted: 1 of laws." in text


def test_every_part_of_the_page_is_there(page):
    ids = set(Outline(page).ids)
    assert {"own", "experiments", "more", "claims", "runs", "words"} <= ids
    assert "Gaussian noise" in page and "f switched off from block n on" in page and "test error (%)" in page
    assert "sanity checks of the attacks failed" in page and "PGD not weaker than FGSM" in page
    assert "Sanity check not made: eps 0.5 leaves about nothing: no attack of that eps" in page
    assert all(f"<dt>{word}" in page for word in ("zero-stable (Z. S.)", "effective depth", "used depth"))


def test_measured_numbers_stand_beside_printed_ones(page):
    section = page[page.index('id="table-robustness"') : page.index('id="table-uniform-noise"')]
    assert "67.01±1.08" in section and re.search(r"\([+−][\d.]+\u00a0sd\)", section)


def test_every_run_has_its_command_and_the_environment_is_shown(page, store):
    for folder in store.iterdir():
        assert folder.name in page
    assert "zerosnet train zerosnet56 --dataset cifar10 --recipe paper" in page
    assert "zerosnet reproduce table-robustness --scale full --data DIR" in page
    assert "Made-up processor" in page


def test_every_figure_is_described(page):
    labels = re.findall(r'role="img" aria-label="([^"]*)"', page)
    assert len(labels) == page.count('role="img"') and all(len(label) > 30 for label in labels)


def test_the_page_is_the_same_every_time(store, page, tmp_path):
    assert write_report(tmp_path / "again.html", [store]).read_text() == page


def test_the_page_of_an_empty_store_names_it(tmp_path):
    (tmp_path / "runs").mkdir()
    text = write_report(tmp_path / "report.html", [tmp_path / "runs"]).read_text()
    assert "There are no runs in" in text and "zerosnet reproduce" in text
    assert "measured when this package was made" in text and text.count("<figure") == 2
    assert Outline(text).open == []


def test_packaged_records_are_marked_and_give_way_to_the_stores(tmp_path):
    (tmp_path / "runs").mkdir()
    words = "recorded with the package; they are not in the stores"
    assert words not in write_report(tmp_path / "none.html", [tmp_path / "runs"]).read_text()
    assert words in write_report(tmp_path / "paper.html", [tmp_path / "runs"], paper=True).read_text()
    chosen = EXPERIMENTS["table-comparison"]
    spec = next(spec for spec in chosen.specs("full") if spec.model == "zerosnet20_opt" and spec.dataset == "cifar10")
    write_run(tmp_path / "runs", spec, attacks=False)
    text = write_report(tmp_path / "one.html", [tmp_path / "runs"], paper=True).read_text()
    section = text[text.index('id="table-comparison"') : text.index('id="table-imagenet"')]
    assert words not in section and "1 of 3 seeds" in section


def test_damaged_runs_are_listed_and_the_rest_is_shown(tmp_path):
    root = tmp_path / "runs"
    good, torn, odd, gone = [write_run(root, spec) for spec in specs_of_rows(seeds=(1,), epochs=2)[:4]]
    (torn / "spec.json").write_text("{")
    (odd / "attacks" / "paper-noise.json").write_text('{"rows": 3}')
    (gone / "result.json").write_text("[]")
    text = write_report(tmp_path / "report.html", [root]).read_text()
    assert "3 damaged files, left out of everything" in text
    for folder in (good, torn, odd, gone):
        assert folder.name in text


EVIL = "</style><script>alert(1)</script><img src=x onerror=alert(1)>&\"'"


def test_text_from_a_run_folder_never_becomes_markup(tmp_path):
    import json

    root = tmp_path / "runs"
    folder = write_run(root, specs_of_rows(seeds=(1,), epochs=2)[0])
    (folder / "environment.json").write_text(json.dumps({"platform": EVIL, EVIL: EVIL, "cpu": {"model": EVIL}}))
    attack = json.loads((folder / "attacks" / "paper-pgd.json").read_text())
    attack["notes"], attack["checks"][0] = [EVIL], {"name": EVIL, "passed": False, "detail": EVIL}
    attack["rows"][1]["method"] = attack["rows"][1]["label"] = EVIL
    (folder / "attacks" / f"{EVIL.replace('/', '')}.json").write_text(json.dumps(attack))
    spec = json.loads((folder / "spec.json").read_text())
    (folder / "spec.json").write_text(json.dumps({**spec, "model": EVIL}))
    (root / "torn<b>").mkdir()
    (root / "torn<b>" / "spec.json").write_text("{")
    text = write_report(tmp_path / "report.html", [root]).read_text()
    outline = Outline(text)
    assert outline.open == [] and not outline.names & {"script", "img"}
    assert "<b>.json" not in text and "torn<b>" not in text and "torn&lt;b&gt;" in text


def test_the_command_writes_the_page_of_several_stores(store, tmp_path, capsys):
    other = specs_of_rows((20,), (1,), epochs=2)[0]
    write_run(tmp_path / "more", other)
    target = tmp_path / "deep" / "report.html"
    assert run(["report", str(store), str(tmp_path / "more"), "-o", str(target)]) == 0
    assert "Report:" in capsys.readouterr().out
    assert other.id in target.read_text()


def test_stores_may_also_be_named_by_an_option(store, tmp_path, capsys):
    other = specs_of_rows((20,), (1,), epochs=2)[0]
    write_run(tmp_path / "more", other)
    target = tmp_path / "report.html"
    assert run(["report", "--store", str(store), "--store", str(tmp_path / "more"), "-o", str(target)]) == 0
    assert other.id in target.read_text() and not capsys.readouterr().err


def test_an_empty_store_is_told_at_the_terminal_too(tmp_path, capsys):
    (tmp_path / "empty").mkdir()
    assert run(["report", str(tmp_path / "empty"), "-o", str(tmp_path / "report.html")]) == 0
    out, err = capsys.readouterr()
    assert "Report:" in out and err == f"zerosnet: There are no runs in {tmp_path / 'empty'}\n"
    assert f"There are no runs in {tmp_path / 'empty'}." in (tmp_path / "report.html").read_text()


def test_the_old_page_stays_if_writing_fails(store, tmp_path, monkeypatch):
    target = tmp_path / "report.html"
    target.write_text("before")
    monkeypatch.setattr(
        "zerosnet.report.page.document.render", lambda evidence, **options: (_ for _ in ()).throw(RuntimeError("no"))
    )
    with pytest.raises(RuntimeError):
        write_report(target, [store])
    assert target.read_text() == "before" and list(tmp_path.iterdir()) == [target]


@pytest.mark.timing
def test_five_hundred_runs_take_less_than_twenty_seconds_and_five_megabytes(tmp_path):
    for spec in many_specs(500):
        write_run(tmp_path / "runs", spec)
    path = tmp_path / "report.html"
    command = [sys.executable, "-m", "zerosnet", "report", str(tmp_path / "runs"), "-o", str(path)]

    def once():
        began = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True, timeout=300)
        return time.perf_counter() - began

    assert best_of(3, once, 20) < 20, f"load {os.getloadavg()[0]:.1f}"
    assert path.stat().st_size < 5e6


def test_a_store_whose_only_run_is_damaged_is_not_called_empty(tmp_path):
    folder = tmp_path / "runs" / "run"
    folder.mkdir(parents=True)
    (folder / "spec.json").write_text("[" * 100_000)
    text = write_report(tmp_path / "report.html", [tmp_path / "runs"]).read_text()
    assert "No run in" in text and "There are no runs" not in text and "1 damaged file" in text
