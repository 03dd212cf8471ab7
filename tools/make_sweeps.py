"""Write the sweeps of the experiments that tell depth in use from stability, by stated rules.

    python -m tools.make_sweeps

block-schemes   unstable alphas whose betas grow as fast as their state, zero-stable alphas (the same roots, scaled into
                the disc) with betas that shrink, and these with constant betas; (1,1,1) and lambda = 1/4, two seeds
block-schemes-control   the unstable alphas with constant betas, whose initial weights grow in place of the betas
ten-rows        the paper's ten schemes at 32 and 44 layers, one seed
depth           the optimum without f from block m on; restart at stage changes; stable and unstable schemes of equal
                effective parameters
"""

import json
from fractions import Fraction
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np

from zerosnet.numerics import OPTIMUM, PAPER_ROWS, Scheme, Wiring, from_roots, is_zero_stable, load_law

SWEEPS = Path(__file__).parents[1] / "results" / "sweeps"
COMMON = {"dataset": "cifar10", "recipe": "paper"}
UNSTABLE = ("1,1,1;1", "15/4,-4,5/4;-1/2")
LAST_BLOCKS = (4, 7, 10, 14, 18, 22)
RESTARTED = ("1,1,1;1", "-3,5,-1;4", "9/4,-2,3/4;1/2", "1/3,5/9,1/9;16/9")
ROOTS = ("-11/10", "-6/5", "-27/20")


def rounded(value: float) -> str:
    return f"{value:.4g}"


def largest_root(scheme: Scheme) -> float:
    return float(np.abs(np.roots([float(c) for c in scheme.rho])).max())


def growth_of(scheme: Scheme) -> float:
    """Return a number slightly above the largest root, so that rounding leaves the scaled roots inside the disc."""
    return ceil(1000 * largest_root(scheme)) / 1000 + 0.001


def block_schemes() -> list[dict[str, Any]]:
    found = []
    for text in UNSTABLE:
        scheme = Scheme.parse(text)
        growth = growth_of(scheme)
        alphas = ",".join(f"{float(a) / growth ** (i + 1):.6f}" for i, a in enumerate(scheme.alphas))
        inside = f"{alphas};{rounded(float(scheme.betas[0]) / growth)}"
        assert is_zero_stable(Scheme.parse(inside)), inside
        for one, rate in ((text, rounded(growth)), (inside, rounded(1 / growth)), (inside, None)):
            for seed in (1, 2):
                spec = {"model": "zerosnet56", "scheme": one, **COMMON, "seed": seed}
                found.append(spec if rate is None else {**spec, "beta_growth": rate})
    return found


def block_schemes_control() -> list[dict[str, Any]]:
    growths = {text: rounded(growth_of(Scheme.parse(text))) for text in UNSTABLE}
    return [
        {"model": "zerosnet56", "scheme": text, **COMMON, "seed": seed, "init_growth": growth}
        for text, growth in growths.items()
        for seed in (1, 2)
    ]


def ten_rows() -> list[dict[str, Any]]:
    models = ("zerosnet32", "zerosnet44")
    schemes = [str(row.scheme) for row in PAPER_ROWS if row.scheme != OPTIMUM]
    rows = [{"model": model, "scheme": text, **COMMON, "seed": 1} for model in models for text in schemes]
    return rows + [{"model": f"{model}_opt", **COMMON, "seed": 1} for model in models]


def depth() -> list[dict[str, Any]]:
    silent = Scheme(OPTIMUM.alphas, [0])
    blocks = range(2, 27)
    found = []
    for last in LAST_BLOCKS:
        schemes = [str(OPTIMUM if block < last else silent) for block in blocks]
        found.append({"model": "zerosnet56", "block_schemes": schemes, **COMMON, "seed": 1})
    for text in RESTARTED:
        found.append({"model": "zerosnet56", "scheme": text, "stage_change": "restart", **COMMON, "seed": 1})
    for root in ROOTS:
        unstable = from_roots([root, 0])
        for scheme in (unstable, as_deep_as(unstable)):
            found.append({"model": "zerosnet56", "scheme": str(scheme), **COMMON, "seed": 1})
    return found


def as_deep_as(scheme: Scheme) -> Scheme:
    """Find the beta that gives the optimum's alphas the effective parameters of a scheme."""
    law = load_law()
    wanted, low, high = law.quantity(Wiring.of(scheme)), 1e-6, float(OPTIMUM.betas[0])
    for _ in range(60):
        middle = (low * high) ** 0.5
        enough = law.quantity(Wiring.of(Scheme(OPTIMUM.alphas, [middle]))) > wanted
        low, high = (low, middle) if enough else (middle, high)
    return Scheme(OPTIMUM.alphas, [Fraction(rounded(high))])


def main() -> None:
    sweeps = {
        "block-schemes": block_schemes(),
        "block-schemes-control": block_schemes_control(),
        "ten-rows": ten_rows(),
        "depth": depth(),
    }
    for name, specs in sweeps.items():
        (SWEEPS / f"{name}.json").write_text(json.dumps({"specs": specs}, indent=1) + "\n")
        print(f"{name}: {len(specs)} runs")


if __name__ == "__main__":
    main()
