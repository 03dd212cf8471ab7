"""What the README says of the measured networks is what their records say."""

from tests.docs.blocks import ROOT

from zerosnet.experiments import EXPERIMENTS
from zerosnet.numerics import is_zero_stable
from zerosnet.report.evidence import read_evidence
from zerosnet.training import Store

README = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())


def test_accuracies_and_used_blocks_in_the_readme_are_those_of_the_records() -> None:
    specs = [s for s in EXPERIMENTS["table-zerosnet-cifar10"].specs("full") if s.model.startswith("zerosnet56")]
    runs = [run for run in read_evidence([Store(ROOT / "results/runs")]).runs if run.record.spec in specs]
    seeds = {run.record.spec.seed for run in runs}
    assert len(runs) == 10 * len(seeds)
    best: dict[bool, list[float]] = {True: [], False: []}
    for run in runs:
        best[bool(is_zero_stable(run.scheme))].append(100 * run.record.result.best_test_accuracy)
    assert len(seeds) == 1 and "so far one seed" in README
    for accuracies in best.values():
        assert f"{min(accuracies):.2f} to {max(accuracies):.2f} %" in README
    used = [run.ablation.used_blocks for run in runs if not is_zero_stable(run.scheme)]
    assert f"first {min(used):.0f} to {max(used):.0f} of 27 blocks" in README
