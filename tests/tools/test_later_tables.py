"""Networks that are trained after their predictions: made-up runs go through the tables and the fit."""

import json
import random
import shutil
from pathlib import Path

import pytest
from tests.measured_runs import RUNS, needs_runs
from tools.compare_laws import Form, printed, splits, table
from tools.fit_law import as_text, fitted, read_groups

from tools import later_tables
from zerosnet.numerics import AccuracyLaw, Scheme
from zerosnet.training import read_sweep

RESULTS = Path(__file__).parents[2] / "results"
SWEEPS = ("block-schemes", "block-schemes-control", "depth")
pytestmark = needs_runs


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """The records of the repository, and made-up ones of three sweeps, half a point around their prediction."""
    folder = tmp_path_factory.mktemp("results")
    (folder / "predictions").symlink_to(RESULTS / "predictions")
    (folder / "runs").mkdir()
    for run in RUNS.iterdir():
        if not later_tables.is_later([run.name]):
            (folder / "runs" / run.name).symlink_to(run)
    known = json.loads((RESULTS / "predictions/with-floor.json").read_text())["predictions"]
    predicted = {one["run"]: one.get("predicted_accuracy", {}).get("parts") for one in known}
    for name in SWEEPS:
        for spec in read_sweep(RESULTS / "sweeps" / f"{name}.json"):
            place = folder / "runs" / spec.id
            accuracy = predicted[spec.id] + random.Random(spec.id).choice((-0.5, 0.5))
            place.mkdir()
            (place / "spec.json").write_text(json.dumps(spec.to_json()))
            result = {"status": "finished", "best_test_accuracy": accuracy / 100, "test_accuracy": accuracy / 100}
            (place / "result.json").write_text(json.dumps(result))
    return folder


def rows(text: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()[2:]]


def test_nothing_is_shown_as_long_as_nothing_is_trained(tmp_path):
    (tmp_path / "predictions").symlink_to(RESULTS / "predictions")
    assert later_tables.errors(tmp_path) == later_tables.networks(tmp_path) == "None of them is trained yet."
    assert later_tables.waiting(tmp_path).startswith("betas that grow or shrink; initial weights that grow")


def test_every_group_has_the_error_of_every_law_as_it_was_registered(results):
    found = {name: cells for name, *cells in rows(later_tables.errors(results))}
    assert list(found) == [
        "betas that grow or shrink",
        "initial weights that grow, read from initial shares",
        "initial weights that grow, read from coefficients",
        "f switched off, equal depth, restart",
        "**all**",
    ]
    assert [cells[0] for cells in found.values()] == ["6", "2", "2", "16", "24"]
    assert float(found["betas that grow or shrink"][1]) <= 0.51, "seeds are joined"
    assert float(found["initial weights that grow, read from coefficients"][1]) > 8
    assert all(float(cells[4]) > float(cells[1]) for name, cells in found.items() if "initial" not in name), "count"


def test_all_laws_are_taken_from_the_newest_file_that_predicted_a_network(results):
    newest = {
        one["run"]: one[later_tables.PLAIN]
        for file in later_tables.NEWER
        for one in json.loads((RESULTS / f"predictions/{file}.json").read_text())["predictions"]
        if later_tables.PLAIN in one
    }
    found = later_tables.tested(results)
    assert len(found) == 24
    assert all(one.predicted[later_tables.PLAIN] in newest.values() for one in found if one.inside is not None)
    assert {"restart" in one.name for one in later_tables.by_package(results)} == {True}, "they are not trained yet"


def test_a_network_that_did_not_learn_is_listed_and_left_out_of_the_fit(results, tmp_path):
    (tmp_path / "predictions").symlink_to(RESULTS / "predictions")
    shutil.copytree(results / "runs", tmp_path / "runs", symlinks=True)
    lost = next(spec for spec in read_sweep(RESULTS / "sweeps/depth.json") if spec.stage_change == "restart")
    path = tmp_path / "runs" / lost.id / "result.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"best_test_accuracy": 0.25, "train_accuracy": 0.2}))
    *_, all_of_them, learned = rows(later_tables.errors(tmp_path))
    assert [all_of_them[:2], learned[:2]] == [["**all**", "24"], ["**all that learned**", "23"]]
    assert float(all_of_them[2]) > 10 > float(learned[2])
    fitted_on = [runs for _, runs in read_groups("best", runs=tmp_path / "runs")]
    assert len(fitted_on) == len(read_groups("best", runs=results / "runs")) - 1
    assert not any(lost.id in runs for runs in fitted_on)


def test_predictions_that_were_registered_as_not_calibrated_are_listed_and_are_no_test_of_the_law(tmp_path):
    (tmp_path / "predictions").symlink_to(RESULTS / "predictions")
    (tmp_path / "runs").mkdir()
    for file in ("decay", "ten-rows"):
        for run in later_tables.predictions_of(file):
            (tmp_path / "runs" / run).symlink_to(RUNS / run)
    *groups, all_of_them = rows(later_tables.errors(tmp_path))
    assert [cells[:2] for cells in groups] == [["ten rows, other depths", "20"], ["small betas, other decay", "6"]]
    assert all_of_them[:2] == ["**all**", "20"]
    assert all(one.inside is not None for one in later_tables.tested(tmp_path)), "each has an interval"


def test_laws_that_refused_to_predict_have_no_error(tmp_path):
    (tmp_path / "predictions").mkdir()
    accuracies = {"parts": 90.0, "shares": None, "root_condition": 80.0}
    one = {"run": "run", "model": "zerosnet56", "scheme": "1,1,1;1", "predicted_accuracy": accuracies}
    written = {"laws": {"parts": {}}, "predictions": [one]}
    (tmp_path / "predictions/depth.json").write_text(json.dumps(written))
    (tmp_path / "runs/run").mkdir(parents=True)
    (tmp_path / "runs/run/result.json").write_text(json.dumps({"status": "finished", "best_test_accuracy": 0.91}))
    heads, _, row, _ = later_tables.errors(tmp_path).splitlines()
    assert "shares" not in heads and "| 1.00 | 11.00 | -1.0 |" in row


def test_runs_that_are_missing_are_counted(results, tmp_path):
    assert "restart" not in later_tables.waiting(results)
    (tmp_path / "predictions").symlink_to(RESULTS / "predictions")
    for spec in read_sweep(RESULTS / "sweeps/depth.json"):
        if spec.stage_change is None:
            (tmp_path / "runs" / spec.id).mkdir(parents=True)
            (tmp_path / "runs" / spec.id / "result.json").touch()
    assert "restart at stage changes (4)" in later_tables.waiting(tmp_path)


def test_every_network_stands_with_its_predictions_and_its_miss(results):
    found = rows(later_tables.networks(results))
    assert len(found) == 6 + 2 * 2 + 16
    names = [name for _, name, *_ in found]
    assert len(set(names)) == len(names), "no two are called alike"
    wanted = f"{Scheme.parse('-3,5,-1;4').short_name} (restart)"
    restart = next(cells for _, name, *cells in found if name.startswith(wanted))
    parts, shares, _, measured, seeds, miss = restart
    assert float(parts) - float(shares) > 5, "the two laws differ here"
    assert seeds == "1" and float(parts) - float(measured) == pytest.approx(float(miss), abs=0.11)
    assert any("f switched off after 2 multistep blocks" in name for name in names)
    control = [cells for _, name, *cells in found if "1.841^n" in name]
    assert len(control) == 2 and control[0][3] == control[1][3], "one measurement, two readings"


def test_a_refit_takes_schemes_per_block_and_restart_and_leaves_initial_growth_out(results):
    points = [point for point, _ in read_groups("best", runs=results / "runs")]
    before = [point for point, runs in read_groups("best") if not later_tables.is_later(runs)]
    assert len(points) == len(before) + 22, "6 and 16 networks; the control has none"
    assert sum(bool(point.block_schemes) for point in points) == 6
    assert sum(point.stage_change == "restart" for point in points) == 4 + sum(
        p.stage_change == "restart" for p in before
    )
    assert sum(point.beta_growth != "1" for point in points) == 4


@pytest.mark.slow
def test_the_refitted_law_is_written_and_read_with_all_its_networks(results):
    laws = fitted(results / "runs")
    read = json.loads(as_text(laws))["laws"]
    for law, data in zip(laws, read, strict=True):
        networks = AccuracyLaw.from_json(data).networks
        assert [one.wiring for one in networks] == [one.wiring for one in law.networks]
        assert [one.left_out for one in networks] == pytest.approx([one.left_out for one in law.networks], rel=1e-5)
    assert all(law.fitted(one.wiring) is one for law in laws[:1] for one in law.networks)
    assert laws[0].rmse < 2, "the made-up accuracies are those of the first law of parts, which has no threshold"


def test_laws_are_compared_on_networks_that_they_were_not_fitted_on(results):
    ways = {way.name: way for way in splits(read_groups("best", runs=results / "runs"))}
    assert not (ways["random"].fitted & ways["random"].predicted).any()
    assert not (ways["later"].fitted & ways["later"].predicted).any()
    assert not (ways["random"].fitted & ways["later"].predicted).any(), "what is older knows nothing of what is later"
    assert (int(ways["random"].predicted.sum()), int(ways["later"].predicted.sum())) == (28, 22)
    heads, *lines = table("best", [Form("weight in the head", "u^2/(u^2+tau^2)", floor=True)], results / "runs")
    assert [head.partition(" ")[0] for head in heads[2:]] == ["left", "random", "later"]
    name, _, *errors = lines[-1]
    assert "floor" in name and float(errors[2]) < 1 < float(lines[0][-1])


def test_a_run_that_did_not_finish_is_left_out(results, tmp_path):
    spec = read_sweep(RESULTS / "sweeps/depth.json")[0]
    place = tmp_path / spec.id
    place.mkdir()
    (place / "spec.json").write_text(json.dumps(spec.to_json()))
    (place / "result.json").write_text(json.dumps({"status": "diverged", "best_test_accuracy": None}))
    assert read_groups("best", runs=tmp_path) == []


def test_the_papers_printed_tables_are_predicted_by_every_law(capsys):
    printed()
    errors = {
        name.strip(): float(rms)
        for _, name, rms, *_ in (line.split("|") for line in capsys.readouterr().out.splitlines())
    }
    assert errors["law of parts"] < errors["law of shares"] < errors["root condition"] < errors["a constant"]
