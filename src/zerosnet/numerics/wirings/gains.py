"""Gain of the products of the A_n: how far a perturbation of the streams, or a gradient, can grow.

Two readings are in use. The largest absolute row sum (infinity norm) bounds what a perturbation of streams of size 1
can become; the largest absolute column sum (1-norm) does the same for gradients, which pass the transposed product.
Neither is invariant under a change of gauge: if branches are normalised, the network does not see them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from math import fsum, hypot
from typing import TYPE_CHECKING, Any

import numpy as np

from zerosnet.errors import InputError
from zerosnet.numerics.scheme import Scheme
from zerosnet.numerics.wirings.step import Floats

if TYPE_CHECKING:
    from zerosnet.numerics.wirings.wiring import Wiring


@dataclass(frozen=True)
class Gains:
    """Decimal logarithms of the gain, for n = 0..N; -inf if a product is 0.

    - `forward`: Of A_{n-1} ... A_0, from the first streams to those that block n reads.
    - `backward`: Of A_{N-1} ... A_n, from those that block n reads to the last ones.
    - `rows, columns`: The largest absolute row sum and column sum.
    """

    forward_rows: Floats
    forward_columns: Floats
    backward_rows: Floats
    backward_columns: Floats


def gains(wiring: "Wiring") -> Gains:
    """Gains forward and backward to every depth."""
    forward = wiring.products
    transposed = [a.T for a in reversed(wiring.arrays[0])]
    backward = products(transposed, len(wiring.read))[::-1]  # rows become columns
    return Gains(
        forward_rows=_log10_norms(forward, axis=1),
        forward_columns=_log10_norms(forward, axis=0),
        backward_rows=_log10_norms(backward, axis=0),
        backward_columns=_log10_norms(backward, axis=1),
    )


def second_singular_values(wiring: "Wiring", first: int = 0) -> Floats:
    """Second singular value of A_{n-1} ... A_first relative to the first one, for n = first..N.

    Where it falls to 0, the streams become multiples of one another; below 1e-15 it is rounding. 0 for one stream.
    """
    keep = wiring.arrays[0][first:]
    size = keep[0].shape[1] if keep else len(wiring.read)
    found = wiring.products if first == 0 else products(keep, size)
    singular = _of_each([product for product, _ in found], lambda many: np.linalg.svd(many, compute_uv=False))
    return np.array([v[1] / v[0] if len(v) > 1 and v[0] > 0 else 0.0 for v in singular], dtype=np.float64)


def mixing_product(wiring: "Wiring") -> tuple[Floats, float]:
    """A_{N-1} ... A_0 divided by its largest entry, and the decimal logarithm of that; zeros and -inf if it is 0.

    Where its rows are alike, the last streams are the same mixture of the first ones.
    """
    product, exponent = wiring.products[-1]
    largest = float(np.abs(product).max())
    if largest == 0:
        return product, -np.inf
    return product / largest, float(np.log10(largest) + exponent * np.log10(2.0))


def products(factors: list[Floats], size: int) -> list[tuple[Floats, int]]:
    """1, A_0, A_1 A_0, ...: each as a matrix with entries of about 1 and a power of two."""
    product, exponent = np.eye(size), 0
    found = [(product, exponent)]
    for factor in factors:
        product = factor @ product
        shift = int(np.frexp(np.abs(product).max())[1])
        product, exponent = np.ldexp(product, -shift), exponent + shift
        found.append((product, exponent))
    return found


def _log10_norms(found: list[tuple[Floats, int]], axis: int) -> Floats:
    """Decimal logarithms of the largest absolute sum along an axis, -inf for 0."""
    sums = _of_each([product for product, _ in found], lambda many: np.abs(many).sum(axis=axis - 2).max(axis=-1))
    with np.errstate(divide="ignore"):
        return np.asarray(np.log10(np.array(sums)) + np.array([exponent for _, exponent in found]) * np.log10(2.0))


def _of_each(matrices: list[Floats], compute: Callable[[Floats], Any]) -> list[Any]:
    """What is computed of every matrix; at once if they have one shape."""
    if len({matrix.shape for matrix in matrices}) == 1:
        return list(compute(np.stack(matrices)))
    return [compute(matrix) for matrix in matrices]


def stage_gain(scheme: Scheme) -> float:
    """G = ||q||_2 / |q(1)| with rho(z) = (z-1) q(z): what independent projections at a stage change do to the state.

    Without f the sum L = sum_i q_i y_{n-i} is conserved, and a strongly stable scheme settles at L / q(1). Where d
    equal states of size 1 get independent projections, L has size ||q||_2 and the state settles at G >= 1/sqrt(d); a
    shared projection has gain 1.

    Examples:
        >>> round(stage_gain(Scheme.parse("zerosnet(-9/5)")), 2), stage_gain(Scheme([1], [1]))
        (0.68, 1.0)
    """
    rest = 1 - sum(scheme.alphas, Fraction(0))
    if abs(rest) > 1e-12 * (1 + sum(abs(float(a)) for a in scheme.alphas)):
        raise InputError(f"alphas of {scheme} have the sum {float(1 - rest):g}; expected 1, a principal root")
    q = list(accumulate((Fraction(1), *(-a for a in scheme.alphas[:-1]))))
    total = sum(q, Fraction(0))
    if total == 0:
        raise InputError(f"scheme {scheme} has a multiple root 1; expected a simple one")
    coefficients = [float(c) for c in q]
    exact = float(total) if isinstance(total, Fraction) else fsum(coefficients)
    return hypot(*coefficients) / abs(exact)
