"""The experiment on small betas: what was predicted, and the tables of what came."""

import json
from math import sqrt

import pytest
from tools.flow_time import (
    BETAS,
    CALIBRATION,
    HERE,
    ROWS,
    beta_of,
    main,
    middle_of,
    predictions,
    recipe_of,
    specs,
    time_of,
    weight,
)

from tools import flow_time_tables as tables


def test_the_middle_is_where_accuracy_is_half_way_up():
    best, worst = 1.0, 0.5
    accuracies = [best] * 5 + [worst] * 5
    assert BETAS[4:6] == ("1/4", "9/50")
    assert middle_of(accuracies) == pytest.approx(sqrt(1 / 4 * 9 / 50))


def test_another_part_of_the_way_up_is_at_another_beta():
    accuracies = [1.0] * 5 + [0.5] * 5
    assert middle_of(accuracies, 0.75) > middle_of(accuracies) > middle_of(accuracies, 0.25)


def test_accuracies_that_do_not_fall_have_no_middle():
    with pytest.raises(SystemExit, match="do not fall to half-way"):
        middle_of([0.5] * len(BETAS))


def test_the_weight_of_a_block_grows_with_beta_and_can_be_solved_for_it():
    assert weight(0.01) < weight(0.1) < weight(1)
    assert beta_of(weight(0.1)) == pytest.approx(0.1)
    assert beta_of(0.9) is None


def test_half_the_rate_for_twice_the_epochs_is_the_same_flow_time():
    assert time_of("8 epochs, lr 0.05") == pytest.approx(time_of(CALIBRATION))
    assert time_of("16 epochs") == pytest.approx(2 * time_of("8 epochs"))


def test_registered_predictions_follow_from_the_calibration():
    kept, found = json.loads((HERE / "predictions.json").read_text()), predictions()
    for before, now in zip(kept["predictions"], found["predictions"], strict=True):
        assert before["row"] == now["row"] and before["weights"] == pytest.approx(now["weights"])


def test_predictions_are_never_edited():
    with pytest.raises(SystemExit, match="never edited"):
        main("predict")


def test_every_run_that_was_asked_for_is_on_record():
    assert {run["run"] for row in tables.runs().values() for run in row} == {s.id for row in ROWS for s in specs(row)}


def test_no_run_had_begun_before_the_predictions_but_those_of_the_calibration():
    registered = json.loads((HERE / "predictions.json").read_text())["date"]
    assert all(run["begun"] > registered for run in json.loads((HERE / "runs.json").read_text())["runs"])


def test_blocks_are_used_at_smaller_weights_after_more_epochs_and_with_adam():
    middles = [tables.measured(f"{epochs} epochs", tables.TEST) for epochs in (4, 8, 16)]
    assert middles == sorted(middles, reverse=True)
    assert tables.measured("Adam, 16 epochs") < tables.measured("16 epochs")


def test_weight_decay_does_not_move_the_threshold():
    assert tables.measured("8 epochs, no decay") == pytest.approx(tables.measured("8 epochs"), rel=0.05)


def test_epochs_move_the_threshold_more_than_the_learning_rate_by_every_definition_of_the_middle():
    for by, level in tables.DEFINITIONS:
        (epochs, _), (rate, _) = tables.powers(by, level)
        assert epochs < 2 * rate < 0


def test_powers_are_found_if_middles_follow_them(monkeypatch):
    def made_up(row: str, by: str, level: float) -> float:
        how = recipe_of(row)
        return 0.3 * how.epochs**-0.5 * (how.lr / (1 - how.momentum)) ** -0.25

    monkeypatch.setattr(tables, "measured", made_up)
    assert tables.powers() == [(pytest.approx(-0.5), pytest.approx(0)), (pytest.approx(-0.25), pytest.approx(0))]


def test_a_middle_between_the_last_two_betas_is_only_bounded():
    assert tables.cell("Adam, 16 epochs", tables.TRAIN) == tables.cell("32 epochs", tables.TRAIN) == "below 4.0"
    assert tables.cell("8 epochs", tables.TEST) == "9.5"


def test_all_runs_were_trained_with_the_same_sources():
    records = (json.loads((HERE / f"{name}.json").read_text()) for name in ("calibration", "runs"))
    assert len({one["source"] for record in records for one in record["environments"]}) == 1
