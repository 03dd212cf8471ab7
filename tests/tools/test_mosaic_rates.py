"""Residual wirings on mosaics at three learning rates: what was predicted, and the tables of what came."""

import json
from statistics import mean

import pytest
from tools.mosaic_rates import BOUND, FREE, HERE, NETWORKS, RATES, SUMS, gaps_at_first, main, specs, sum_specs
from tools.mosaic_wirings import REFERENCE

from tools import mosaic_rate_tables as tables

REGISTERED = {"rates": specs, "sums": sum_specs}


def test_the_registered_gaps_are_those_that_had_been_measured():
    assert tables.predicted()["gaps"]["wiring"] == gaps_at_first()


def test_the_registered_hypotheses_on_sums_are_those_of_the_program():
    assert json.loads((HERE / "predictions-sums.json").read_text())["none_fails"] == SUMS


@pytest.mark.parametrize("command", ["predict", "predict-sums"])
def test_predictions_are_never_edited(command):
    with pytest.raises(SystemExit, match="never edited"):
        main(command)


@pytest.mark.parametrize("name", REGISTERED)
def test_every_run_that_was_asked_for_is_on_record_and_had_not_begun_before(name):
    runs = json.loads((HERE / f"{name}.json").read_text())["runs"]
    assert {run["run"] for run in runs} == {spec.id for spec in REGISTERED[name]()}
    registered = json.loads((HERE / f"predictions-{name}.json").read_text())["date"]
    assert all(run["begun"] >= registered for run in runs)


def test_some_networks_fail_that_were_expected_to_and_none_of_the_others():
    """At the rates that were new when this was predicted."""
    fails = {name: sum(sum(tables.fails(name.format(110), 110, rate)) for rate in RATES) for name in NETWORKS[110]}
    assert all(fails[name] for name in FREE)
    assert not any(fails[name] for name in BOUND)


def test_a_network_fails_five_points_below_eulers_scheme_at_the_same_rate():
    model, rate = "streams110", RATES[0]
    least = mean(tables.accuracies(REFERENCE.format(110), rate)) - 5
    assert tables.fails(model, 110, rate) == [value < least for value in tables.accuracies(model, rate)]


def test_the_best_rate_is_the_one_with_the_highest_mean():
    rates = [tables.accuracies("preresnet56", rate) for rate in (0.1, *RATES)]
    assert mean(tables.best("preresnet56")) == max(map(mean, rates))


def test_wirings_of_every_kind_are_drawn():
    assert {tables.kind_of(name) for name in NETWORKS[56]} == set(tables.KINDS)


def test_only_one_group_has_networks_that_fail_and_are_trained():
    bound, free = (int(tables.failed_of(kind).split()[0]) for kind in tables.KINDS[1:])
    assert bound == 0 < free
