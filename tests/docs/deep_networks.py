"""The trained 56-layer networks of results/runs, and the page that speaks of them."""

from functools import cache

from tests.docs.blocks import ROOT
from tests.measured_runs import RUNS

from zerosnet.experiments import RunEvidence, read_evidence
from zerosnet.numerics import Scheme
from zerosnet.training import Store

Group = dict[Scheme, list[RunEvidence]]


def words(path: str) -> str:
    return " ".join((ROOT / path).read_text(encoding="utf-8").split())


@cache
def deep_networks(family: str) -> list[RunEvidence]:
    """Those on CIFAR-10 by recipe paper; `family` is zerosnet56 or preresnet56."""
    runs = [(run, run.record.spec) for run in read_evidence([Store(RUNS)]).runs]
    wanted = ("cifar10", "paper", family)
    return [run for run, spec in runs if (spec.dataset, spec.recipe.name, spec.model.split("_")[0]) == wanted]


def all_schemes() -> Group:
    group: Group = {}
    for run in deep_networks("zerosnet56"):
        assert run.scheme is not None
        group.setdefault(run.scheme, []).append(run)
    return group


def best(run: RunEvidence) -> float:
    assert run.record.result is not None and run.record.result.best_test_accuracy is not None
    return round(100 * run.record.result.best_test_accuracy, 9)


def used(run: RunEvidence) -> int:
    assert run.ablation is not None
    return run.ablation.used_blocks
