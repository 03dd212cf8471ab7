"""The roots of an integer polynomial, each with its multiplicity and its exact side of the unit circle.

Multiplicities come from square-free factors, so that a double root is found once and not smeared into two. Every
distinct root is enclosed in a disc; precision is raised until the discs tell the side of the circle for certain.
"""

import itertools
from cmath import isfinite
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import copysign, cos, inf, log2, nextafter, pi, sin
from typing import Any

from zerosnet.numerics.polynomials.integer import (
    Polynomial,
    evaluate,
    gcd,
    quotient,
    reciprocal,
    square_free_factors,
    strip_zero_roots,
)

_UNIT = 2.0**-52
_LEAST = nextafter(0.0, 1.0)


@dataclass(frozen=True)
class Root:
    """One distinct root. `excess` is its modulus minus 1: exactly 0 on the circle, its sign certain elsewhere, where it
    is too small for a float too.
    """

    value: complex
    excess: float
    multiplicity: int = 1

    @property
    def modulus(self) -> float:
        """The modulus as a float on the right side of 1, however close the root is to the circle."""
        modulus = abs(self.value)
        if self.excess == 0:
            return 1.0
        return max(modulus, nextafter(1.0, inf)) if self.excess > 0 else min(modulus, nextafter(1.0, 0))


def located_roots(p: Polynomial) -> list[Root]:
    """All distinct roots of p, in no particular order."""
    p, zeros = strip_zero_roots(p)
    roots = [Root(0j, -1.0, zeros)] if zeros else []
    for factor, multiplicity in square_free_factors(p):
        for point in (1, -1):
            if evaluate(factor, point) == 0:
                factor = quotient(factor, (1, -point))
                roots.append(Root(complex(point), 0.0, multiplicity))
        paired = gcd(factor, reciprocal(factor))  # roots on the circle, and pairs r, 1/conj(r)
        for part, self_inversive in ((paired, True), (quotient(factor, paired), False)):
            roots += [Root(value, excess, multiplicity) for value, excess in _simple_roots(part, self_inversive)]
    return roots


def _simple_roots(p: Polynomial, self_inversive: bool) -> list[tuple[complex, float]]:
    """(value, excess) for each root of a square-free p; only a self-inversive one has roots on the circle."""
    if len(p) == 1:
        return []
    if len(p) == 2:
        root = Fraction(-p[1], p[0])
        return [(complex(_to_float(root)), _to_float(abs(root) - 1))]
    start: list[Any] = []
    try:
        floats = [float(c) for c in p]
        start = _aberth(floats, _starting_points(p), _UNIT)
        located = _locate(floats, start, _UNIT, self_inversive)
        if located is not None:
            return located
    except (OverflowError, ZeroDivisionError):
        start = []
    if not all(map(isfinite, start)):  # powers that overflowed
        start = []
    from mpmath import MPContext

    mp, bits = MPContext(), 128  # with a precision of its own: that of mpmath.mp is one for all threads
    while True:
        mp.prec = bits
        reals, unit = [mp.mpf(c) for c in p], mp.mpf(2) ** (4 - bits)
        start = _aberth(reals, [mp.mpc(z) for z in start or _starting_points(p, mp)], unit)
        located = _locate(reals, start, unit, self_inversive)
        if located is not None:
            return located
        bits *= 2


def _to_float(value: Any) -> float:
    """The nearest float, which never loses the sign: 0 for 0 only."""
    try:
        return float(value) or copysign(_LEAST, value) if value else 0.0
    except OverflowError:
        return inf if value > 0 else -inf


def _locate(
    p: Sequence[Any], roots: Sequence[Any], unit: Any, self_inversive: bool
) -> list[tuple[complex, float]] | None:
    """Decide the side of every root by its disc, or None if this precision cannot.

    A disc of radius n |p(z) / p'(z)| about z holds a root. Where the discs are well apart each holds exactly one; a
    disc that meets the circle then holds a root on it if p is self-inversive, because that root's mirror image
    1/conj(r) is a root as well, and no other disc is near enough to hold it.
    """
    degree = len(p) - 1
    radii = []
    for z in roots:
        value, slope, size = _horner(p, z)
        noise = 8 * degree * unit * size
        if not abs(slope) * abs(z) > 2 * degree * noise:  # nor where a power overflowed into NaN
            return None
        radii.append(2 * degree * (abs(value) + noise) / abs(slope) + 4 * unit * abs(z))
    for i, z in enumerate(roots):
        if any(abs(z - w) <= 8 * (radii[i] + radii[j]) for j, w in enumerate(roots) if j != i):
            return None
    located = []
    for z, radius in zip(roots, radii):
        if z.imag < -radius:
            continue  # its conjugate stands for both
        excess = abs(z) - 1
        if abs(excess) <= radius and self_inversive:
            z, excess = z / abs(z), 0.0
        elif abs(excess) <= 1000 * radius:
            return None
        value = complex(z)
        if z.imag <= radius:  # a root this close to the real axis is its own conjugate
            located.append((complex(value.real, 0.0), _to_float(excess)))
        else:
            located += [(value, _to_float(excess)), (value.conjugate(), _to_float(excess))]
    return located


def _horner(coefficients: Sequence[Any], z: Any) -> tuple[Any, Any, Any]:
    """p(z), p'(z), and sum |p_i| |z|^i, the scale of the rounding error."""
    value = slope = size = 0 * z
    modulus = abs(z)
    for c in coefficients:
        slope = slope * z + value
        value = value * z + c
        size = size * modulus + abs(c)
    return value, slope, abs(size)


def _aberth(coefficients: Sequence[Any], roots: Sequence[Any], unit: Any) -> list[Any]:
    """All roots at once by the Ehrlich-Aberth iteration, in the arithmetic of its arguments."""
    roots = list(roots)
    for _ in range(60 + 4 * len(roots)):
        moved = False
        for i, z in enumerate(roots):
            value, slope, size = _horner(coefficients, z)
            if abs(value) <= 2 * unit * size:
                continue
            repulsion = sum(1 / (z - w) for j, w in enumerate(roots) if j != i and w != z)
            step = value / (slope - value * repulsion)
            roots[i] = z - step
            moved = moved or abs(step) > 4 * unit * abs(z)
        if not moved:
            break
    return roots


def _starting_points(p: Polynomial, context: Any = None) -> list[Any]:
    """Points on circles whose radii are the slopes of the Newton polygon of log|p_i| (Bini)."""
    degree = len(p) - 1
    heights = [(k, log2(abs(p[degree - k]))) for k in range(degree + 1) if p[degree - k]]
    hull: list[tuple[int, float]] = []
    for point in heights:
        while len(hull) > 1 and _turns_left(hull[-2], hull[-1], point):
            hull.pop()
        hull.append(point)
    points: list[Any] = []
    for (k, low), (m, high) in itertools.pairwise(hull):
        exponent = (low - high) / (m - k)
        radius = 2.0**exponent if context is None else context.mpf(2) ** exponent
        for j in range(m - k):
            angle = 2 * pi * j / (m - k) + 0.7 + k
            points.append(radius * complex(cos(angle), sin(angle)))
    return points


def _turns_left(a: tuple[int, float], b: tuple[int, float], c: tuple[int, float]) -> bool:
    return (b[0] - a[0]) * (c[1] - a[1]) >= (c[0] - a[0]) * (b[1] - a[1])
