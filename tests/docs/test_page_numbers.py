"""The pages are what tools/page_numbers.py writes, and the records behind them reached their targets."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.measured_runs import needs_runs
from tools.markdown_tables import BENCHMARKS, benchmark, span

from tools import cost_tables, page_numbers, speed_tables
from zerosnet.errors import InputError
from zerosnet.experiments import EXPERIMENTS, cost, group_seconds
from zerosnet.experiments.costs import against_timed


@needs_runs
@pytest.mark.parametrize("page", page_numbers.PAGES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_pages_are_what_the_generator_writes(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert page_numbers.filled(text) == text, "run: make results"


@needs_runs
def test_every_table_and_value_is_used_by_a_page() -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in page_numbers.PAGES)
    assert [name for name in page_numbers.TABLES if f"<!-- measured: {name} -->" not in text] == []
    assert [name for name in page_numbers.VALUES if f"<!-- value: {name} -->" not in text] == []


def test_a_value_and_a_table_are_replaced_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(page_numbers.VALUES, "made up", lambda: "7")
    monkeypatch.setitem(page_numbers.TABLES, "made up too", lambda: "| a |")
    text = "so <!-- value: made up -->6<!-- /value --> it is\n\n<!-- measured: made up too -->\nold\n<!-- end -->\n"
    once = page_numbers.filled(text)
    assert once == (
        "so <!-- value: made up -->7<!-- /value --> it is\n\n<!-- measured: made up too -->\n\n| a |\n\n<!-- end -->\n"
    )
    assert page_numbers.filled(once) == once


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a <!-- value: nothing -->1<!-- /value -->", "value is 'nothing'; expected one of"),
        ("<!-- measured: nothing -->\n<!-- end -->", "table is 'nothing'; expected one of"),
        ("<!-- value: checkpoint, s -->1<!-- /value -->", "put a word before it"),
    ],
)
def test_a_mark_that_cannot_be_filled_is_an_error(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        page_numbers.filled(text)


def test_a_span_of_equal_numbers_is_one_number() -> None:
    assert span([1.001, 0.999]) == "1.00"
    assert span([2, 1], 0) == "1 to 2"


def test_ten_networks_on_one_gpu_take_what_was_measured_and_more_gpus_help() -> None:
    specs = EXPERIMENTS["table-zerosnet-cifar10"].specs("full")[:10]
    alone = cost_tables.makespan(specs, 1)
    assert alone == pytest.approx(cost(specs).gpu_seconds)
    assert alone / 10 < cost_tables.makespan(specs, 8) < alone
    assert cost_tables.makespan(specs, 64) == cost_tables.makespan(specs[:1], 1)


def test_groups_of_the_size_that_was_timed_take_what_was_measured() -> None:
    deep = [spec for spec in EXPERIMENTS["table-generalisation-gap"].specs("full") if "326" in spec.model]
    digits = EXPERIMENTS["table-fgsm"].specs("full")
    assert against_timed(deep[:3]) == against_timed(digits[:10]) == 1
    assert cost_tables.makespan(deep, 3) == pytest.approx(cost(deep[:3]).gpu_seconds), "three groups of three"
    alone = against_timed(digits[:1])
    assert against_timed(deep[:1]) < alone < 10, "three were timed, and ten"
    assert against_timed(deep) < 1


def test_the_hours_of_bottlenecks_are_of_groups_of_nine_at_either_depth() -> None:
    specs = cost_tables._bottlenecks()
    groups = [[spec for spec in specs if depth in spec.model] for depth in ("164", "326")]
    assert [len(group) for group in groups] == [9, 9] and all(spec.recipe.epochs == 500 for spec in specs)
    seconds = [group_seconds(group) for group in groups]
    assert cost_tables.makespan(specs, 1) == pytest.approx(sum(seconds))


def test_a_network_that_was_not_timed_has_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    rates = {("zerosnet50_opt", "workers"): 4000.0}
    monkeypatch.setattr(cost_tables, "imagenet_rate", lambda network, who: rates.get((network, who)))
    *others, ours = cost_tables.imagenet().splitlines()[2:]
    assert ours == "| `zerosnet50_opt` | 256 | 4,000 | 13.3 h | 100 min |"
    assert all(line.count(cost_tables.UNKNOWN) == 3 for line in others)


# -- the records -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", benchmark("training-cuda")["rows"], ids=lambda row: row["case"])
def test_training_reached_its_target_and_an_epoch_is_not_shorter_than_its_parts(row: dict[str, Any]) -> None:
    assert row["target"] is None or row["seconds_per_epoch_and_network"] <= row["target"]
    parts = (speed_tables.STEPS_PER_EPOCH * row["step_ms"] + row["evaluation_ms"]) / 1e3
    assert row["seconds_per_epoch"] > 0.97 * parts


def test_the_authors_way_is_compared_with_training_in_the_same_run() -> None:
    found = []
    for name in speed_tables.WITH_AUTHORS:
        record = benchmark(name)
        ten = next(row for row in record["rows"] if row["case"] == "56 layers, K=10, native")
        assert ten["arithmetic"] == benchmark("training-cuda-ten")["rows"][0]["arithmetic"], "the present kernels"
        found.append(record["authors"]["seconds_per_epoch"] / ten["seconds_per_epoch_and_network"])
    assert speed_tables._times_faster() == pytest.approx(found)


def test_imagenet_the_explorer_and_the_demonstration_reached_their_targets() -> None:
    imagenet = benchmark("imagenet-cuda")
    for name in ("preresnet / timm", "zerosnet / preresnet"):
        assert imagenet["ratios"][name] >= imagenet["targets"][name]
    assert max(view["median_ms"] for view in benchmark("explorer")["views"].values()) < 100
    demo = benchmark("demo-cpu")
    assert demo["demo_seconds"] < demo["targets"]["demo_seconds"]


def test_every_record_names_its_command_or_its_sources() -> None:
    for path in sorted(BENCHMARKS.glob("*.json")):
        record = json.loads(path.read_text(encoding="utf-8"))
        assert "command" in record or "what" in record, path.name
