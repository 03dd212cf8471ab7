"""What the README says of the measured networks is what their records say."""

from collections import Counter
from statistics import mean

from tests.docs.blocks import ROOT, load_file

from zerosnet.experiments import EXPERIMENTS, read_evidence
from zerosnet.numerics import is_zero_stable
from zerosnet.training import Store

SEEDS = {
    (1, 1): "so far one seed:",
    (1, 2): "so far means of one to two seeds:",
    (1, 3): "so far means of one to three seeds:",
    (2, 2): "so far means of two seeds:",
    (2, 3): "so far means of two to three seeds:",
    (3, 3): ", means of three seeds:",
}
README = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())


def test_accuracies_and_used_blocks_in_the_readme_are_those_of_the_records() -> None:
    specs = [s for s in EXPERIMENTS["table-zerosnet-cifar10"].specs("full") if s.model.startswith("zerosnet56")]
    runs = [run for run in read_evidence([Store(ROOT / "results/runs")]).runs if run.record.spec in specs]
    seeds = Counter(run.scheme for run in runs)
    assert len(seeds) == 10 and {run.record.spec.seed for run in runs} <= {1, 2, 3}
    assert SEEDS[min(seeds.values()), max(seeds.values())] in README
    for kind in (True, False):
        alike = [run for run in runs if is_zero_stable(run.scheme) is kind]
        best = _means((run.scheme, 100 * run.record.result.best_test_accuracy) for run in alike)
        assert f"{min(best):.2f} to {max(best):.2f} %" in README
    used = _means((run.scheme, run.ablation.used_blocks) for run in runs if not is_zero_stable(run.scheme))
    assert f"first {min(used):.0f} to {max(used):.0f} of 27 blocks" in README


def test_curves_of_the_figure_go_from_no_block_to_the_whole_network() -> None:
    lines = load_file("figures/measured.py").measured_figure().axes[2].lines
    assert len(lines) == 10
    assert {(line.get_xdata()[0], line.get_xdata()[-1]) for line in lines} == {(0, 27)}
    assert min(line.get_ydata()[-1] for line in lines) > 79 and max(line.get_ydata()[-1] for line in lines) > 93


def _means(numbers):
    """The mean over seeds of every scheme."""
    by_scheme = {}
    for scheme, number in numbers:
        by_scheme.setdefault(scheme, []).append(number)
    return [mean(each) for each in by_scheme.values()]
