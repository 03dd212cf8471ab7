"""Robustness compared fairly: on networks that are made up, so that the answer is known, and on the records."""

import math

import pytest
from tests.measured_runs import RUNS, needs_runs

from zerosnet.errors import InputError
from zerosnet.experiments import (
    DEPTH,
    NOISES,
    ROOTS,
    NoisyNetwork,
    adjusted_difference,
    explain_loss,
    fit_noise_law,
    match,
    matched_difference,
    noisy_networks,
    raw_difference,
    read_evidence,
)
from zerosnet.training import Store

NOISE = "Gaussian 0.04"


def network(parameters: float, stable: bool, clean: float, noisy: float) -> NoisyNetwork:
    return NoisyNetwork("1;1", stable, 10.0, parameters, clean, {NOISE: noisy}, 1)


def by_depth_alone() -> list[NoisyNetwork]:
    """Networks whose accuracies follow from D; those that are not zero-stable have less of it."""
    found = []
    for k in range(12):
        parameters = 2.0 * 1.5**k
        found.append(
            network(parameters, k in (3, 5, 7, 8, 10, 11), 100 - 30 * parameters**-0.3, 100 - 60 * parameters**-0.2)
        )
    return found


def test_the_loss_is_relative_to_clean():
    assert network(1, True, 80.0, 60.0).loss(NOISE) == pytest.approx(25.0)


def test_what_depth_decides_is_explained_by_depth_and_not_by_the_root_condition():
    networks = by_depth_alone()
    assert explain_loss(networks, NOISE, [ROOTS]).explained > 0.2, "alone, the root condition seems to matter"
    both = explain_loss(networks, NOISE)
    assert both[DEPTH].alone > 0.4 and both[ROOTS].alone < 0.02
    with pytest.raises(InputError, match="by is 'depth'"):
        explain_loss(networks, NOISE, ["depth"])


def test_matches_are_as_good_and_their_difference_is_that_of_the_noise():
    unstable = network(10, False, 90.0, 60.0)
    peers = [network(11, True, 90.5, 70.0), network(30, True, 89.2, 72.0)]
    far = network(10, True, 92.0, 99.0)
    (found,) = match([unstable, *peers, far])
    assert found.peers == tuple(peers) and found.difference(NOISE) == pytest.approx(-11.0)
    assert found.clean_difference == pytest.approx(90 - 89.85)
    (found,) = match([unstable, *peers, far], "predicted depth")
    assert found.peers == (peers[0], far)
    with pytest.raises(InputError, match="expected clean accuracy or predicted depth"):
        match([unstable], "size")


def test_a_network_without_peers_is_left_out():
    assert match([network(10, False, 70.0, 50.0), network(10, True, 90.0, 60.0)]) == []


def test_the_interval_of_matches_is_students():
    found = matched_difference([1.0, 2.0, 3.0])
    assert found is not None and found.mean == 2 and found.high - 2 == pytest.approx(4.302653 / math.sqrt(3), rel=1e-5)
    assert not found.certain and matched_difference([1.0]) is None


def test_at_equal_clean_accuracy_nothing_is_left_of_what_clean_accuracy_decides():
    networks = [network(1, k % 3 == 0, 95 - k, 100 - 18 * math.log(5 + k) - (k % 2) / 100) for k in range(12)]
    worse = [network(1, one.zero_stable, one.clean, one.noisy[NOISE] - 2 * (not one.zero_stable)) for one in networks]
    found = adjusted_difference(networks, NOISE)
    assert found.low < 0 < found.high and abs(found.mean) < 0.01 and found.n == 12
    assert adjusted_difference(worse, NOISE).mean == pytest.approx(found.mean - 2)
    assert raw_difference(worse, NOISE) == pytest.approx(raw_difference(networks, NOISE) - 2)


def test_the_noise_law_finds_the_constants_it_was_made_with():
    law = fit_noise_law(by_depth_alone(), NOISE)
    assert (law.a, law.p) == (pytest.approx(60), pytest.approx(0.2))
    assert law.left_out["parts"] < 1e-9 < law.left_out["root_condition"]
    assert law.predict(32.0, True)["parts"] == pytest.approx(100 - 60 * 32**-0.2)
    low, high = law.interval(32.0)
    assert low == pytest.approx(high)


def test_a_noise_law_needs_both_sides_of_the_root_condition():
    with pytest.raises(InputError, match="two or more of each"):
        fit_noise_law([network(k + 1.0, True, 90.0, 50.0 + k) for k in range(6)], NOISE)


@needs_runs
def test_the_records_hold_networks_on_both_sides_and_depth_predicts_better_than_roots():
    networks = noisy_networks(read_evidence([Store(RUNS)]))
    assert len({one.name for one in networks}) == len(networks) >= 49
    assert {one.zero_stable for one in networks} == {True, False}
    assert min(one.clean for one in networks) > 60, "a network that did not learn is left out"
    for noise in NOISES:
        left_out = fit_noise_law(networks, noise).left_out
        assert left_out["parts"] < left_out["root_condition"] / 2


def test_a_difference_is_negligible_if_its_interval_lies_within_half_a_point():
    near, wide, far = (matched_difference(v) for v in ([-0.1, 0.1, 0.0], [-1.0, 1.0, 0.0], [0.4, 0.5, 0.45]))
    assert near is not None and near.negligible and not near.certain
    assert wide is not None and not wide.negligible and not wide.certain
    assert far is not None and far.certain and not far.negligible
