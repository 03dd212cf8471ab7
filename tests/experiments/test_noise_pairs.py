"""One network in two scales: pairs that are made up, and those in the records."""

import pytest
from tests.measured_runs import RUNS, needs_runs

from zerosnet.experiments import NOISES, NoisyNetwork, gauge_pairs, noisy_networks, read_evidence
from zerosnet.numerics import Scheme, Wiring
from zerosnet.training import RunSpec, Store, recipe

PAPER = recipe("paper", "cifar10")
UNSTABLE, INSIDE = "1,1,1;1", "1/2,1/4,1/8;1/2"


def network(scheme: str, stable: bool, *, model: str = "zerosnet56", **options: object) -> NoisyNetwork:
    spec = RunSpec(model, "cifar10", PAPER, 1, Scheme.parse(scheme), **options)  # type: ignore[arg-type]
    return NoisyNetwork(scheme, stable, 1.0, 1.0, 90.0, {NOISES[0]: 60.0 + stable}, 1, spec)


def test_growing_steps_make_a_pair_with_constant_ones_and_constant_ones_with_shrinking_ones():
    grown, plain = network(UNSTABLE, False, beta_growth="2"), network(UNSTABLE, False)
    inside, shrunk = network(INSIDE, True), network(INSIDE, True, beta_growth="1/2")
    found = gauge_pairs([grown, plain, inside, shrunk])
    assert [(one.unstable, one.stable) for one in found] == [(grown, inside), (plain, shrunk)]
    assert found[0].difference(NOISES[0]) == -1 and found[0].clean_difference == 0


@pytest.mark.parametrize(
    "other",
    [
        network(INSIDE, True, init_growth="1/2"),
        network("1/2,1/4,1/9;1/2", True, beta_growth="1/2"),
        network("1/2,1/4,1/8;1/3", True, beta_growth="1/2"),
        network(INSIDE, True, beta_growth="1/2", model="zerosnet20"),
        network(INSIDE, True),
    ],
)
def test_whatever_differs_by_more_than_the_scale_is_no_pair(other):
    assert gauge_pairs([network(UNSTABLE, False), other]) == []


def test_a_network_without_spec_is_in_no_pair():
    assert gauge_pairs([NoisyNetwork(UNSTABLE, False, 1.0, 1.0, 90.0, {}, 1)]) == []


@needs_runs
def test_the_records_hold_four_pairs_of_nearly_equal_effective_depth():
    pairs = gauge_pairs(noisy_networks(read_evidence([Store(RUNS)])))
    assert len(pairs) >= 4
    for pair in pairs:
        assert pair.unstable.depth == pytest.approx(pair.stable.depth, rel=0.1)
        assert abs(pair.clean_difference) < 2 and min(pair.unstable.runs, pair.stable.runs) >= 2
    assert Wiring.of(Scheme.parse(UNSTABLE), beta_growth="1.841").effective_depth() == pytest.approx(
        max(pair.unstable.depth for pair in pairs), rel=0.01
    )
