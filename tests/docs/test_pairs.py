"""What results/README.md says of the pairs of 56-layer networks is what their records say."""

from collections.abc import Iterable
from statistics import mean

import pytest
import torch
from tests.docs.deep_networks import Group, all_schemes, best, used, words
from tests.measured_runs import needs_runs

from zerosnet.experiments import Difference, spearman, summarise, welch
from zerosnet.experiments.conclusions import parasitic_modulus
from zerosnet.experiments.ours import PAIRS
from zerosnet.experiments.statistics import Correlation
from zerosnet.models import create_model, diagnose
from zerosnet.numerics import OPTIMUM, PAPER_ROWS, Scheme, is_zero_stable, order

pytestmark = needs_runs


@pytest.fixture(scope="module")
def schemes() -> Group:
    return all_schemes()


def pair(beginning: str) -> tuple[Scheme, Scheme]:
    (found,) = ((first, second) for name, ((_, first), (_, second)) in PAIRS.items() if name.startswith(beginning))
    return found


def accuracies(schemes: Group, scheme: Scheme) -> list[float]:
    return [best(run) for run in schemes[scheme]]


def blocks_of(schemes: Group, scheme: Scheme) -> list[int]:
    return [used(run) for run in schemes[scheme]]


def less(schemes: Group, first: Scheme, second: Scheme) -> Difference:
    found = welch(accuracies(schemes, first), accuracies(schemes, second))
    assert found is not None
    return found


def in_points(difference: Difference) -> str:
    return str(difference).replace(" (95", " points (95")


def span(numbers: list[int]) -> str:
    return f"{min(numbers)} to {max(numbers)}"


def test_how_many_there_are(page: str, schemes: Group) -> None:
    of_pairs = {scheme for both in PAIRS.values() for _, scheme in both}
    new = [scheme for scheme in of_pairs if len(schemes[scheme]) < 3]
    assert len(of_pairs) == 12 and len(schemes) == 18 and len(new) == 8
    assert sorted(len(schemes[scheme]) for scheme in new) == [1, 1, 2, 2, 2, 2, 2, 2]
    assert "two seeds of six of them and one of the other two" in page


def test_what_instability_costs(page: str, schemes: Group) -> None:
    (stable, other), (stable_half, other_half) = (pair(f"stability, with the same beta {b}") for b in ("16/9", "1/2"))
    for first, second in ((stable, other), (stable_half, other_half)):
        assert is_zero_stable(first) and not is_zero_stable(second)
        assert (order(first), order(second)) == (2, 1)
    assert f"{in_points(less(schemes, stable, other))} for the latter with beta 16/9" in page
    assert f"{less(schemes, stable_half, other_half)} with beta 1/2" in page
    far = Scheme.parse("zerosnet(-1/2)")
    cost = less(schemes, OPTIMUM, far)
    assert f"makes it {cost} for the optimum" in page
    inside, outside = pair("stability and a little of beta")
    assert (order(inside), order(outside)) == (1, 1) and [float(s.betas[0]) for s in (inside, outside)] == [1.95, 2.05]
    near = less(schemes, inside, outside)
    both = " and ".join(str(summarise(accuracies(schemes, scheme))) for scheme in (inside, outside))
    assert f"give {both} %: {near}" in page and f"a loss of more than {near.high:.1f} points" in page
    powers = [parasitic_modulus(scheme) ** 27 for scheme in (outside, other, far)]
    assert "1.05 is {:.1f}, 1.2 is {:.0f}, and 1.88 is {:.1e}".format(*powers) in page
    losses = [less(schemes, *both).mean for both in ((stable, other), (stable_half, other_half))]
    assert [round(loss) for loss in losses] == [2, 2]
    readme = words("README.md")
    assert f"{cost.mean:.1f} points at -1.88, about 2 at -1.2, and at -1.05 nothing that two seeds" in readme


def test_blocks_that_are_used(page: str, schemes: Group) -> None:
    (stable, other), (stable_half, other_half) = (pair(f"stability, with the same beta {b}") for b in ("16/9", "1/2"))
    blocks = {scheme: span(blocks_of(schemes, scheme)) for scheme in (other, other_half, stable_half)}
    assert f"the first {blocks[other]} and {blocks[other_half]} of 27 blocks are used" in page
    assert {*blocks_of(schemes, stable)} == {27} and f"use 27 and {blocks[stable_half]}" in page
    assert {*blocks_of(schemes, pair("stability and a little of beta")[1])} == {27}
    assert f"use {blocks[other]} of them" in words("docs/choose.md")
    both = [*blocks_of(schemes, other), *blocks_of(schemes, other_half)]
    assert f"used {span(both)} of 27" in words("docs/mathematics.md")


def test_a_zero_stable_network_can_be_shallow(page: str, schemes: Group) -> None:
    drowned, growing = pair("stability and size of beta")
    assert is_zero_stable(drowned) and not is_zero_stable(growing)
    assert min(schemes, key=lambda scheme: mean(accuracies(schemes, scheme))) == drowned
    assert f"{summarise(accuracies(schemes, drowned))} %, the lowest of all" in page
    assert f"is above it by {less(schemes, growing, drowned)}" in page
    assert {*blocks_of(schemes, drowned)} == {2} and {*blocks_of(schemes, growing)} == {5}
    for run in schemes[drowned]:
        assert run.ablation is not None
        assert max(run.ablation.ratios[2:]) < 2**-24, "less than float32 can hold"


def test_slow_growth_is_not_seen_before_training() -> None:
    model = create_model("zerosnet56", scheme=pair("stability, with the same beta 16/9")[1], seed=0)
    found = diagnose(model, torch.randn(16, 3, 32, 32, generator=torch.Generator().manual_seed(0)))
    assert min(block.ratio for block in found.blocks) > 0.02
    assert "all 27 blocks add more than 2 % before training" in words("docs/choose.md")


def test_consistency_and_beta(page: str, schemes: Group) -> None:
    consistent, other = pair("consistency")
    difference = less(schemes, consistent, other)
    assert consistent == OPTIMUM and not difference.certain and f"{difference} for the consistent one" in page
    (small,), (large,) = (accuracies(schemes, pair(name)[1]) for name in ("size of beta and", "size of beta, a row"))
    optimum = summarise(accuracies(schemes, OPTIMUM))
    assert f"a tenth of the optimum's gives {small:.2f} %, where it has {optimum}" in page
    paper = summarise(accuracies(schemes, pair("size of beta, a row")[0]))
    assert f"gives {large:.2f} % instead of {paper}" in page


def test_accuracy_goes_with_the_blocks_that_are_used(page: str, schemes: Group) -> None:
    def correlations(chosen: Iterable[Scheme]) -> tuple[Correlation, Correlation]:
        some = list(chosen)
        accuracy = [mean(accuracies(schemes, scheme)) for scheme in some]
        blocks = spearman([mean(blocks_of(schemes, scheme)) for scheme in some], accuracy)
        moduli = spearman([parasitic_modulus(scheme) for scheme in some], accuracy)
        assert blocks is not None and moduli is not None
        return blocks, moduli

    drowned = pair("stability and size of beta")[0]
    blocks, moduli = (str(one).replace(", n = 18", "") for one in correlations(schemes))
    assert f"number of blocks used is {blocks}, with the largest parasitic modulus {moduli};" in page
    without = " and ".join(f"{one.rho:+.2f}" for one in correlations(s for s in schemes if s != drowned))
    ten = " and ".join(f"{one.rho:+.2f}" for one in correlations(row.scheme for row in PAPER_ROWS))
    assert f"of 2 blocks they are {without}, over the paper's ten {ten}." in page
    whole = [mean(accuracies(schemes, s)) for s in schemes if {*blocks_of(schemes, s)} == {27}]
    assert len(whole) == 10 and f"use all 27 reach from {min(whole):.2f} to {max(whole):.2f} %" in page
