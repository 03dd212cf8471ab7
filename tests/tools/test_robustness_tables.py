"""What the page on robustness says in words is what its tables say."""

import pytest
from tests.measured_runs import needs_runs

from tools import robustness_tables as tables
from zerosnet.experiments import (
    DEPTH,
    NOISES,
    ROOTS,
    explain_loss,
    match,
    matched_difference,
    raw_difference,
)


@needs_runs
def test_depth_explains_the_loss_under_every_noise_and_the_roots_add_little():
    for noise in NOISES:
        both = explain_loss(tables.networks(), noise)
        assert both[DEPTH].p < 1e-6 and both[ROOTS].alone < 0.05


def test_noises_whose_interval_excludes_zero_are_counted_and_named():
    assert tables._excluded(lambda noise: False) == "0 of 5 noises"
    assert tables._excluded(lambda noise: noise == "constant 0.4") == "1 of 5 noises (constant 0.4)"


@needs_runs
def test_the_raw_difference_is_several_times_the_one_at_equal_accuracy():
    found = matched_difference([one.difference(tables.GAUSSIAN) for one in match(tables.networks())])
    assert found is not None and raw_difference(tables.networks(), tables.GAUSSIAN) < 4 * found.mean < 0


@needs_runs
def test_lambda_one_half_is_zero_stable_uses_little_depth_and_loses_much():
    half = next(one for one in tables.networks() if one.scheme == "9/4,-2,3/4;1/2")
    rest = [one for one in tables.networks() if one.zero_stable and one.clean > 92]
    assert half.zero_stable and half.loss(tables.GAUSSIAN) > max(one.loss(tables.GAUSSIAN) for one in rest)


def test_the_agreement_lists_all_published_corruptions():
    lines = tables.agreement().splitlines()[2:]
    assert len(lines) == 18 and sum("| all | 0 |" in line for line in lines) >= 12


@needs_runs
def test_pairs_show_no_difference_and_equal_accuracy_a_small_one_under_the_strongest_noise():
    for noise in NOISES:
        paired, equal = (
            matched_difference([one.difference(noise) for one in found])
            for found in (tables.pairs(), match(tables.networks()))
        )
        assert paired is not None and not paired.certain
        assert equal is not None and equal.certain is (noise == tables.GAUSSIAN) and abs(equal.mean) < 2


@needs_runs
def test_corruptions_agree_within_pairs_and_with_the_noise_protocol():
    """Severity 1 of Gaussian noise is the paper's Gaussian 0.04, by other code and other draws."""
    named = {one.name.removeprefix("zerosnet56 "): one.errors for one in tables.corrupted()}
    both = [(named[p.unstable.name], named[p.stable.name]) for p in tables.pairs() if p.unstable.name in named]
    assert len(both) >= 2 and all(abs(a.mean - b.mean) < 0.5 for a, b in both)
    seen = 0
    for run in tables.evidence().runs:
        corrupted, noisy = run.attack("corruptions"), run.attack("paper-noise")
        if corrupted is not None and noisy is not None:
            severe = next(row for row in corrupted.rows if row.label == "gaussian_noise, severity 1")
            level = next(row for row in noisy.rows if row.label == tables.GAUSSIAN)
            assert abs(severe.accuracy - level.accuracy) < 0.01
            seen += 1
    assert seen >= 10


@needs_runs
def test_networks_outside_of_their_intervals_are_those_of_the_page():
    outside = {one.name for one in tables._measured() if not one.is_inside(tables.GAUSSIAN)}
    usual = ("initial growth", ";2173/100000", ";4539/100000", "switched off after 5 ")
    kinds = (*usual, "1/2;1", "-1/2,3/2;5/2", "-3,5,-1;4, restart")
    assert all(any(kind in name for name in outside) for kind in kinds)
    assert all(any(kind in name for kind in kinds) for name in outside)


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
