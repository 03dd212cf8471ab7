"""Print the errors of many forms of the law, in points of accuracy: left out, and on what the paper prints.

python -m tools.compare_laws
"""

from collections.abc import Callable, Sequence
from math import exp

import numpy as np

from tools.fit_law import read_points
from tools.law_tables import rms
from zerosnet.experiments import EXPERIMENTS, wiring_of_run
from zerosnet.numerics import Scheme, is_zero_stable
from zerosnet.numerics.wirings.fit import Point, _constants
from zerosnet.numerics.wirings.law import MEASURES, load_law

Floats = np.ndarray


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


def printed_points() -> list[Point]:
    """The rows of the paper's tables for CIFAR-10 whose wiring is known, as it prints them; none was fitted."""
    found = []
    for table in (EXPERIMENTS[name] for name in ("table-zerosnet-cifar10", "table-preresnet-alpha")):
        for cell in table.cells:
            wiring = wiring_of_run(table.cell_specs(cell, "full")[0])
            if cell.printed is not None and wiring is not None:
                found.append(Point(wiring, cell.printed.value, str(wiring.schemes()[-1])))
    return found


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


def main() -> None:
    sets = {}
    for epoch in ("best", "last"):
        points = read_points(epoch)
        sets[f"{epoch}, 56 layers"] = [point for point in points if len(point.wiring.steps) == 27]
        sets[f"{epoch}, 20 and 56"] = points
    print("| Law | Constants | " + " | ".join(sets) + " |\n|---|---|" + "---|" * len(sets))
    for use in USES:
        for base in (1, 2, 4):
            for count in COUNTS if base == 4 else ["u/(u+tau)"]:
                found = [power_law(points, use, count, float(base)) for points in sets.values()]
                constants = "a {:.1f}, tau {:.3g}, p {:.3f}".format(*found[1][1])
                errors = " | ".join(f"{error:.2f}" for error, _ in found)
                print(f"| {use}, {count}, {base}^stage | {constants} | {errors} |", flush=True)
    print("\nThe paper's printed tables: rms, largest")
    printed()


if __name__ == "__main__":
    main()
