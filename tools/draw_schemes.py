"""Draw the twenty-four schemes of results/sweeps/random-schemes.json by a stated rule.

    python tools/draw_schemes.py > results/sweeps/random-schemes.json

numpy's default_rng(20261116) draws three-step schemes (a principal root and two parasitic ones) until there are 24:

- the larger parasitic modulus is uniform on [0, 1) for even k and on (1, 1.5] for odd k;
- the parasitic roots are a conjugate pair of that modulus and a uniform angle with probability 1/2, otherwise one real
  root of that modulus and random sign and another uniform on [-modulus, modulus];
- for k mod 4 < 2 the scheme is consistent: principal root 1, beta = (1 - r1)(1 - r2); otherwise the principal root is
  uniform on [0.8, 1.1] and beta is log-uniform on [0.01, 3];
- roots (or the coefficients of a pair) are rounded to three decimals, beta of an inconsistent scheme to three digits;
- a scheme with |beta| outside [0.01, 3] is drawn again.
"""

import json
import math
from fractions import Fraction

import numpy as np

COUNT, SEED = 24, 20261116


def rounded(value: float) -> Fraction:
    return Fraction(round(1000 * value), 1000)


def multiply(left: list[Fraction], right: list[Fraction]) -> list[Fraction]:
    product = [Fraction(0)] * (len(left) + len(right) - 1)
    for i, a in enumerate(left):
        for j, b in enumerate(right):
            product[i + j] += a * b
    return product


def draw(rng: np.random.Generator, k: int) -> str | None:
    """Write scheme k as text; None if its beta is out of range."""
    modulus = rng.uniform(0, 1) if k % 2 == 0 else rng.uniform(1, 1.5)
    if rng.uniform() < 0.5:
        angle = rng.uniform(0, math.pi)
        parasitic = [Fraction(1), rounded(-2 * modulus * math.cos(angle)), rounded(modulus**2)]
    else:
        first, second = rounded(modulus * rng.choice([-1.0, 1.0])), rounded(rng.uniform(-modulus, modulus))
        parasitic = multiply([Fraction(1), -first], [Fraction(1), -second])
    if k % 4 < 2:
        principal, beta = Fraction(1), sum(parasitic, Fraction(0))
    else:
        principal = rounded(rng.uniform(0.8, 1.1))
        beta = Fraction(f"{math.exp(rng.uniform(math.log(0.01), math.log(3))):.3g}")
    rho = multiply(parasitic, [Fraction(1), -principal])
    if not 0.01 <= abs(beta) <= 3:
        return None
    return ",".join(str(-c) for c in rho[1:]) + f";{beta}"


def main() -> None:
    rng, schemes = np.random.default_rng(SEED), list[str]()
    while len(schemes) < COUNT:
        scheme = draw(rng, len(schemes))
        if scheme is not None:
            schemes.append(scheme)
    grid = {"model": "zerosnet56", "scheme": schemes, "dataset": "cifar10", "recipe": "paper", "seed": 1}
    print(json.dumps({"grid": grid}, indent=1))


if __name__ == "__main__":
    main()
