"""Tables and numbers about accuracy, from the records in results/runs.

The unit of an interval over the ten schemes is a scheme, with the mean of its seeds; that of an interval between two
networks is a seed.
"""

from collections.abc import Callable
from functools import cache, partial
from statistics import mean

from tools.markdown_tables import ROOT, span, table
from zerosnet.experiments import (
    EXPERIMENTS,
    Difference,
    Evidence,
    RunEvidence,
    parasitic_modulus,
    pooled_difference,
    read_evidence,
    spearman,
    summarise,
    welch,
)
from zerosnet.numerics import PAPER_ROWS, Scheme, is_zero_stable
from zerosnet.training import Store

RUNS = ROOT / "results/runs"
OPTIMUM = Scheme.parse("zerosnet(-9/5)")
PAPERS = tuple(row.scheme for row in PAPER_ROWS)
Runs = list[RunEvidence]
Number = Callable[[RunEvidence], float | None]
"""A number of a run; None if it was not measured, as under noise."""


@cache
def evidence() -> Evidence:
    """Read the records, once."""
    return read_evidence([Store(RUNS)])


def of_model(model: str) -> Runs:
    """Find the finished runs of a model on CIFAR-10 by recipe `paper`, in the usual precision."""
    found = []
    for run in evidence().runs:
        spec = run.record.spec
        usual = (spec.dataset, spec.recipe.name, spec.precision) == ("cifar10", "paper", None) and not spec.rewired
        if usual and not spec.changes and spec.model == model and run.record.result is not None:
            found.append(run)
    return found


@cache
def deep() -> dict[Scheme, Runs]:
    """Group the runs of 56 layers by their scheme."""
    group: dict[Scheme, Runs] = {}
    for run in of_model("zerosnet56_opt") + of_model("zerosnet56"):
        if run.scheme is not None:
            group.setdefault(run.scheme, []).append(run)
    return group


def best(run: RunEvidence) -> float:
    assert run.record.result is not None and run.record.result.best_test_accuracy is not None
    return round(100 * run.record.result.best_test_accuracy, 9)


def last(run: RunEvidence) -> float:
    assert run.record.result is not None and run.record.result.test_accuracy is not None
    return round(100 * run.record.result.test_accuracy, 9)


def fitted(run: RunEvidence) -> float:
    """Return the accuracy on the training images at the end, in per cent."""
    assert run.record.result is not None and run.record.result.train_accuracy is not None
    return round(100 * run.record.result.train_accuracy, 9)


def used(run: RunEvidence) -> float | None:
    return None if run.ablation is None else run.ablation.used_blocks


def noisy(run: RunEvidence, label: str) -> float | None:
    attack = run.attacks.get("paper-noise")
    return None if attack is None else next(100 * row.accuracy for row in attack.rows if row.label == label)


def known(number: Number, runs: Runs) -> list[float]:
    """Return the numbers of those runs that have them."""
    return [value for value in map(number, runs) if value is not None]


# -- the paper's ten schemes -------------------------------------------------------------------------------------------


def sides(number: Number) -> tuple[list[float], list[float]]:
    """Return the means over seeds of the paper's zero-stable schemes, and of its others."""
    means = {scheme: mean(known(number, deep()[scheme])) for scheme in PAPERS}
    stable = [value for scheme, value in means.items() if is_zero_stable(scheme)]
    return stable, [value for scheme, value in means.items() if not is_zero_stable(scheme)]


def ten_schemes() -> str:
    """Compare the six zero-stable schemes with the four others."""
    numbers: dict[str, Number] = {
        "test accuracy, best epoch, %": best,
        "accuracy on the training images, %": fitted,
        "training less test accuracy, last epoch, points": lambda run: fitted(run) - last(run),
        "used depth of 27 blocks": used,
    }
    noises = {
        "uniform noise in [-0.08, 0], %": "uniform [-0.08, 0]",
        "Gaussian noise 0.04, %": "Gaussian 0.04",
        "constant noise -0.4, %": "constant -0.4",
    }
    for name, label in noises.items():
        numbers[name] = partial(noisy, label=label)
    rows = []
    for name, number in numbers.items():
        stable, others = sides(number)
        digits = 0 if number is used else 2
        rows.append((name, span(stable, digits), span(others, digits), str(welch(stable, others))))
    gaps = [min(stable) - max(others) for stable, others in map(_under, _noises())]
    least = f"lowest zero-stable less highest other: {min(gaps):+.2f} at least"
    rows.append((f"each of {len(gaps)} noises", "", "", least))
    stable, others = _printed()
    rows.insert(1, ("the paper prints, %", span(stable), span(others), str(welch(stable, others))))
    heads = ("56 layers, CIFAR-10", "zero-stable schemes", "the others", "difference of the means")
    return table(heads, rows)


def _noises() -> list[str]:
    """List the labels of the paper's noises; the first row of a protocol is the clean one."""
    attacks = (run.attacks.get("paper-noise") for run in deep()[OPTIMUM])
    return [row.label for row in next(attack for attack in attacks if attack is not None).rows[1:]]


def _under(label: str) -> tuple[list[float], list[float]]:
    return sides(lambda run: noisy(run, label))


def _printed() -> tuple[list[float], list[float]]:
    """Return what the paper prints for 56 layers, zero-stable schemes and others."""
    experiment = EXPERIMENTS["table-zerosnet-cifar10"]
    found: dict[bool, list[float]] = {True: [], False: []}
    for row in experiment.rows:
        cell = experiment.cell(row.key, experiment.columns[0].key)
        if row.group == "56 layers" and row.scheme is not None and cell is not None and cell.printed is not None:
            found[bool(is_zero_stable(row.scheme))].append(cell.printed.value)
    return found[True], found[False]


def optimum_against() -> str:
    """Compare the paper's optimum with its other zero-stable schemes and with PreResNet, seed by seed."""
    rivals = {str(scheme): deep()[scheme] for scheme in PAPERS if is_zero_stable(scheme) and scheme != OPTIMUM}
    rivals["PreResNet-56"] = of_model("preresnet56")
    optimum = [best(run) for run in deep()[OPTIMUM]]
    rows = [(f"`{OPTIMUM}`, the optimum", str(summarise(optimum)), "")]
    for name, runs in sorted(rivals.items(), key=lambda one: -mean(map(best, one[1]))):
        values = [best(run) for run in runs]
        shown = name if name.startswith("Pre") else f"`{name}`"
        rows.append((shown, str(summarise(values)), told(over_seeds(deep()[OPTIMUM], runs))))
    return table(("Scheme", "Best epoch, %", "Optimum less this"), rows)


# -- pairs and all schemes ---------------------------------------------------------------------------------------------


def over_seeds(first: Runs, second: Runs) -> Difference | None:
    """Compare two networks of 56 layers, deviations pooled over all schemes that are as stable."""
    kinds = [runs[0].scheme is None or bool(is_zero_stable(runs[0].scheme)) for runs in (first, second)]
    pools = [[list(map(best, runs)) for s, runs in deep().items() if is_zero_stable(s) is kind] for kind in kinds]
    alike = None if kinds[0] == kinds[1] else pools[1]
    return pooled_difference(list(map(best, first)), list(map(best, second)), pools[0], alike)


def pairs() -> str:
    """List the difference of every pair, and the blocks that both use."""
    experiment = EXPERIMENTS["pairs"]
    rows = []
    for group in dict.fromkeys(row.group for row in experiment.rows):
        first, second = (row for row in experiment.rows if row.group == group)
        runs = [deep().get(row.scheme, []) if row.scheme is not None else [] for row in (first, second)]
        shown = told(over_seeds(runs[0], runs[1]) if all(runs) else None)
        blocks = [_blocks(each) for each in runs]
        rows.append((group, first.labels[1], second.labels[1], shown, " and ".join(blocks)))
    heads = ("What differs", "First", "Second", "First less second, points", "Used depth of 27")
    return table(heads, rows)


def told(difference: Difference | None) -> str:
    return "not measured" if difference is None else f"{difference}, {difference.verdict}"


def _blocks(runs: Runs) -> str:
    found = known(used, runs)
    return span(found, 0) if found else "not measured"


def correlations() -> str:
    """Rank correlations of accuracy with the used depth and with the largest parasitic modulus."""
    rows = []
    for name, schemes in (("the paper's ten", PAPERS), ("all", tuple(deep()))):
        chosen = [scheme for scheme in schemes if known(used, deep()[scheme])]
        accuracy = [mean(map(best, deep()[scheme])) for scheme in chosen]
        blocks = spearman([mean(known(used, deep()[scheme])) for scheme in chosen], accuracy)
        moduli = spearman([parasitic_modulus(scheme) for scheme in chosen], accuracy)
        rows.append((name, str(len(chosen)), str(blocks), str(moduli)))
    heads = ("Schemes of 56 layers", "Number", "With the used depth", "With the largest parasitic modulus")
    return table(heads, rows)


def less(first: str, second: str) -> float:
    """Return the mean accuracy of one scheme less that of another."""
    ours, theirs = (mean(map(best, deep()[Scheme.parse(text)])) for text in (first, second))
    return ours - theirs


# -- attacks -----------------------------------------------------------------------------------------------------------


def attacked(method: str, eps: float) -> tuple[list[float], list[float]]:
    """Return accuracies on all images of MNIST: zero-stable networks, and the others. Eps is for [-1, 1]."""
    found: dict[bool, list[float]] = {True: [], False: []}
    for run in evidence().runs:
        attack = run.attacks.get("paper-fgsm")
        if attack is None or run.scheme is None:
            continue
        for row in attack.rows:
            if row.images == 10_000 and (row.method, 2 * (row.eps or 0)) == (method, eps):
                found[bool(is_zero_stable(run.scheme))].append(row.correct / 100)
    return found[True], found[False]


def _rank_test(eps: float) -> tuple[str, str]:
    """Write in how many pairs a zero-stable network keeps more under FGSM, and the p-value of an exact rank test."""
    from scipy.stats import mannwhitneyu

    stable, others = attacked("fgsm", eps)
    found = mannwhitneyu(stable, others, method="exact")
    return f"{found.statistic:g} of {len(stable) * len(others)}", f"{found.pvalue:.2f}"


TABLES: dict[str, Callable[[], str]] = {
    "ten schemes": ten_schemes,
    "optimum against others": optimum_against,
    "differences of pairs": pairs,
    "what accuracy goes with": correlations,
}
VALUES: dict[str, Callable[[], str]] = {
    "cost of a root at -1.88": lambda: f"{less('zerosnet(-9/5)', 'zerosnet(-1/2)'):.1f}",
    "cost of a root at -1.2": lambda: span(
        (less("zerosnet(-9/5)", "-4/495,613/495,-38/165;16/9"), less("zerosnet(1/2)", "63/110,149/110,-51/55;1/2")), 1
    ),
    "blocks used with a root at -1.2": lambda: _blocks(deep()[Scheme.parse("-4/495,613/495,-38/165;16/9")]),
    "FGSM 0.3, pairs": lambda: _rank_test(0.3)[0],
    "FGSM 0.3, p": lambda: _rank_test(0.3)[1],
    "FGSM 0.5, pairs": lambda: _rank_test(0.5)[0],
    "FGSM 0.5, p": lambda: _rank_test(0.5)[1],
    "FGSM 0.15, zero-stable": lambda: span(attacked("fgsm", 0.15)[0], 0),
    "FGSM 0.15, others": lambda: span(attacked("fgsm", 0.15)[1], 0),
    "PGD-20 0.15, zero-stable": lambda: span(attacked("pgd-20", 0.15)[0], 1),
    "PGD-20 0.15, others": lambda: span(attacked("pgd-20", 0.15)[1], 1),
    "PGD-20 0.3, most": lambda: f"{max(map(max, attacked('pgd-20', 0.3))):.2f}",
}
