"""Predictions on record find the runs that they are about, and only those."""

import json
from dataclasses import replace

import pytest
from tests.report.synthetic import write_run

from zerosnet.experiments import Register, collect, experiment, is_about, predicted_rows, read_evidence
from zerosnet.numerics import Scheme, forecast
from zerosnet.training import RunSpec, Store, recipe

SCHEME = Scheme.parse("1,1,1;1")


def spec(**fields) -> RunSpec:
    given = {"model": "zerosnet56", "dataset": "cifar10", "recipe": recipe("paper", "cifar10"), "seed": 7}
    return RunSpec(**{**given, "scheme": SCHEME, **fields})


def said(**options) -> dict:
    return {"date": "2026-11-01 10:00 UTC", **forecast(SCHEME, **options).to_json()}


def test_a_prediction_is_about_the_network_with_its_growth_and_stage_change():
    plain, grown, restarted = said(), said(beta_growth="1.839"), said(stage_change="restart")
    runs = [spec(), spec(beta_growth="1.839"), spec(stage_change="restart")]
    matches = [[is_about(one, run) for run in runs] for one in (plain, grown, restarted)]
    assert matches == [[True, False, False], [False, True, False], [False, False, True]]


@pytest.mark.parametrize(
    "other",
    [
        {"model": "zerosnet44"},
        {"dataset": "cifar100"},
        {"scheme": Scheme.parse("2,-1;1")},
        {"init_growth": "1.839"},
        {"scheme": None, "block_schemes": [SCHEME] * 25},
    ],
)
def test_a_prediction_is_not_about_another_network(other):
    assert not is_about(said(), spec(**other))


def registered_in(tmp_path, predictions, run, begun=None):
    folder = write_run(tmp_path / "runs", run, attacks=False)
    if begun is not None:
        known = json.loads((folder / "environment.json").read_text())
        (folder / "environment.json").write_text(json.dumps({**known, "begun": begun}))
    (tmp_path / "runs" / "predictions.json").write_text(json.dumps({"predictions": predictions}))
    return Register(read_evidence(Store(tmp_path / "runs"))).find(run)


def test_a_prediction_in_the_store_counts_unless_the_run_had_begun(tmp_path):
    one = said()
    found = registered_in(tmp_path / "before", [one], spec(), begun="2026-11-02 00:00 UTC")
    assert found is not None and found.accuracy == one["accuracy"] and found.file == "predictions.json"
    assert registered_in(tmp_path / "after", [one], spec(), begun="2026-10-31 00:00 UTC") is None


def test_an_accuracy_of_one_recipe_is_not_predicted_for_another(tmp_path):
    assert registered_in(tmp_path, [said()], spec(recipe=recipe("fast", "cifar10"))) is None


def test_a_file_beside_the_store_names_runs_and_the_newest_counts(tmp_path):
    run = experiment("table-zerosnet-cifar10").specs("full")[0]
    write_run(tmp_path / "runs", run, attacks=False)
    (tmp_path / "predictions").mkdir()
    for name, date, accuracy in (("first", "2026-11-01 10:00 UTC", 70.0), ("second", "2026-11-03 10:00 UTC", 71.25)):
        entry = {"run": run.id, "predicted_accuracy": {"parts": accuracy, "constant": 1.0}}
        (tmp_path / "predictions" / f"{name}.json").write_text(json.dumps({"date": date, "predictions": [entry]}))
    (tmp_path / "predictions" / "damaged.json").write_text("{")
    evidence = read_evidence(Store(tmp_path / "runs"))
    found = Register(evidence).find(run)
    assert (found.accuracy, found.file, found.date) == (71.25, "second", "2026-11-03 10:00 UTC")
    rows = predicted_rows(collect(experiment("table-zerosnet-cifar10"), evidence, "full"), evidence)
    assert [one.accuracy for one in rows.values() if one.registered == "second"] == [71.25]


def test_predictions_of_this_project_come_with_the_package(tmp_path):
    waiting = spec(seed=1, beta_growth="1.841")
    found = Register(read_evidence(Store(tmp_path))).find(waiting)
    assert found is not None and found.file == "with-floor" and 93 < found.accuracy < 94
    assert Register(read_evidence(Store(tmp_path))).find(replace(waiting, seed=99)) is None


def test_a_network_that_the_law_was_fitted_on_is_predicted_without_it(tmp_path):
    evidence = read_evidence(Store(tmp_path))
    table = collect(experiment("table-zerosnet-cifar10"), evidence, "full")
    one = predicted_rows(table, evidence)["56 1.84, 0.74, 0.74"]
    law = forecast(SCHEME).law
    fitted = law.fitted(forecast(SCHEME).wiring)
    assert one.registered is None and one.accuracy == fitted.left_out != forecast(SCHEME).prediction.accuracy
