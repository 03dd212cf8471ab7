"""Fair comparisons: on made-up networks, so that the answer is known, and on the records."""

import pytest
from tests.measured_runs import needs_runs

from tools import fair_tables as tables
from zerosnet.experiments import (
    DEPTH,
    NOISES,
    ROOTS,
    CorruptedNetwork,
    MatchedDifference,
    NoisyNetwork,
)
from zerosnet.robustness import CorruptionErrors

NOISE = "Gaussian 0.04"


class Named(NoisyNetwork):
    """A network with a name of its own."""

    @property
    def name(self) -> str:
        return "1;1, f switched off after 2 multistep blocks"


def noisy(clean: float, left: float, stable: bool = False, kind: type[NoisyNetwork] = NoisyNetwork) -> NoisyNetwork:
    return kind("1,1,1;1", stable, 5.0, 5.0, clean, {NOISE: left}, 1)


def lossy(parameters: float, lost: float, stable: bool) -> tuple[CorruptedNetwork, float]:
    errors = CorruptionErrors(10.0, {"fog": (10.0 + lost,) * 5}, "regenerated")
    return CorruptedNetwork("n", "paper", stable, errors, None, None, 10_000, 1), parameters


def test_a_truncated_network_is_paired_with_the_nearest_within_a_point():
    short, lone = noisy(80, 55, True, Named), noisy(70, 40, True, Named)
    near, far = noisy(80.3, 57), noisy(80.9, 53)
    found = tables.twins([short, lone, near, far, noisy(80, 60, stable=True)])
    assert found == [(short, near)]
    assert tables.twins([short, noisy(81.1, 50)]) == []


def test_differences_of_twins_are_unstable_less_truncated():
    every = [noisy(80, 55, True, Named), noisy(90, 64, True, Named), noisy(80.3, 57), noisy(80.9, 59), noisy(90, 65)]
    assert tables.twin_difference(tables.twins(every), NOISE).mean == pytest.approx(1.5)
    assert tables.peers_difference(every, NOISE).mean == pytest.approx(2.0)


def test_no_difference_is_told_apart_from_equality_that_is_shown():
    wide, near, far = (MatchedDifference(m, m - r, m + r, 5) for m, r in ((0.1, 2.0), (0.1, 0.2), (3.0, 1.0)))
    words = tables.tested([wide, near, far])
    assert words == "a difference is shown under 1 of 3 noises, equality within 0.5 points under 1"


def test_loss_to_corruption_that_depth_decides_is_not_put_down_to_the_roots():
    every = [lossy(2.0**k, 20 - 2 * k + 0.1 * (-1) ** (k // 2), k % 3 == 0) for k in range(8)]
    both = tables.explain_corruption(every, [DEPTH, ROOTS])
    assert both[DEPTH].p < 1e-6 and both[ROOTS].low < 0 < both[ROOTS].high
    assert tables.relative_loss(every[0][0]) == pytest.approx(100 * 20.1 / 90)


@needs_runs
def test_every_truncated_network_has_a_partner_and_neither_verdict_is_reached():
    found = tables.twins(tables.networks())
    assert len(found) == 6 and all(one.zero_stable and one.runs == 1 for one, _ in found)
    every = [tables.twin_difference(found, noise) for noise in NOISES]
    assert not any(one.certain or one.negligible for one in every)


@needs_runs
def test_all_networks_under_corruption_have_effective_parameters():
    assert len(tables.corrupted_with_depth()) == len(tables.corrupted()) >= 11
    alone = [tables.explain_corruption(tables.corrupted_with_depth(), [by]).explained for by in (DEPTH, ROOTS)]
    assert alone[0] > 0.8 and alone[1] < 0.2


@needs_runs
def test_no_scheme_that_uses_all_blocks_is_better_than_eulers_and_not_all_are_shown_to_be_equal():
    every = tables.beside_euler()
    assert len(every) >= 31 and all(one.low <= 0 and one.high < 0.7 for one in every)
    assert 0 < sum(one.verdict == "undecided" for one in every) < len(every)


@needs_runs
def test_networks_that_were_stopped_early_keep_more_than_unstable_ones_of_equal_accuracy():
    found = tables.stopped_beside(tables.networks())
    assert len(found) >= 5
    for (_, clean, left), other in found:
        assert abs(other.clean - clean) <= tables.NEAREST and not other.zero_stable
        assert left[NOISE] > other.noisy[NOISE]


@needs_runs
def test_some_but_not_all_networks_worse_than_eulers_start_near_the_threshold():
    worse = sum(one.high < 0 for one in tables.beside_euler())
    assert 0 < int(tables.worse_near()) < worse
