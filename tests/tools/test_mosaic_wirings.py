"""Residual wirings on mosaics: what was predicted, and the tables of what came."""

import json
from statistics import mean

import pytest
from tools.mosaic_wirings import EQUAL, HERE, LAYERS, NAMES, REFERENCE, main, predictions, specs

from tools import mosaic_wiring_tables as tables


def test_registered_predictions_follow_from_the_coefficients():
    kept, found = json.loads((HERE / "predictions.json").read_text()), predictions()
    assert kept["threshold"] == found["threshold"] and kept["predictions"] == found["predictions"]


def test_predictions_are_never_edited():
    with pytest.raises(SystemExit, match="never edited"):
        main("predict")


def test_every_run_that_was_asked_for_is_on_record():
    assert {run["run"] for runs in tables.measured().values() for run in runs} == {spec.id for spec in specs()}


def test_no_run_had_begun_before_it_was_predicted():
    registered = json.loads((HERE / "predictions.json").read_text())["date"]
    assert all(run["begun"] >= registered for runs in tables.measured().values() for run in runs)


def test_branches_over_the_square_root_of_n_are_the_worst_with_one_stream():
    for layers in LAYERS:
        means = {name: mean(tables.accuracies(name.format(layers))) for name in NAMES if "streams" not in name}
        assert min(means, key=lambda name: means[name]) == "preresnet{}_scaled"


def test_a_simplex_stays_zero_stable_and_free_gains_do_not():
    def outside(name: str) -> int:
        return sum(run["trained"]["outside"] for run in tables.measured()[name.format(56)])

    assert outside("zerosnet{}_simplex") == 0 < outside("preresnet{}_gains")


def test_the_difference_to_eulers_scheme_is_zero_for_itself():
    assert tables.difference(REFERENCE, 56) == 0 < EQUAL


def test_a_comparison_is_decided_if_its_interval_lies_on_one_side_of_the_bound():
    assert tables.verdict([98.0, 98.1, 98.2], [98.0, 98.1, 98.3]) is True, "equal within two points"
    assert tables.verdict([90.0, 90.1, 90.2], [98.0, 98.1, 98.3]) is False, "less accurate"
    assert tables.verdict([61.0, 93.9, 97.4], [98.0, 98.1, 98.3]) is None, "seeds differ too much"


def test_most_comparisons_at_110_layers_are_undecided():
    assert [len(tables.decided([layers])) for layers in (20, 56, 110)] == sorted(
        (len(tables.decided([layers])) for layers in (20, 56, 110)), reverse=True
    )
    assert len(tables.decided([110])) < 4
