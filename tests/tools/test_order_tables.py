"""The tables of predicted and measured order, of records that were made up."""

import json
from pathlib import Path

import pytest

from tools import order_tables

RESULTS = Path(__file__).parents[2] / "results"


def predictions(name):
    return json.loads((RESULTS / "predictions" / f"{name}.json").read_text())["predictions"]


@pytest.fixture
def results(tmp_path):
    (tmp_path / "predictions").symlink_to(RESULTS / "predictions")
    return tmp_path


def finish(results, run, **result):
    folder = results / "runs" / run
    folder.mkdir(parents=True)
    (folder / "result.json").write_text(json.dumps({"status": "finished", "epochs": 1, "seconds": 1.0, **result}))


def rows(text):
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()[2:]]


def test_nothing_is_shown_before_a_network_is_trained(results):
    assert order_tables.section(results) == order_tables.ranks(results) == order_tables.places(results) == ""


def test_networks_in_the_predicted_order_have_a_correlation_of_one(results):
    for one in predictions("cifar100"):
        newest = next(new for new in predictions(order_tables.PENDING) if new["run"] == one["run"])
        finish(results, one["run"], best_test_accuracy=0.75 - newest["order"] / 100)
    found = {cells[1]: cells[2:] for cells in rows(order_tables.ranks(results)) if cells[0] == "CIFAR-100"}
    assert found["`paper`"][:2] == ["10", "1.00"] and 0.5 < float(found["`paper`"][2]) < 1
    assert found["`official`"] == ["3", "–", "–"], "three networks have no correlation"
    assert order_tables.section(results).startswith("## Order on other data")


def test_the_order_of_the_sweep_counts_if_a_run_is_in_two(results):
    """PreResNet-56 is alone in a sweep, and the fourth of another."""
    depths = {one["run"]: one["order"] for one in predictions("cifar100-depths")}
    for run in depths:
        finish(results, run, best_test_accuracy=0.7)
    found = {one.name: one for one in order_tables.networks(results, "cifar100-depths")}
    assert found["preresnet56"].by_law == 4 and found["preresnet56"].runs == 3
    assert [one.by_law for one in order_tables.networks(results, "cifar100-preresnet")] == [1]


def test_errors_are_compared_with_that_of_the_network_on_place_one(results):
    for one in predictions("generalisation-gap"):
        finish(results, one["run"], best_test_accuracy=1 - 0.25 * one["relative_error"])
    found = rows(order_tables.places(results))
    assert len(found) == 9 and all(cells[3] == cells[4] for cells in found)


def test_a_search_joins_its_rates_and_a_network_that_diverged_comes_last(results):
    for one in predictions("no-norm-search"):
        if one["root_condition_order"] == 4:
            finish(results, one["run"], status="diverged")
        else:
            accuracy = 0.9 - one["root_condition_order"] / 100 + (one["order"] == 1) / 200
            finish(results, one["run"], validation_accuracy=accuracy, best_test_accuracy=0.1)
    (cells,) = rows(order_tables.ranks(results))
    assert cells[2] == "5" and float(cells[4]) > 0.9
    assert [one.runs for one in order_tables.networks(results, "no-norm-search")] == [4] * 5
    assert rows(order_tables.places(results))[-1][5:] == ["diverged", "4"]


def test_every_predicted_order_has_a_table():
    """Other files predict accuracies, or places, or the order of screened networks."""
    named = {path.stem for path in (RESULTS / "predictions").glob("*.json")}
    ordered = {
        name
        for name in named - {order_tables.PENDING}
        if any("relative_error" in one or "root_condition_order" in one for one in predictions(name))
        and (RESULTS / "sweeps" / f"{name}.json").exists()
    }
    assert ordered <= set(order_tables.GROUPS)
