"""Print errors of many laws, in points of accuracy: always on networks that the law was not fitted on.

    python -m tools.compare_laws

left out    each network by the law that is fitted to all others
random      the sign pairs and random schemes, by the law that is fitted to the networks trained before them
later       networks that were trained after the law of parts was written down, by the law that is fitted to all others;
            no column as long as none is trained

The last two also count what choosing among forms costs: a form that was picked on the older networks is held to newer
ones. Below are the errors on the paper's printed tables.
"""

from collections.abc import Callable, Sequence
from math import exp
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tools.fit_law import EPOCHS, RUNS, read_groups
from tools.later_tables import is_later, rms
from tools.law_tables import registered
from tools.markdown_tables import table as markdown_table
from zerosnet.numerics import PAPER_ROWS, Scheme, euler, is_zero_stable, root_condition
from zerosnet.numerics.wirings.fit import Point, _Constants, _fit, _line
from zerosnet.numerics.wirings.law import MEASURES, load_law
from zerosnet.numerics.wirings.wiring import Wiring

Floats = np.ndarray
PRINTED = Path(__file__).parents[1] / "src" / "zerosnet" / "experiments" / "paper" / "tables"


def _largest(W: Floats) -> Floats:
    return np.array([W[n + 1 :, n + 1].max() for n in range(len(W) - 1)])


def _mean(W: Floats) -> Floats:
    return np.array([np.sqrt(np.square(W[n + 1 :, n + 1]).mean()) for n in range(len(W) - 1)])


def _chain(W: Floats) -> Floats:
    """Compute the probability that a walk of reads from the head meets block n, each read with the squared weight."""
    depth, squares = len(W) - 1, np.square(W)
    met = np.zeros(depth)
    for n in reversed(range(depth)):
        missed = 1 - squares[depth, n + 1]
        missed *= np.prod(1 - squares[n + 1 : depth, n + 1] * met[n + 1 :])
        met[n] = 1 - missed
    return met


USES: dict[str, Callable[[Floats], Floats]] = {
    "share": lambda W: W[1:, 1:].diagonal(),
    "weight in the head": lambda W: W[-1, 1:],
    "largest weight in any later read": _largest,
    "rms weight in all later reads": _mean,
    "chain of reads": _chain,
}
COUNTS: dict[str, Callable[[Floats, float], Floats]] = {
    "u/(u+tau)": lambda u, tau: u / (u + tau),
    "min(u/tau, 1)": lambda u, tau: np.minimum(u / tau, 1),
    "u^2/(u^2+tau^2)": lambda u, tau: u**2 / (u**2 + tau**2),
    "1-exp(-u/tau)": lambda u, tau: 1 - np.exp(-u / tau),
    "log(1+u/tau)": lambda u, tau: np.log1p(u / tau),
    "u^tau": lambda u, tau: u**tau,
    "max(0,1-tau/u)": lambda u, tau: 1 - tau / np.maximum(u, tau),
}
SQUARED, THRESHOLD = "u^2/(u^2+tau^2)", "max(0,1-tau/u)"
LEAST = 1e-9  # of D, if no block counts
NEAREST = "weight in the head", "rms weight in all later reads", "chain of reads"
"""Uses that do best."""

WITH_FLOOR = ("u/(u+tau)", "u^2/(u^2+tau^2)", "max(0,1-tau/u)")


class Form(NamedTuple):
    """error = a D^-p + floor, D = sum base^stage count(u_n).

    Attributes:
        by_width: Divide u_n by the square root of the block's width, so that wide blocks need more.
    """

    use: str
    counted: str = "u/(u+tau)"
    base: float = 4.0
    floor: bool = False
    by_width: bool = False

    def __str__(self) -> str:
        use = f"{self.use} / sqrt(width)" if self.by_width else self.use
        return f"{use}, {self.counted}, {self.base:g}^stage{', floor' if self.floor else ''}"


class Split(NamedTuple):
    """Networks that are fitted, and networks that are predicted (True); None: each is left out in turn."""

    name: str
    fitted: Floats | None = None
    predicted: Floats | None = None


Predictor = Callable[[Floats, Floats], Floats]
"""From the networks to fit, and those to predict (True), to the accuracies of the latter."""


def error(points: Sequence[Point], split: Split, predict: Predictor) -> float:
    """Root mean square of the errors on networks that were not fitted."""
    accuracy = np.array([point.accuracy for point in points])
    if split.fitted is not None and split.predicted is not None:
        return rms(predict(split.fitted, split.predicted) - accuracy[split.predicted])
    index = np.arange(len(points))
    return rms([predict(index != i, index == i)[0] - accuracy[i] for i in range(len(points))])


def power_law(points: Sequence[Point], form: Form) -> tuple[Predictor, _Constants]:
    """Make the predictor of a form, and find its constants for all points."""
    longest = max(len(point.wiring.steps) for point in points)
    uses, weights = np.zeros((2, len(points), longest))
    for row, point in enumerate(points):
        blocks = len(point.wiring.steps)
        stages = np.repeat(np.arange(len(point.wiring.counts)), point.wiring.counts)
        uses[row, :blocks] = USES[form.use](point.wiring.contributions())
        if form.by_width:
            uses[row, :blocks] /= np.sqrt(2.0**stages)
        weights[row, :blocks] = form.base**stages
    log_errors = np.log([100 - point.accuracy for point in points])

    def log_quantities(log_tau: float) -> Floats:
        counted = (weights * COUNTS[form.counted](uses, exp(log_tau))).sum(axis=1)
        return np.log(np.maximum(counted, LEAST))

    def predict(fitted: Floats, wanted: Floats) -> Floats:
        found = _fit(log_quantities, log_errors, fitted, form.floor)
        return 100 - np.exp(found.log_errors(log_quantities(found.log_tau))[wanted])

    return predict, _fit(log_quantities, log_errors, np.ones(len(points), dtype=bool), form.floor)


def simple_laws(points: Sequence[Point]) -> dict[str, Predictor]:
    """Make the predictors of laws with one or two constants."""
    accuracy = np.array([point.accuracy for point in points])
    verdicts = [root_condition(Scheme.parse(point.scheme)) for point in points]
    stable = np.array([bool(verdict.zero_stable) for verdict in verdicts])
    modulus = np.array([max(map(abs, verdict.parasitic_roots), default=0.0) for verdict in verdicts])
    count = np.log([max(1, point.wiring.blocks_above()) for point in points])
    sources = np.log([point.wiring.number_of_sources() for point in points])
    log_errors = np.log(100 - accuracy)

    def by_roots(fitted: Floats, wanted: Floats) -> Floats:
        means = {kind: accuracy[fitted & (stable == kind)].mean() for kind in (True, False)}
        return np.array([means[bool(kind)] for kind in stable[wanted]])

    def line(x: Floats, y: Floats) -> Predictor:
        def predict(fitted: Floats, wanted: Floats) -> Floats:
            base, slope, _ = _line(x[fitted], y[fitted])
            return base + slope * x[wanted]

        return predict

    def of_log(x: Floats) -> Predictor:
        return lambda fitted, wanted: 100 - np.exp(line(x, log_errors)(fitted, wanted))

    return {
        "a constant": lambda fitted, wanted: np.full(int(wanted.sum()), accuracy[fitted].mean()),
        "root condition": by_roots,
        "largest parasitic modulus, straight line": line(modulus, accuracy),
        "number of blocks with a share of 10 %": of_log(count),
        "exp(entropy) of what the head reads": of_log(sources),
    }


def printed_points() -> list[Point]:
    """The rows of the paper's tables for CIFAR-10 whose wiring is known, as it prints them; none was fitted."""
    schemes = {frozenset(row.printed_moduli): row.scheme for row in PAPER_ROWS}
    found = []
    for line in (PRINTED / "table-zerosnet-cifar10.txt").read_text().splitlines()[1:]:
        layers, moduli, _, accuracy = (cell.strip(" *") for cell in line.split("|"))
        found.append((schemes[frozenset(moduli.split(", "))], int(layers), accuracy))
    for line in (PRINTED / "table-preresnet-alpha.txt").read_text().splitlines()[1:]:
        _, alpha, _, accuracy = (cell.strip(" *") for cell in line.split("|"))
        found.append((euler(alpha), 32, accuracy))
    points = []
    for scheme, depth, text in found:
        n = (depth - 2) // 6
        points.append(Point(Wiring.of(scheme, (n, n, n)), float(text.replace("*", "").split("±")[0]), str(scheme)))
    return points


def printed() -> None:
    """Print the errors of the laws, as fitted to our records, on what the paper prints."""
    points, ours = printed_points(), load_law().networks
    measured = np.array([point.accuracy for point in points])
    stable = [is_zero_stable(Scheme.parse(n.scheme)) for n in ours]
    means = {kind: np.mean([n.accuracy for n, s in zip(ours, stable) if s is kind]) for kind in (True, False)}
    predicted = {
        "a constant": np.full(len(points), np.mean([n.accuracy for n in ours])),
        "root condition": np.array([means[bool(is_zero_stable(Scheme.parse(point.scheme)))] for point in points]),
    }
    for measure in MEASURES:
        law = load_law(measure)
        predicted[f"law of {measure}"] = np.array([100 - law.error_of(law.quantity(point.wiring)) for point in points])
    for name, accuracies in predicted.items():
        misses = accuracies - measured
        print(f"| {name} | {rms(misses):.2f} | {np.abs(misses).max():.1f} |")


def splits(groups: Sequence[tuple[Point, tuple[str, ...]]]) -> list[Split]:
    """The ways to part the networks of an epoch into those that are fitted and those that are predicted."""
    drawn = {one["run"] for one in registered()}
    random = np.array([set(runs) <= drawn for _, runs in groups])
    later = np.array([is_later(runs) for _, runs in groups])
    found = [Split("left out"), Split("random", ~random & ~later, random)]
    return [*found, Split("later", ~later, later)] if later.any() else found


def forms() -> list[Form]:
    """List the power laws that are compared; those of the usual stage weight with a floor, too."""
    found = []
    for use in USES:
        found += [Form(use, base=1.0), Form(use, base=2.0), *(Form(use, count) for count in COUNTS)]
    found += [Form(use, count, floor=True) for use in USES for count in WITH_FLOOR]
    return [*found, *(Form(use, THRESHOLD, floor=floor, by_width=True) for use in NEAREST for floor in (False, True))]


def table(epoch: str, chosen: Sequence[Form], runs: Path = RUNS) -> list[list[str]]:
    """Make a table, heads first: the constants of every law for the accuracy of an epoch, and its errors."""
    groups = read_groups(epoch, runs=runs)
    points, ways = [point for point, _ in groups], splits(groups)
    heads = [f"{way.name} ({len(points) if way.predicted is None else int(way.predicted.sum())})" for way in ways]
    laws = [(name, predict, "") for name, predict in simple_laws(points).items()]
    for form in chosen:
        predict, found = power_law(points, form)
        constants = f"a {exp(found.log_a):.1f}, tau {exp(found.log_tau):.3g}, p {found.p:.3f}"
        laws.append((str(form), predict, constants + (f", floor {found.floor:.1f}" if form.floor else "")))
    lines = [[f"Law, {epoch} epoch", "Constants", *heads]]
    for name, predict, constants in laws:
        lines.append([name, constants, *(f"{error(points, way, predict):.2f}" for way in ways)])
    return lines


def main() -> None:
    for epoch in EPOCHS:
        heads, *rows = table(epoch, forms())
        print(markdown_table(heads, rows), end="\n\n", flush=True)
    print("The paper's printed tables: rms, largest")
    printed()


if __name__ == "__main__":
    main()
