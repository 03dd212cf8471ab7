"""What the pages claim is what the package, the benchmarks and the results say."""

import itertools
import json
import re
import tomllib
from fractions import Fraction
from pathlib import Path

import pytest
from tests.docs.blocks import DOCS, ROOT
from tests.docs.pages import page, rows

from zerosnet.experiments import EXPERIMENTS
from zerosnet.experiments.costs import cost
from zerosnet.numerics import Scheme, design, growth, order, real_interval, root_condition
from zerosnet.numerics.designs.optimum import barrier, shifted_symmetric
from zerosnet.training import RECIPES, recipe


def test_every_experiment_has_its_row_and_its_table() -> None:
    listed = {re.findall(r"`([\w-]+)`", row[1])[0]: row[0] for row in rows(page("reproduce.md")) if "`" in row[1]}
    assert set(listed) == set(EXPERIMENTS)
    for name, where in listed.items():
        assert where.split(",")[0] == EXPERIMENTS[name].reference.partition(" (")[0]


def test_the_cost_of_everything_is_what_the_measured_rates_give() -> None:
    specs = {spec.id: spec for one in EXPERIMENTS.values() for spec in one.specs("full")}
    timed = [spec for spec in specs.values() if cost([spec]).gpu_seconds is not None]
    hours = (cost(timed).gpu_seconds or 0) / 3600
    text = " ".join(page("reproduce.md").split())
    assert f"{len(specs)} trainings. For {len(timed)} of them" in text
    assert f"about {hours:.1f} hours" in text
    (grouped,) = (row[-3:] for row in rows(page("scaling.md")) if row[0] == "**everything**")
    assert "{} on one GPU, {} on 8 and {} on 64".format(*grouped) in text


def test_the_choosing_table_is_true() -> None:
    checked = 0
    for row in rows(page("choose.md")):
        if len(row) != 6 or not (name := re.match(r"`(.+?)`", row[0])):
            continue
        text = name[1]
        scheme = design(4, 2).scheme if text.startswith("design") else Scheme.parse(text)
        assert scheme is not None
        moduli = sorted(root_condition(scheme).moduli)[:-1]
        if row[1] == "none":
            assert moduli == []
        else:
            assert max(moduli) == pytest.approx(float(Fraction(row[1])), abs=6e-3), text
        assert growth(scheme, 27).constant == pytest.approx(float(row[2]), rel=0.01), text
        assert real_interval(scheme) == (0 if row[3] == "none" else Fraction(row[3])), text
        assert order(scheme) == int(row[4]), text
        checked += 1
    assert checked >= 8


def test_the_barrier_of_the_theorems_page_holds() -> None:
    for d, p in itertools.product(range(1, 9), range(1, 9)):
        if p <= d:
            assert design(d, p).feasible is (2 * (p - 1) <= d), (d, p)
    for p in range(2, 9):
        assert all(barrier(d, p) is not None for d in range(p, 2 * (p - 1)))
    assert shifted_symmetric(4, 2, Fraction(1, 2)) == Fraction(2 * 1, 8) - Fraction(1, 6)
    assert shifted_symmetric(3, 2, Fraction(1, 2)) == -Fraction(1, 6)


def test_the_recipes_are_all_listed_with_their_epochs() -> None:
    listed = {row[0].strip("`"): row[2] for row in rows(page("train.md")) if row[0].startswith("`")}
    assert set(RECIPES) <= set(listed)
    for name in RECIPES:
        first, _, second = listed[name].partition(" / ")
        assert recipe(name, "cifar10").epochs == int(first)
        assert recipe(name, "cifar100").epochs == int(second or first)


def test_every_address_of_the_explorer_page_is_answered() -> None:
    testing = pytest.importorskip("fastapi.testclient", reason="the explorer's extra is not installed")
    from zerosnet.explorer.app import create_app

    client = testing.TestClient(create_app(), "http://localhost")
    addresses = re.findall(r"`(/api[^`]*)`", page("explorer.md"))
    assert {address.partition("?")[0] for address in addresses} >= set(create_app().openapi()["paths"])
    assert [client.get(address).status_code for address in addresses] == [200] * len(addresses)


def test_accuracies_are_those_of_the_committed_runs() -> None:
    results = [json.loads(path.read_text()) for path in sorted(ROOT.glob("results/runs/zerosnet20_opt-*/result.json"))]
    assert len(results) == 9
    for result in results:
        assert f"{100 * result['best_test_accuracy']:.2f}" in page("performance.md")
        assert f"{100 * result['test_accuracy']:.2f}" in page("performance.md")


def test_the_architecture_page_has_the_rooms_as_they_are() -> None:
    listed = {row[0].strip("`") for row in rows(page("architecture.md")) if row[0].startswith("`")}
    source = ROOT / "src/zerosnet"
    assert listed == {path.name for path in source.iterdir() if (path / "__init__.py").exists()}


def test_every_extra_that_docs_need_is_declared() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert any("mkdocs-material" in one for one in project["optional-dependencies"]["docs"])


def test_every_figure_of_the_docs_is_drawn_by_the_script() -> None:
    scripts = [(DOCS / "figures" / name).read_text(encoding="utf-8") for name in ("draw.py", "explorer.py")]
    drawn = set(re.findall(r'"(\w+\.(?:svg|png))"', "".join(scripts)))
    used = {Path(name).name for text in map(page, _pages()) for name in re.findall(r"\(images/(\S+?)\)", text)}
    assert used - drawn == set()


def _pages() -> list[str]:
    return [str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md")]
