"""What results/README.md and the pages say in words of the measured networks is what their records say."""

import json
from itertools import combinations
from statistics import mean

import numpy as np
import pytest
from tests.docs.deep_networks import words
from tests.measured_runs import RUNS, needs_runs

from zerosnet.experiments import read_evidence, summarise, welch
from zerosnet.numerics import Scheme, is_zero_stable, root_condition
from zerosnet.training import Store

NAMES = {
    "zerosnet20_tra": "ZeroSNet-Tra",
    "preresnet20": "PreResNet",
    "zerosnet20_stable": "ZeroSNet-stable",
    "zerosnet20_opt": "ZeroSNet-Opt",
    "lmresnet20": "LM-ResNet",
}

pytestmark = needs_runs


@pytest.fixture(scope="module")
def runs():
    return read_evidence([Store(RUNS)]).runs


@pytest.fixture(scope="module")
def shallow(runs):
    """The 20-layer networks by recipe paper, all seeds of each."""
    found = {model: [] for model in NAMES}
    for run in runs:
        spec = run.record.spec
        if spec.model in found and spec.recipe.name == "paper" and spec.precision is None:
            found[spec.model].append(run)
    assert {len(each) for each in found.values()} == {3}
    return found


# -- twenty layers -----------------------------------------------------------------------------------------------------


def test_accuracies_and_intervals_of_twenty_layers(page, shallow):
    best = {model: [100 * run.record.result.best_test_accuracy for run in each] for model, each in shallow.items()}
    last = {model: [100 * run.record.result.test_accuracy for run in each] for model, each in shallow.items()}
    said = ", ".join(f"{NAMES[model]} {summarise(values)}" for model, values in best.items())
    assert f"{said}." in page
    *alike, below = best
    assert not any(welch(scores[one], scores[two]).certain for scores in (best, last) for one, two in pairs(alike))
    largest = max((welch(best[one], best[two]) for one, two in pairs(alike)), key=lambda one: abs(one.mean))
    assert largest == welch(best["zerosnet20_tra"], best["zerosnet20_opt"])
    assert f"Tra less Opt, is {largest}" in page
    means = [mean(last[model]) for model in alike]
    assert f"all four lie within {max(means) - min(means):.2f} points" in page
    above = {model: welch(best[model], best[below]) for model in alike}
    gaps = [one.mean for one in above.values()]
    assert f"below all four, by {min(gaps):.2f} to {max(gaps):.2f} points" in page
    assert [model for model, one in above.items() if not one.certain] == ["zerosnet20_opt"]
    opt = above["zerosnet20_opt"]
    assert f"against Opt it is {opt.low:+.2f} to {opt.high:+.2f}" in page


def pairs(models):
    return combinations(models, 2)


def coefficients(run):
    """Of every epoch the schemes of all blocks that look back."""
    lines = (run.record.folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    return [[scheme for scheme in json.loads(line)["coefficients"] if len(scheme["alphas"]) > 1] for line in lines]


def test_every_trained_lambda_stayed_zero_stable(page, shallow):
    """The third coefficient is (1 + 1/lambda)/4."""
    lambdas = [
        [[1 / (4 * block["alphas"][2] - 1) for block in blocks] for blocks in coefficients(run)]
        for run in shallow["zerosnet20_tra"]
    ]
    ended = [lam for epochs in lambdas for lam in epochs[-1]]
    least = min(lam for epochs in lambdas for blocks in epochs for lam in blocks)
    assert f"ended between {min(ended):.2f} and {max(ended):.2f}" in page
    assert f"to {min(ended):.1f} to {max(ended):.0f}," in words("docs/choose.md")
    assert f"None was ever below {least:.2f}" in page and least > 1 / 3


def test_the_roots_of_stable_networks(page, shallow):
    moduli = [
        [max(abs(root) for root in parasitic(block["alphas"])) for block in coefficients(run)[-1]]
        for run in shallow["zerosnet20_stable"]
    ]
    before = [one for each in moduli for one in each[:-1]]
    ends = [each[-1] for each in moduli]
    assert f"between {min(before):.2f} and {max(before):.2f}, and in the last block between" in page
    assert f"in the last block between {min(ends):.2f} and {max(ends):.2f}" in page


def parasitic(alphas):
    roots = np.roots([1.0, *(-alpha for alpha in alphas)])
    return sorted(roots, key=lambda root: abs(root - 1))[1:]


def test_k_of_the_last_block_leaves_the_zero_stable_region(page, shallow):
    ks = [[[s["alphas"][1] for s in blocks] for blocks in coefficients(run)] for run in shallow["lmresnet20"]]
    inner = [k for each in ks for k in each[-1][:-1]]
    assert f"k ended between {min(inner):.2f} and {max(inner):.2f}" in page
    first, second, third = (f"{each[-1][-1]:.2f}" for each in ks)
    assert f"there at {first}, {second} and {third}" in page
    assert all(-1 < k <= 1 for each in ks for epoch in each for k in epoch[:-1])
    assert not any(-1 < epoch[-1] <= 1 for each in ks for epoch in each[1:])


def test_epochs_that_stood_still_are_named(page, shallow):
    models = ("lmresnet20", "zerosnet20_tra", "zerosnet20_stable")
    longest = [max(shallow[model][0].metrics, key=lambda epoch: epoch["seconds"]) for model in models]
    assert {round(epoch["seconds"]) for epoch in longest} == {137}
    assert "137 s a network in epoch {}, {} and {}".format(*(epoch["epoch"] for epoch in longest)) in page


# -- FGSM --------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def attacked(runs):
    """Images that ten networks get right of 10,000, by scheme and (method, eps in [-1, 1])."""
    found = {}
    for run in runs:
        if "paper-fgsm" in run.attacks:
            rows = [row for row in run.attacks["paper-fgsm"].rows if row.images == 10_000]
            found[run.scheme] = {(row.method, 2 * (row.eps or 0)): row.correct / 100 for row in rows}
    assert len(found) == 10
    return found


def kinds(attacked, method, eps):
    of = {
        kind: [one[method, eps] for s, one in attacked.items() if is_zero_stable(s) is kind] for kind in (True, False)
    }
    return of[True], of[False]


def test_where_the_claim_about_fgsm_holds(page, attacked):
    stable, others = kinds(attacked, "fgsm", 0.15)
    assert min(stable) > max(others) and welch(stable, others).certain
    assert f"FGSM 0.15: {min(stable):.0f} to {max(stable):.0f} % against {min(others):.0f} to {max(others):.0f} %" in (
        words("docs/faq.md")
    )
    below = []
    for eps in (0.3, 0.5):
        stable, others = kinds(attacked, "fgsm", eps)
        assert not welch(stable, others).certain
        below.append(sum(one < max(others) for one in stable))
    assert "{} of 6 at 0.3, {} of 6 at 0.5".format(*below) in page
    left = sorted([*stable, *others])[:-1]
    assert f"all networks but one are left with {min(left):.2f} to {max(left):.2f} %" in page


def test_the_optimum_is_not_the_most_robust(page, attacked):
    optimum, best = Scheme(["1/3", "5/9", "1/9"], ["16/9"]), Scheme(["1/10", "1/5", "3/10"], ["2/5"])
    for scheme in (optimum, best):
        assert (
            "{:.2f}, {:.2f} and {:.2f} %".format(*(attacked[scheme]["fgsm", eps] for eps in (0.15, 0.3, 0.5))) in page
        )
    inside = [Scheme(["1/2", "3/10", "1/10"], ["1/10"]), Scheme(["1", "3/10", "-2/5"], ["1"])]
    assert all(max(root_condition(scheme).moduli) < 1 for scheme in (best, *inside))
    assert (
        "which keep {:.2f} and {:.2f} % at 0.15".format(*(attacked[scheme]["fgsm", 0.15] for scheme in inside)) in page
    )
    rest = {scheme: one for scheme, one in attacked.items() if scheme != best}
    gaps = [mean(stable) - mean(others) for stable, others in (kinds(rest, "fgsm", eps) for eps in (0.3, 0.5))]
    assert "differ by {:.2f} points at 0.3 and by {:.2f} at 0.5".format(*gaps) in page


def test_what_the_controls_leave(page, attacked):
    stable, others = kinds(attacked, "pgd-20", 0.3)
    most = max(stable + others)
    assert f"at 0.3 at most {most:.2f} %" in page
    assert most < 1.2 and "more than 1.2 %" in words("docs/faq.md") and "more than 1.2 %" in words("README.md")
    stable, others = kinds(attacked, "pgd-20", 0.15)
    assert f"zero-stable networks, {min(stable):.2f} to {max(stable):.2f} %, and {max(others):.2f} % at most to" in page
    assert not welch(stable, others).certain
    stable, others = kinds(attacked, "random signs", 0.15)
    assert f"down to {min(others):.2f} to {max(others):.2f} %" in page
    lost = [one["clean", 0] - one["random signs", 0.15] for s, one in attacked.items() if is_zero_stable(s)]
    assert 4 < max(lost) < 5 and "5 points at most" in page


def test_the_failed_check_is_explained_with_its_numbers(page, runs):
    failed = {run.record.id: run for run in runs if any(attack.warnings for attack in run.attacks.values())}
    (one,) = failed.values()
    assert json.loads((one.record.folder / "attacks" / "paper-fgsm.json").read_text())["warnings"]
    left = {2 * row.eps: row.correct for row in one.attacks["paper-fgsm"].rows if row.method == "pgd-20"}
    assert f"left {left[0.5]} of 10,000 images at 0.5 and {left[0.3]} at 0.3" in page
    assert f"missed {left[0.5] - left[0.3]} images" in page
