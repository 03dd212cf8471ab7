"""Which sections the page has, in which order, and what their lines promise."""

import re

import pytest
from tests.report.synthetic import specs_of_rows, write_run

from zerosnet.report import write_report


@pytest.fixture
def store(tmp_path):
    """Two runs of one network; the first was attacked with noise on 50 images only."""
    first, second, _ = specs_of_rows(seeds=(1, 2, 3))[:3]
    attacks = write_run(tmp_path / "runs", first) / "attacks"
    (attacks / "paper-noise.json").rename(attacks / "paper-noise+images=50.json")
    (attacks / "paper-pgd.json").unlink()
    write_run(tmp_path / "runs", second, attacks=False)
    return tmp_path / "runs"


def folds(page):
    return re.findall(r"<summary>([^<]*)</summary>", page)


def test_noise_on_some_images_is_shown_with_their_number(store, tmp_path):
    page = write_report(tmp_path / "page.html", [store]).read_text()
    assert "Noise: 50 images" in folds(page) and "Noise" not in folds(page)
    assert "Gaussian noise" in page[page.index("Noise: 50 images") :]


def test_noise_on_some_and_on_all_images_has_two_parts(store, tmp_path):
    write_run(store, specs_of_rows(seeds=(3,))[0])
    page = write_report(tmp_path / "page.html", [store]).read_text()
    assert {"Noise", "Noise: 50 images"} <= set(folds(page))


def test_the_line_above_curves_names_those_that_are_drawn(store, tmp_path):
    words = "Curves: test error over the epochs"
    all_three = f"{words}, accuracy with blocks switched off, share of every block"
    assert all_three in folds(write_report(tmp_path / "page.html", [store]).read_text())
    for ablation in store.glob("*/ablation.json"):
        ablation.unlink()
    assert words in folds(write_report(tmp_path / "page.html", [store]).read_text())


def test_named_experiments_come_first_and_are_open(store, tmp_path):
    page = write_report(tmp_path / "page.html", [store], named=["table-parameters"]).read_text()
    assert page.index('id="experiments"') < page.index('id="own"')
    first, *others = re.findall(r'<details class="folded[^>]* id="(?:table|figure)-[^>]*>', page)
    assert 'id="table-parameters" open' in first
    assert others and not any(" open" in one for one in others)


def test_without_a_name_experiments_come_after_the_runs_and_are_closed(store, tmp_path):
    page = write_report(tmp_path / "page.html", [store]).read_text()
    assert page.index('id="own"') < page.index('id="experiments"')
    assert not re.search(r'<details class="folded[^>]* id="table-[^>]* open', page)


def test_printing_hides_no_rows_and_no_figures(store, tmp_path):
    style = write_report(tmp_path / "page.html", [store]).read_text().partition("@media print")[2]
    hidden = re.findall(r"([^{}]*)\{[^{}]*display: none", style.partition("</style>")[0])
    assert hidden and not any(re.search(r"\b(tr|figure)\b", one) for one in hidden)
