"""Randomised smoothing: exact bounds, and certificates of a linear classifier, whose radius is known in closed form."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import stats
from scipy.special import ndtr, ndtri
from tests.robustness.attackable import Linear, SideBySide, small_convolution
from torch import nn

from zerosnet.errors import InputError
from zerosnet.robustness import (
    PROTOCOLS,
    Normalised,
    ProtocolOptions,
    certified_radius,
    certify,
    counted_normal,
    lower_bound,
    run_protocol,
    subject,
)
from zerosnet.robustness.smoothing import count_answers, fewest_samples

SIGMA = 0.25


def linear_subject(distances: list[float], replicas: int = 1) -> tuple[object, torch.Tensor]:
    """Images at these distances from the border between two classes, on the side of class 1."""
    model = Linear(replicas=replicas, channels=1, size=4, classes=2)
    with torch.no_grad():
        model.weight.zero_()
        model.weight[:, 1] = torch.tensor([0.5, -0.5] * 8)  # of length 2
        model.bias[:, 1] = 0.0
    unit = torch.tensor([0.25, -0.25] * 8).view(1, 4, 4)
    images = torch.stack([0.5 + distance * unit for distance in distances])
    return subject(model, images, torch.ones(len(distances), dtype=torch.int64)), images


# -- bounds -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("hits", "samples"), [(1, 10), (60, 100), (999, 1000), (100, 100)])
def test_the_bound_is_that_of_clopper_and_pearson(hits, samples):
    exact = stats.binomtest(hits, samples, alternative="greater").proportion_ci(0.999, "exact").low
    assert lower_bound(hits, samples) == pytest.approx(exact)
    assert stats.binom.sf(hits - 1, samples, float(lower_bound(hits, samples))) == pytest.approx(0.001)


def test_no_hits_give_no_bound_and_all_hits_a_root_of_alpha():
    assert lower_bound(0, 50) == 0
    assert lower_bound(50, 50, alpha=0.01) == pytest.approx(0.01 ** (1 / 50))


@pytest.mark.parametrize("hits", [11, -1, [5, float("nan")]])
def test_more_hits_than_samples_are_refused(hits):
    with pytest.raises(InputError, match="expected numbers from 0 to 10"):
        certified_radius(hits, 10, SIGMA)


def test_the_radius_is_the_quantile_of_the_bound_and_nothing_below_one_half():
    radii = certified_radius([9990, 6000, 5000, 10], 10_000, SIGMA)
    assert radii[:2] == pytest.approx(SIGMA * ndtri(lower_bound([9990, 6000], 10_000)))
    assert np.isnan(radii[2:]).all()


def test_it_abstains_exactly_if_one_half_is_not_excluded():
    """The bound is above 1/2 if and only if so many hits are rarer than alpha for a fair coin."""
    hits = np.arange(5_000, 5_400)
    rare = stats.binom.sf(hits - 1, 10_000, 0.5) < 0.001
    assert (np.isnan(certified_radius(hits, 10_000, SIGMA)) == ~rare).all() and 0 < rare.sum() < len(hits)


def test_a_bound_is_too_high_as_rarely_as_it_promises():
    generator = np.random.default_rng(0)
    hits = generator.binomial(200, 0.8, 20_000)
    assert np.mean(lower_bound(hits, 200, alpha=0.05) > 0.8) <= 0.055


# -- noise ------------------------------------------------------------------------------------------------------------


def test_counted_normal_numbers_are_normal_and_belong_to_their_seed():
    seeds, position = torch.tensor([3, 4]), torch.tensor([1, 2])
    drawn = counted_normal(seeds, position, 20_001)
    assert drawn.shape == (2, 20_001)
    assert all(stats.kstest(row.numpy(), "norm").pvalue > 0.01 for row in drawn)
    assert torch.equal(counted_normal(seeds[1:], position, 20_001), drawn[1:])
    assert abs(np.corrcoef(drawn)[0, 1]) < 0.03


def test_counts_depend_neither_on_the_batch_nor_on_what_stands_beside(monkeypatch):
    model = small_convolution()
    images = torch.rand(3, 1, 8, 8, generator=torch.Generator().manual_seed(0))
    target = subject(model, images, torch.tensor([0, 1, 2]))
    counts = count_answers(target, SIGMA, 20)
    assert counts.shape == (3, 1, 4) and bool((counts.sum(-1) == 20).all())
    both = Normalised(SideBySide(model, small_convolution(seed=1)), (0.0,), (1.0,))
    other = subject(both, images, target.labels)
    monkeypatch.setattr("zerosnet.robustness.protocols.attacked.CPU_BATCH", 7)
    assert torch.equal(count_answers(other, SIGMA, 20)[:, :1], counts)
    parts = count_answers(target, SIGMA, 12) + count_answers(target, SIGMA, 8, begin=12)
    assert torch.equal(parts, counts)


# -- certificates -----------------------------------------------------------------------------------------------------


def test_a_linear_classifier_answers_with_the_probability_of_a_normal_distribution():
    distances = [0.0, 0.1, 0.2, 0.4]
    target, _ = linear_subject(distances)
    shares = count_answers(target, SIGMA, 4000)[:, 0, 1] / 4000
    assert shares.tolist() == pytest.approx([float(ndtr(d / SIGMA)) for d in distances], abs=0.025)


def test_certificates_of_a_linear_classifier_are_its_distances_less_what_sampling_costs():
    """p = Phi(d / sigma), so that sigma Phi^-1(p) is the distance d to the border itself."""
    distances, samples = [0.05, 0.1, 0.2, 0.3, 0.4], 4000
    target, _ = linear_subject(distances)
    found = certify(target, SIGMA, samples=samples)
    radii = found.radii[:, 0].numpy()
    assert (radii <= distances).all(), "never farther than the border is"
    expected = certified_radius(samples * ndtr(np.array(distances) / SIGMA), samples, SIGMA)
    assert radii == pytest.approx(expected, abs=0.02)
    assert found.certified(target.labels, 0.15)[:, 0].tolist() == [False, False, True, True, True]


def test_on_the_border_it_abstains_and_wrong_answers_are_never_certified_accuracy():
    target, _ = linear_subject([0.0, -0.3])
    found = certify(target, SIGMA, samples=500)
    assert found.abstained[:, 0].tolist() == [True, False]
    assert found.answers[1, 0] == 0 and not found.certified(target.labels, 0.0).any()


def test_logits_that_are_not_numbers_are_no_answers():
    class Broken(nn.Module):
        def forward(self, images):
            return torch.full((len(images), 3), math.nan)

    target = subject(Broken(), torch.rand(2, 1, 4, 4), torch.tensor([0, 1]))
    assert count_answers(target, SIGMA, 10).sum() == 0 and certify(target, samples=10).abstained.all()


@pytest.mark.parametrize(
    "options", [{"sigma": 0}, {"alpha": 1}, {"samples": 0}, {"guesses": 2.5}, {"seed": "x"}, {"seed": -1}]
)
def test_bad_options_are_refused(options):
    target, _ = linear_subject([0.1])
    with pytest.raises(InputError, match=next(iter(options))):
        certify(target, **options)


def test_the_protocol_lists_certified_accuracies_that_fall_with_the_radius(pair):
    results = run_protocol("smoothing", pair, ProtocolOptions(images=16, samples=200))
    for result in results:
        clean, *certified, abstained = result.rows
        counts = [row.correct for row in certified]
        assert clean.images == 16 and counts == sorted(counts, reverse=True) and counts[0] > counts[-1]
        assert abstained.method == "abstained" and counts[0] + abstained.correct <= 16
        assert {row.settings["samples"] for row in certified} == {200} and result.warnings == []


def test_a_noise_has_a_protocol_of_its_own_whose_radii_reach_as_far_in_its_deviations(pair):
    (result, _) = run_protocol("smoothing-0.5", pair, ProtocolOptions(images=4, samples=20))
    radii = [row.eps for row in result.rows if row.method == "certified"]
    assert result.protocol == "smoothing-0.5" and radii == pytest.approx([step / 10 for step in range(17)])
    assert {row.settings["sigma"] for row in result.rows if row.method != "clean"} == {0.5}


def test_the_usual_noise_has_the_radii_that_records_have(pair):
    (result, _) = run_protocol("smoothing", pair, ProtocolOptions(images=4, samples=20))
    assert [row.eps for row in result.rows if row.method == "certified"] == [step / 20 for step in range(17)]


@pytest.mark.parametrize(("alpha", "fewest"), [(0.001, 10), (0.5, 2), (0.25, 3), (0.9, 1)])
def test_one_sample_less_than_the_fewest_certifies_nothing(alpha, fewest):
    assert fewest_samples(alpha) == fewest
    assert certified_radius(fewest, fewest, SIGMA, alpha) > 0
    assert fewest == 1 or np.isnan(certified_radius(fewest - 1, fewest - 1, SIGMA, alpha))


def test_samples_that_can_never_certify_are_refused_and_the_fewest_is_named():
    with pytest.raises(InputError, match="samples is 9; expected a whole number from 10 to"):
        ProtocolOptions(samples=9)


def test_the_passes_of_smoothing_are_those_that_it_reports(pair):
    options, told = ProtocolOptions(images=5, samples=30), []
    run_protocol("smoothing", replace(pair, advance=told.append), options)
    assert sum(told) == 5 * PROTOCOLS["smoothing"].passes(options)


@pytest.mark.parametrize(("images", "expected"), [(None, 5), (3, 3), (9, 9), (10, 9)])
def test_500_images_are_certified_unless_told_otherwise(networks, digits, monkeypatch, images, expected):
    assert PROTOCOLS["smoothing"].images == 500
    monkeypatch.setitem(PROTOCOLS, "smoothing", replace(PROTOCOLS["smoothing"], images=5))
    target = subject(Normalised(networks[0], (0.3,), (0.4,)), digits.images[:9], digits.labels[:9])
    (result,) = run_protocol("smoothing", target, ProtocolOptions(images=images, samples=20))
    assert {row.images for row in result.rows} == {expected} and result.settings["images"] == expected
