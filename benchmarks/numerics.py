"""The root condition and stability regions beside NodePy, in one run: speed, and who is right at the border.

NodePy gets its coefficients as floats, in arrays made beforehand. Its stability region is what its plotting method
computes, without the drawing.
"""

import statistics
import time
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from benchmarks.numerics_borderline import borderline_cases
from zerosnet.errors import MissingExtra
from zerosnet.numerics import (
    Scheme,
    classify,
    from_roots,
    is_zero_stable,
    leapfrog,
    root_condition,
    stability_region,
    zerosnet,
)

ROWS = 2_000_000
NODEPY_ROWS = 2_000
GRID = 400
TARGETS = {
    "batch over nodepy with construction": 1000,
    "exact decision, 4 steps, ms": 0.5,
    "exact decision, 8 steps, ms": 2.0,
    "region over nodepy": 100,
}


def run() -> dict[str, Any]:
    try:
        from nodepy import linear_multistep_method as nodepy
    except ImportError as error:
        return {"skipped": str(MissingExtra(str(error.name), "bench"))}
    return {
        "zero_stability": _zero_stability(nodepy),
        "exact_decision": _exact_decisions(),
        "region": _regions(nodepy),
        "borderline": _borderline(nodepy),
        "targets": TARGETS,
    }


def _seconds(work: Callable[[], object], repeats: int) -> float:
    """The least of a few runs: other work on the machine only ever adds time."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def _method(nodepy: Any, scheme: Scheme) -> Any:
    """NodePy counts from the oldest state to the newest."""
    rho, sigma = (np.array([float(c) for c in p]) for p in (scheme.rho, scheme.sigma))
    return nodepy.LinearMultistepMethod(rho[::-1], np.append(sigma[::-1], 0.0))


def _zero_stability(nodepy: Any) -> dict[str, Any]:
    """Random three-step schemes a second, weights uniform in [-3/2, 3/2]."""
    rng = np.random.default_rng(0)
    alphas = rng.uniform(-1.5, 1.5, (ROWS, 3))
    few = [(np.append(-row[::-1], 1.0), np.array([0.0, 0.0, 1.0, 0.0])) for row in alphas[:NODEPY_ROWS]]
    methods = [nodepy.LinearMultistepMethod(*pair) for pair in few]
    ours = ROWS / _seconds(lambda: classify(alphas), 5)
    made = NODEPY_ROWS / _seconds(lambda: [nodepy.LinearMultistepMethod(*p).is_zero_stable() for p in few], 2)
    ready = NODEPY_ROWS / _seconds(lambda: [method.is_zero_stable() for method in methods], 2)
    theirs = np.array([method.is_zero_stable() for method in methods])
    return {
        "schemes_per_second": {"zerosnet": ours, "nodepy with construction": made, "nodepy without": ready},
        "over_nodepy_with_construction": ours / made,
        "over_nodepy_without": ours / ready,
        "verdicts_that_differ": int((theirs != (classify(alphas[:NODEPY_ROWS]) == 1)).sum()),
    }


def _exact_decisions(count: int = 500) -> dict[str, Any]:
    """Median milliseconds for one exact scheme: with random fractions for weights, most of them unstable and seen to be
    so early; and with random parasitic roots inside the circle, where the recursion has to go all the way.
    """
    rng = np.random.default_rng(1)
    result: dict[str, Any] = {}
    for steps in (1, 2, 3, 4, 6, 8):
        kinds = {
            "random weights": [Scheme(_fractions(rng, steps), [1]) for _ in range(count)],
            "roots inside": [from_roots(r / 1000 for r in _fractions(rng, steps - 1, 1)) for _ in range(count)],
        }
        result[f"{steps} steps"] = {
            kind: {
                "decision_ms": _median_ms(is_zero_stable, schemes),
                "with_roots_ms": _median_ms(root_condition, schemes),
                "zero_stable": sum(bool(is_zero_stable(scheme)) for scheme in schemes),
            }
            for kind, schemes in kinds.items()
        }
    return result


def _fractions(rng: np.random.Generator, count: int, most: int = 1000) -> list[Fraction]:
    tops, bottoms = rng.integers(-999, 1000, count), rng.integers(1, most + 1, count)
    return [Fraction(int(top), int(bottom)) for top, bottom in zip(tops, bottoms)]


def _median_ms(decide: Callable[[Scheme], object], schemes: list[Scheme]) -> float:
    times = []
    for scheme in schemes:
        start = time.perf_counter()
        decide(scheme)
        times.append(time.perf_counter() - start)
    return 1000 * statistics.median(times)


def _regions(nodepy: Any) -> dict[str, Any]:
    """Seconds for a region of absolute stability on a square grid, and at how many points the two differ."""
    result = {}
    axes = np.linspace(-3, 1, GRID), np.linspace(-2, 2, GRID)
    plane = axes[0] + 1j * axes[1][:, None]
    for name, scheme in (("zerosnet(10)", zerosnet(10)), ("leapfrog", leapfrog())):
        rho, sigma = _method(nodepy, scheme).characteristic_polynomials()
        region = np.vectorize(lambda z, rho=rho, sigma=sigma: nodepy._root_condition(rho - z * sigma))
        theirs: list[Any] = []
        ours = _seconds(partial(stability_region, scheme, *axes), 5)
        nodepys = _seconds(partial(_kept, theirs, region, plane), 1)
        result[name] = {
            "grid": [GRID, GRID],
            "seconds": {"zerosnet": ours, "nodepy": nodepys},
            "over_nodepy": nodepys / ours,
            "points_that_differ": int((theirs[0] != stability_region(scheme, *axes)).sum()),
        }
    return result


def _kept(results: list[Any], function: Any, value: Any) -> None:
    results.append(function(value))


def _borderline(nodepy: Any) -> dict[str, Any]:
    """How many of the borderline set each decides right, and which NodePy gets wrong."""
    cases = borderline_cases()
    wrong: dict[str, list[str]] = {"zerosnet": [], "nodepy": []}
    for case in cases:
        if is_zero_stable(case.scheme) is not case.zero_stable:
            wrong["zerosnet"].append(case.name)
        if bool(_method(nodepy, case.scheme).is_zero_stable()) is not case.zero_stable:
            wrong["nodepy"].append(case.name)
    return {
        "cases": len(cases),
        "right": {who: len(cases) - len(names) for who, names in wrong.items()},
        "wrong": wrong,
    }
