"""What results/README.md says of the thirty 56-layer networks is what their records say."""

from collections.abc import Callable
from functools import partial
from statistics import mean

import pytest
from tests.docs.deep_networks import Group, all_schemes, best, deep_networks, used, words
from tests.measured_runs import needs_runs

from zerosnet.experiments import RunEvidence, experiment, summarise, welch
from zerosnet.numerics import OPTIMUM, Scheme, is_zero_stable

pytestmark = needs_runs


@pytest.fixture(scope="module")
def schemes() -> Group:
    group = {scheme: runs for scheme, runs in all_schemes().items() if scheme in printed()}
    assert len(group) == 10 and all({r.record.spec.seed for r in each} == {1, 2, 3} for each in group.values())
    return group


def printed() -> dict[Scheme, float]:
    """What the paper prints for 56 layers."""
    table, found = experiment("table-zerosnet-cifar10"), {}
    for row in table.rows:
        cell = table.cell(row.key, table.columns[0].key)
        if row.group == "56 layers" and row.scheme is not None and cell is not None and cell.printed is not None:
            found[row.scheme] = cell.printed.value
    return found


def noisy(run: RunEvidence, label: str) -> float:
    return next(100 * row.accuracy for row in run.attacks["paper-noise"].rows if row.label == label)


def kinds(schemes: Group, number: Callable[[RunEvidence], float]) -> tuple[list[float], list[float]]:
    """Means over the seeds, of zero-stable schemes and of the others."""
    means = {scheme: mean(map(number, runs)) for scheme, runs in schemes.items()}
    stable = [value for scheme, value in means.items() if is_zero_stable(scheme)]
    return stable, [value for scheme, value in means.items() if not is_zero_stable(scheme)]


def test_zero_stable_schemes_are_better(page: str, schemes: Group) -> None:
    stable, others = kinds(schemes, best)
    assert f"The six zero-stable schemes reach {min(stable):.2f} to {max(stable):.2f} %" in page
    more = str(welch(stable, others)).replace(" (95", " points in the mean (95")
    assert f"the four others {min(others):.2f} to {max(others):.2f} %: {more}" in page
    of_kind = {True: list[float](), False: list[float]()}
    for scheme, runs in schemes.items():
        of_kind[bool(is_zero_stable(scheme))] += map(best, runs)
    assert min(of_kind[True]) > max(of_kind[False]), "no network of the one kind is below one of the other"


def test_so_they_are_under_noise(page: str, schemes: Group) -> None:
    clean, *labels = (row.label for row in schemes[OPTIMUM][0].attacks["paper-noise"].rows)
    assert len(labels) == 17
    gaps, optimum_best = [], 0
    for label in labels:
        stable, others = kinds(schemes, partial(noisy, label=label))
        assert min(stable) > max(others) and welch(stable, others).certain
        gaps.append(mean(stable) - mean(others))
        lost = kinds(schemes, lambda run, label=label: noisy(run, clean) - noisy(run, label))
        assert mean(lost[1]) > mean(lost[0])
        if label == "uniform [-0.08, 0]":
            assert f"{mean(lost[1]):.2f} points against {mean(lost[0]):.2f}, where the paper has" in page
        optimum_best += mean(noisy(run, label) for run in schemes[OPTIMUM]) == max(stable)
    assert f"by {min(gaps):.2f} to {max(gaps):.2f} points in the mean" in page
    assert optimum_best == 0


def test_the_optimum_is_one_of_several_best(page: str, schemes: Group) -> None:
    numbers = {scheme: [best(run) for run in runs] for scheme, runs in schemes.items()}
    optimum = numbers.pop(OPTIMUM)
    assert f"with {summarise(optimum)} %" in page
    near = sorted((welch(optimum, other) for other in numbers.values()), key=lambda one: one.mean)
    assert near[0].mean > 0 and f"by {near[0].mean:.2f} and {near[1].mean:.2f} points" in page
    assert [one.certain for one in near] == [False] * 2 + [True] * 7
    against = welch(optimum, [best(run) for run in deep_networks("preresnet56")])
    assert not against.certain and f"by {against} over PreResNet-56" in page
    assert "three seeds cannot tell the paper's optimum from two other rows, nor from PreResNet" in words("README.md")


def test_which_scheme_to_choose(schemes: Group) -> None:
    chosen = [OPTIMUM, Scheme.parse("zerosnet(10)"), Scheme.parse("zerosnet(1/2)")]
    groups = [*(schemes[scheme] for scheme in chosen), deep_networks("preresnet56")]
    first, second, third, other = (str(summarise([*map(best, runs)])).replace("±", " ± ") for runs in groups)
    assert f"give {first}, {second} and {third}, and PreResNet {other}" in words("docs/choose.md")


def test_blocks_that_are_used(page: str, schemes: Group) -> None:
    few = [{used(run) for run in runs} for scheme, runs in schemes.items() if not is_zero_stable(scheme)]
    assert all(len(each) == 1 for each in few), "in every seed alike"
    assert f"the first {min(map(min, few))} to {max(map(max, few))} of 27 blocks" in page
    many = [used(run) for scheme, runs in schemes.items() for run in runs if is_zero_stable(scheme)]
    assert f"need {min(many)} blocks or more" in page


def test_beside_the_printed_numbers(page: str, schemes: Group) -> None:
    paper = printed()
    assert paper.keys() == schemes.keys()
    more = {scheme: mean(map(best, runs)) - paper[scheme] for scheme, runs in schemes.items()}
    stable = sorted(value for scheme, value in more.items() if is_zero_stable(scheme))
    others = sorted(value for scheme, value in more.items() if not is_zero_stable(scheme))
    assert f"are {-stable[-1]:.2f} to {-stable[0]:.2f} points lower in the mean" in page
    assert f"others {others[1]:.2f} to {others[-1]:.2f} higher and one {-others[0]:.2f} lower" in page
    ours, theirs = kinds(schemes, best), kinds(schemes, lambda run: paper[run.scheme])  # type: ignore[index]
    assert f"it is {min(ours[0]) - max(ours[1]):.2f} points where the paper has" in page
    assert f"the paper has {min(theirs[0]) - max(theirs[1]):.2f}." in page


def test_the_version_of_the_kernels_is_not_seen(page: str, schemes: Group) -> None:
    firsts = sum(max(runs, key=best).record.spec.seed == 1 for runs in schemes.values())
    assert f"the best of its three seeds in {firsts} of 10 schemes" in page
