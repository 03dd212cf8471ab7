"""What the page on robustness says in words is what its tables say."""

import pytest
from tests.docs.pages import page
from tests.measured_runs import needs_runs

from tools import robustness_tables as tables
from zerosnet.experiments import DEPTH, NOISES, ROOTS, explain_loss, match, matched_difference


@needs_runs
def test_the_effect_of_the_roots_beside_depth_cannot_be_told_from_zero():
    assert "cannot be told from zero\nunder any of the noises" in page("robustness.md")
    for noise in NOISES:
        both = explain_loss(tables.networks(), noise)
        assert both[ROOTS].low < 0 < both[ROOTS].high and both[DEPTH].p < 1e-6


@needs_runs
def test_the_raw_difference_is_several_times_the_one_at_equal_accuracy():
    found = matched_difference([one.difference(tables.GAUSSIAN) for one in match(tables.networks())])
    assert found is not None and tables._raw() < 4 * found.mean < 0 and not found.certain


@needs_runs
def test_lambda_one_half_is_zero_stable_uses_little_depth_and_loses_much():
    half = next(one for one in tables.networks() if one.scheme == "9/4,-2,3/4;1/2")
    rest = [one for one in tables.networks() if one.zero_stable and one.clean > 92]
    assert half.zero_stable and half.loss(tables.GAUSSIAN) > max(one.loss(tables.GAUSSIAN) for one in rest)


def test_the_agreement_lists_all_published_corruptions():
    lines = tables.agreement().splitlines()[2:]
    assert len(lines) == 18 and sum("| all | 0 |" in line for line in lines) >= 12


@needs_runs
def test_registered_predictions_are_counted():
    assert tables.registered_noise().startswith("None of the 102 runs") or "of 102 runs measured" in (
        tables.registered_noise()
    )


@pytest.mark.parametrize("file", ["noise.json", "noise-more.json"])
def test_a_registered_prediction_has_all_laws_and_an_interval(file):
    import json

    data = json.loads((tables.PREDICTIONS / file).read_text(encoding="utf-8"))
    assert data["parent_commit"] and data["date"]
    for one in data["predictions"]:
        for noise in NOISES:
            predicted = one["predicted_accuracy"][noise]
            assert predicted["interval"][0] < predicted["parts"] < predicted["interval"][1]
            assert set(predicted) == {*tables.LAWS, "interval"}
