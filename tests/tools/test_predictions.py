"""Predictions on record: every run of a sweep has one, and later ones do not replace it."""

import json
from math import isfinite
from pathlib import Path

import pytest

from tools import register
from zerosnet.training import read_sweep

RESULTS = Path(__file__).parents[2] / "results"
PREDICTED = {path.name for path in (RESULTS / "predictions").glob("*.json")}
SWEEPS = sorted(path for path in (RESULTS / "sweeps").glob("*.json") if path.name in PREDICTED)
BASELINES = {"parts", "shares", "root_condition", "constant"}


def predictions(name: str) -> list[dict]:
    return json.loads((RESULTS / "predictions" / f"{name}.json").read_text())["predictions"]


@pytest.mark.parametrize("path", SWEEPS, ids=lambda path: path.stem)
def test_every_run_of_a_sweep_was_predicted(path: Path) -> None:
    assert [one["run"] for one in predictions(path.stem)] == [spec.id for spec in read_sweep(path)]


def test_predictions_of_the_law_name_its_rivals_too() -> None:
    covered = [one for one in predictions("with-floor") if "parts" in one.get("predicted_accuracy", {})]
    assert len(covered) > 100
    for one in covered:
        assert BASELINES | {"count"} <= set(one["predicted_accuracy"])
        assert all(value is None or isfinite(value) for value in one["predicted_accuracy"].values())


def test_other_data_have_an_order_and_no_accuracy() -> None:
    for one in predictions("cifar100"):
        assert "predicted_accuracy" not in one and "cifar100" in one["not_calibrated"]
        assert one["order"] >= 1 and one["relative_error"] >= 1


def test_without_normalisation_the_root_condition_orders_the_schemes() -> None:
    found = {one["scheme"]: one["root_condition_order"] for one in predictions("no-norm-search")}
    assert sorted(found.values()) == [1, 1, 2, 3, 4]
    assert found["1,1,1;1"] == 4


def test_a_file_of_predictions_is_never_written_again(tmp_path: Path) -> None:
    there = tmp_path / "there.json"
    there.write_text("{}")
    with pytest.raises(SystemExit, match="never edited"):
        register.main(str(RESULTS / "sweeps" / "adam.json"), str(there))
    assert there.read_text() == "{}"


def test_recipes_of_other_images_have_a_place_and_no_accuracy() -> None:
    specs = read_sweep("results/sweeps/smoothing.json")
    found = register.ordered(specs, [register.entry(spec) for spec in specs])
    places = [one["place"]["parts"] for one in found]
    assert sorted(places)[0] == 0 and sorted(places)[-1] == 1
    assert all("predicted_accuracy" not in one for one in found)
    assert all(one["place"]["root_condition"] == float(one["zero_stable"]) for one in found)
