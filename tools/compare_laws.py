"""Print the tables of docs/law.md: errors of many laws, in points of accuracy, left out and on the paper's tables.

python tools/compare_laws.py
"""

from collections.abc import Callable, Sequence
from math import exp
from pathlib import Path

import numpy as np

from tools.fit_law import read_points
from zerosnet.numerics import PAPER_ROWS, Scheme, euler, is_zero_stable, root_condition
from zerosnet.numerics.wirings.fit import Point, _constants, _line
from zerosnet.numerics.wirings.law import MEASURES, load_law
from zerosnet.numerics.wirings.wiring import Wiring

Floats = np.ndarray
TABLES = Path(__file__).parents[1] / "src" / "zerosnet" / "experiments" / "paper" / "tables"


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
}


def power_law(points: Sequence[Point], use: str, count: str, base: float) -> tuple[float, tuple[float, float, float]]:
    """Fit a law: leave-one-out error in points and (a, tau, p) of error = a D^-p, D = sum base^stage count(u_n)."""
    uses = [USES[use](point.wiring.contributions()) for point in points]
    stages = [np.repeat(np.arange(len(point.wiring.counts)), point.wiring.counts) for point in points]
    log_errors = np.log([100 - point.accuracy for point in points])

    def log_quantities(log_tau: float) -> Floats:
        return np.log([float((base**s * COUNTS[count](u, exp(log_tau))).sum()) for u, s in zip(uses, stages)])

    everything = np.ones(len(points), dtype=bool)
    misses = []
    for i in range(len(points)):
        log_tau, log_a, p = _constants(log_quantities, log_errors, everything & (np.arange(len(points)) != i))
        misses.append(exp(log_errors[i]) - exp(log_a - p * log_quantities(log_tau)[i]))
    log_tau, log_a, p = _constants(log_quantities, log_errors, everything)
    return rms(misses), (exp(log_a), exp(log_tau), p)


def simple_laws(points: Sequence[Point]) -> dict[str, float]:
    """Compute leave-one-out errors of laws with one or two constants."""
    accuracy = np.array([point.accuracy for point in points])
    verdicts = [root_condition(Scheme.parse(point.scheme)) for point in points]
    stable = np.array([verdict.zero_stable for verdict in verdicts])
    modulus = np.array([max(map(abs, verdict.parasitic_roots), default=0.0) for verdict in verdicts])
    count = np.log([point.wiring.blocks_above() for point in points])
    sources = np.log([point.wiring.number_of_sources() for point in points])
    log_errors = np.log(100 - accuracy)

    def left_out(predict: Callable[[Floats, int], float]) -> float:
        index = np.arange(len(points))
        return rms([predict(index != i, i) - accuracy[i] for i in range(len(points))])

    def line(x: Floats, y: Floats, others: Floats, i: int) -> float:
        base, slope, _ = _line(x[others], y[others])
        return base + slope * x[i]

    return {
        "a constant": left_out(lambda others, i: accuracy[others].mean()),
        "root condition": left_out(lambda others, i: accuracy[others & (stable == stable[i])].mean()),
        "largest parasitic modulus, straight line": left_out(lambda o, i: line(modulus, accuracy, o, i)),
        "number of blocks with a share of 10 %": left_out(lambda o, i: 100 - exp(line(count, log_errors, o, i))),
        "exp(entropy) of what the head reads": left_out(lambda o, i: 100 - exp(line(sources, log_errors, o, i))),
    }


def mnist() -> str:
    """A straight line of log(error) in the D of CIFAR-10's law, fitted to MNIST."""
    law, points = load_law(), read_points("best", "mnist", "mnist-fgsm")
    logs = np.log([100 - point.accuracy for point in points])
    quantities = np.log([law.quantity(point.wiring) for point in points])
    misses, own = [], []
    for i in range(len(points)):
        others = np.arange(len(points)) != i
        base, slope, _ = _line(quantities[others], logs[others])
        misses.append(exp(logs[i]) - exp(base + slope * quantities[i]))
        own.append(exp(logs[i]) - exp(logs[others].mean()))
    return f"leave-one-out {rms(misses):.2f} points, a constant {rms(own):.2f}"


def printed_points() -> list[Point]:
    """The rows of the paper's tables for CIFAR-10 whose wiring is known, as it prints them; none was fitted."""
    schemes = {frozenset(row.printed_moduli): row.scheme for row in PAPER_ROWS}
    found = []
    for line in (TABLES / "table-zerosnet-cifar10.txt").read_text().splitlines()[1:]:
        layers, moduli, _, accuracy = (cell.strip(" *") for cell in line.split("|"))
        found.append((schemes[frozenset(moduli.split(", "))], int(layers), accuracy))
    for line in (TABLES / "table-preresnet-alpha.txt").read_text().splitlines()[1:]:
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
        values = [load_law(measure).predict(point.wiring).accuracy or np.nan for point in points]
        predicted[f"law of {measure}"] = np.array(values)
    for name, accuracies in predicted.items():
        misses = accuracies - measured
        print(f"| {name} | {rms(misses):.2f} | {np.abs(misses).max():.1f} |")


def decisive() -> None:
    """Print the networks of 56 layers for which the two laws predict different accuracies."""
    cases = {
        "`-3,5,-1;4`, restart": Wiring.of(Scheme([-3, 5, -1], [4]), stage_change="restart"),
        "`5/2,-3/2;1`, restart": Wiring.of(Scheme(["5/2", "-3/2"], [1]), stage_change="restart"),
        "`1/3,5/9,1/9;16/9`, beta growth 1.839": Wiring.of(Scheme.parse("zerosnet(-9/5)"), beta_growth="1.839"),
        "`1/2;1`": Wiring.of(euler("1/2")),
        "`0;1`, no skips": Wiring.of(euler(0)),
    }
    for name, wiring in cases.items():
        both = [load_law(measure).predict(wiring).accuracy for measure in MEASURES]
        print(f"| {name} | {both[0]:.1f} | {both[1]:.1f} |")


def rms(values: Sequence[float] | Floats) -> float:
    return float(np.sqrt(np.mean(np.square(values))))


def main() -> None:
    sets = {}
    for epoch in ("best", "last"):
        points = read_points(epoch)
        sets[f"{epoch}, 56 layers"] = [point for point in points if len(point.wiring.steps) == 27]
        sets[f"{epoch}, 20 and 56"] = points
    print("| Law | Constants | " + " | ".join(sets) + " |\n|---|---|" + "---|" * len(sets))
    simple = {name: simple_laws(points) for name, points in sets.items()}
    for law in next(iter(simple.values())):
        print(f"| {law} | | " + " | ".join(f"{simple[name][law]:.2f}" for name in sets) + " |")
    for use in USES:
        for base in (1, 2, 4):
            for count in COUNTS if base == 4 else ["u/(u+tau)"]:
                found = [power_law(points, use, count, float(base)) for points in sets.values()]
                constants = "a {:.1f}, tau {:.3g}, p {:.3f}".format(*found[1][1])
                errors = " | ".join(f"{error:.2f}" for error, _ in found)
                print(f"| {use}, {count}, {base}^stage | {constants} | {errors} |", flush=True)
    print("\nMNIST:", mnist(), "\n\nThe paper's printed tables: rms, largest")
    printed()
    print("\nWhere the laws differ: contributions, shares")
    decisive()


if __name__ == "__main__":
    main()
