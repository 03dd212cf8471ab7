"""What results/README.md says of the pairs of 56-layer networks is what their records say."""

from statistics import mean

import pytest
from tests.docs.deep_networks import OPTIMUM, RUNS, Group, all_schemes, best, used, words

from zerosnet.experiments import spearman, summarise, welch
from zerosnet.experiments.own import PAIRS
from zerosnet.numerics import Scheme, is_zero_stable, root_condition

pytestmark = pytest.mark.skipif(not RUNS.exists(), reason="there are no measured runs beside this copy")


@pytest.fixture(scope="module")
def page() -> str:
    return words("results/README.md")


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


def less(schemes: Group, first: Scheme, second: Scheme) -> str:
    return str(welch(accuracies(schemes, first), accuracies(schemes, second)))


def test_how_many_there_are(page: str, schemes: Group) -> None:
    of_pairs = {scheme for both in PAIRS.values() for _, scheme in both}
    new = [scheme for scheme in of_pairs if len(schemes[scheme]) < 3]
    assert len(of_pairs) == 12 and len(schemes) == 18 and len(new) == 8
    assert sorted(len(schemes[scheme]) for scheme in new) == [1, 1, 2, 2, 2, 2, 2, 2]
    assert "two seeds of six of them and one of the other two" in page


def test_stability_by_itself(page: str, schemes: Group) -> None:
    spans = []
    for beta in ("16/9", "1/2"):
        stable, other = pair(f"stability, with the same beta {beta}")
        assert is_zero_stable(stable) and not is_zero_stable(other)
        assert less(schemes, stable, other) in page
        spans.append(
            [f"{min(blocks)} to {max(blocks)}" for blocks in (blocks_of(schemes, other), blocks_of(schemes, stable))]
        )
    assert f"has {summarise(accuracies(schemes, pair('stability, with the same beta 16/9')[1]))} %" in page
    (other, stable), (other_half, stable_half) = spans
    assert f"the first {other} and {other_half} of 27 blocks are used" in page
    assert stable == "27 to 27" and f"use 27 and {stable_half}" in page


def test_just_across_the_circle(page: str, schemes: Group) -> None:
    stable, other = pair("stability and a little of beta")
    inside, outside = (accuracies(schemes, scheme) for scheme in (stable, other))
    assert f"give {summarise(inside)} and {summarise(outside)} %: {less(schemes, stable, other)}" in page
    assert {*blocks_of(schemes, stable), *blocks_of(schemes, other)} == {27} and f"is {1.05**27:.1f}" in page
    lowest = accuracies(schemes, Scheme.parse("zerosnet(1/2)"))
    assert f"by {mean(outside) - mean(lowest):.2f} points" in page


def test_stability_is_not_enough(page: str, schemes: Group) -> None:
    drowned, growing = pair("stability and size of beta")
    assert is_zero_stable(drowned) and not is_zero_stable(growing)
    assert min(schemes, key=lambda scheme: mean(accuracies(schemes, scheme))) == drowned
    below = welch(accuracies(schemes, growing), accuracies(schemes, drowned))
    assert below is not None
    assert f"{below.mean:.2f} points (95 % interval {below.low:.2f} to {below.high:.2f}) below" in page
    assert f"{summarise(accuracies(schemes, drowned))} %, 2 blocks used" in page
    assert {*blocks_of(schemes, drowned)} == {2} and {*blocks_of(schemes, growing)} == {5}


def test_consistency_and_beta(page: str, schemes: Group) -> None:
    consistent, other = pair("consistency")
    difference = welch(accuracies(schemes, consistent), accuracies(schemes, other))
    assert difference is not None and consistent == OPTIMUM and not difference.certain
    assert (
        f"lower by {difference.mean:.2f} points (95 % interval {difference.low:.2f} to {difference.high:+.2f})" in page
    )
    (small,), (large,) = (accuracies(schemes, pair(name)[1]) for name in ("size of beta and", "size of beta, a row"))
    assert f"A tenth of its beta gives {small:.2f} % (one seed)" in page
    paper = summarise(accuracies(schemes, pair("size of beta, a row")[0]))
    assert f"gives {large:.2f} % (one seed) instead of {paper}" in page


def test_accuracy_follows_the_blocks_that_are_used(page: str, schemes: Group) -> None:
    accuracy = [mean(accuracies(schemes, scheme)) for scheme in schemes]
    blocks = spearman([mean(blocks_of(schemes, scheme)) for scheme in schemes], accuracy)
    moduli = spearman([max(map(abs, root_condition(scheme).parasitic_roots)) for scheme in schemes], accuracy)
    assert blocks is not None and moduli is not None
    assert f"blocks used is {blocks.rho:+.2f} (p = {blocks.p:.2g})" in page
    assert f"largest parasitic modulus {moduli.rho:+.2f} (p = {moduli.p:.2g})" in page
    choose = words("docs/choose.md")
    assert (
        f"blocks used (rank correlation {blocks.rho:+.2f}) more closely" in choose and f"({moduli.rho:+.2f})" in choose
    )
