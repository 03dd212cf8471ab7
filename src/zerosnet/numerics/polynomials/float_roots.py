"""Roots in floats: of one polynomial, each with the radius within which rounding may have moved it; of many at once."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb
from typing import Any

import numpy as np
import numpy.typing as npt

from zerosnet.errors import InputError
from zerosnet.numerics.polynomials.integer import integer_polynomial
from zerosnet.numerics.polynomials.roots import Root, located_roots

EPSILON = 2.0**-52
_LONGEST_STEP = 1e-6
_LARGEST = 1e30  # beyond this, powers of roots may overflow: rational arithmetic takes over


@dataclass(frozen=True)
class FloatRoot(Root):
    radius: float = 0.0


def float_roots(p: Sequence[float]) -> list[FloatRoot]:
    """The roots of a monic p, highest power first: companion eigenvalues, polished by Newton's iteration.

    The radius of a root z is the least over m of (C(n, m) delta / |p^(m)(z) / m!|)^(1/m), where
    delta = |p(z)| + 4 (n+1) eps sum |p_i| |z|^i covers the residual and a few roundings of every coefficient. The
    m-th term is the right one near an m-fold root.
    """
    coefficients = list(p)
    while len(coefficients) > 1 and coefficients[-1] == 0:
        coefficients.pop()
    zeros = [FloatRoot(0j, -1.0)] * (len(p) - len(coefficients))
    if max(map(abs, coefficients)) > _LARGEST:
        return _rational_roots(coefficients) + zeros
    polished = [_polish(coefficients, complex(z)) for z in np.roots(coefficients)]
    return [FloatRoot(z, abs(z) - 1, radius=_radius(coefficients, z)) for z in polished] + zeros


def _rational_roots(coefficients: Sequence[float]) -> list[FloatRoot]:
    """Roots of the floats taken at their word. One is far outside the circle; the radii only have to be sensible."""
    roots = located_roots(integer_polynomial([Fraction(c) for c in coefficients]))
    return [
        FloatRoot(root.value, root.excess, radius=8 * EPSILON ** (1 / root.multiplicity) * abs(root.value))
        for root in roots
        for _ in range(root.multiplicity)
    ]


def _taylor(coefficients: Sequence[float], z: complex) -> list[complex]:
    """p^(m)(z) / m! for m = 0..n, by repeated synthetic division."""
    rest: list[complex] = list(coefficients)
    derivatives = []
    while rest:
        for i in range(1, len(rest)):
            rest[i] += rest[i - 1] * z
        derivatives.append(rest.pop())
    return derivatives


def _polish(coefficients: Sequence[float], z: complex) -> complex:
    value, slope = (*_taylor(coefficients, z), 0j)[:2]
    for _ in range(3):
        # a longer step would leave a cluster of roots for another root
        if value == 0 or abs(value) > _LONGEST_STEP * abs(slope * z):
            break
        better = z - value / slope
        new_value, new_slope = _taylor(coefficients, better)[:2]
        if not abs(new_value) < abs(value):
            break
        z, value, slope = better, new_value, new_slope
    return z


def _radius(coefficients: Sequence[float], z: complex) -> float:
    degree = len(coefficients) - 1
    value, *derivatives = _taylor(coefficients, z)
    size = sum(abs(c) * abs(z) ** (degree - i) for i, c in enumerate(coefficients))
    delta = abs(value) + 4 * (degree + 1) * EPSILON * size
    return min((comb(degree, m) * delta / abs(d)) ** (1 / m) for m, d in enumerate(derivatives, start=1) if d != 0)


def parasitic_roots(alphas: npt.ArrayLike) -> npt.NDArray[np.complexfloating[Any, Any]]:
    """Compute the parasitic roots of many schemes, alphas [scheme, weight] to [scheme, root], by falling modulus.

    If all weights sum to 1 the principal root is divided out first: with a_0 + ... + a_{d-1} = 1,

        rho(z) = (z - 1) (z^(d-1) - sum_i w_i z^(d-2-i)),    w_i = a_0 + ... + a_i - 1.

    Examples:
        >>> np.abs(parasitic_roots([[0, 1], [2, -1]])).round(6).tolist()
        [[1.0], [1.0]]
    """
    weights = np.asarray(alphas, np.float64)
    if weights.ndim != 2 or weights.shape[1] < 1 or not np.isfinite(weights).all():
        raise InputError(f"alphas has shape {weights.shape}; expected finite numbers of shape (schemes, steps)")
    if np.allclose(weights.sum(axis=1), 1):
        weights = np.cumsum(weights, axis=1)[:, :-1] - 1
    steps = weights.shape[1]
    matrices = np.zeros((len(weights), steps, steps)) + np.eye(steps, k=-1)
    matrices[:, :1] = weights[:, None]
    roots = np.linalg.eigvals(matrices).astype(np.complex128)
    return np.take_along_axis(roots, np.argsort(-np.abs(roots), axis=1), axis=1)
