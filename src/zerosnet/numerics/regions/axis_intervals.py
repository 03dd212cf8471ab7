"""Intervals of absolute stability on the axes: [-x, 0] and [-iy, iy].

On the unit circle, with z = exp(i theta) and c = cos theta,

    rho(z) conj(sigma(z)) = R(c) + i sin(theta) S(c),    |sigma(z)|^2 = N(c)

for polynomials R, S and N with the coefficients of the scheme; what rho and sigma have in common, which w does not
move, is divided out first. The locus w = rho / sigma meets the real axis where S(c) = 0 or z = +-1, at w = R / N, and
the imaginary axis where R(c) = 0, at w = +-i sqrt(1 - c^2) S / N. Stability can only change there, so it is enough to
decide it between these points, which exact schemes allow exactly.
"""

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from math import inf, isqrt, sqrt
from typing import Any

import numpy as np

from zerosnet.numerics.polynomials.integer import Polynomial, divide, gcd, integer_polynomial, quotient
from zerosnet.numerics.polynomials.roots import located_roots
from zerosnet.numerics.rationals import Number
from zerosnet.numerics.scheme import Scheme
from zerosnet.numerics.stability.verdict import is_zero_stable, satisfies_root_condition

Rational = Sequence[Fraction]  # a polynomial, highest power first
_LARGEST_DENOMINATOR = 10**6
_SHORTEST_IN_FLOATS = 1e-3  # a root leaves the circle like a power of w: what happens closer to 0 is rounding


def real_interval(scheme: Scheme) -> Number:
    """The largest x with [-x, 0] in the region of absolute stability; 0 for none, inf if w plays no part.

    Exact where the scheme is exact and cos theta a fraction with at most six digits; otherwise a float.

    Examples:
        >>> str(real_interval(Scheme.parse("zerosnet(-9/5)"))), str(real_interval(Scheme.parse("ab3")))
        ('1/2', '6/11')
    """
    if not any(scheme.betas):
        return _without_slopes(scheme)
    real, odd, size = _on_the_circle(scheme)
    ends = _at_plus_and_minus_one(scheme)  # first, because these are exact
    ends += [-_evaluate(real, c) / _evaluate(size, c) for c in _crossings(scheme, odd) if _evaluate(size, c)]
    return _first_exit(scheme, ends, lambda x: satisfies_root_condition(_at_real(scheme, -x)))


def imaginary_interval(scheme: Scheme) -> Number:
    """The largest y with [-iy, iy] in the region of absolute stability; 0 for none, inf if w plays no part.

    Exact where the scheme is exact, cos theta a fraction with at most six digits, and y rational; otherwise a float.

    Examples:
        >>> str(imaginary_interval(Scheme.parse("leapfrog")))
        '1'
    """
    if not any(scheme.betas):
        return _without_slopes(scheme)
    real, odd, size = _on_the_circle(scheme)
    ends = [
        _root((1 - c * c) * (_evaluate(odd, c) / _evaluate(size, c)) ** 2)
        for c in _crossings(scheme, real)
        if _evaluate(size, c)
    ]
    return _first_exit(scheme, ends, lambda y: satisfies_root_condition(_at_imaginary(scheme, y)))


def _without_slopes(scheme: Scheme) -> Number:
    return inf if is_zero_stable(scheme) else 0 * scheme.betas[0]


def _at_plus_and_minus_one(scheme: Scheme) -> list[Number]:
    """-w at z = +-1. With floats a root in common may be so to within rounding only: the limit there as well, which
    does no harm if it is no end.
    """
    rho, sigma = _coprime(scheme)
    pairs = [(rho, sigma), (_derivative(rho), _derivative(sigma))]
    return [
        -_evaluate(p, z) / _evaluate(q, z) for p, q in pairs for z in (Fraction(1), Fraction(-1)) if _evaluate(q, z)
    ]


def _first_exit(scheme: Scheme, ends: Iterable[Number], stable: Callable[[Fraction], bool | None]) -> Number:
    """Walk from 0 over the possible ends to the first gap, or exact end, that is not stable; None counts as stable."""
    reached: Number = Fraction(0)
    if stable(Fraction(0)) is False:
        return _shown(scheme, reached)
    shortest = 0 if scheme.is_exact else _SHORTEST_IN_FLOATS
    for end in sorted({end for end in ends if end > shortest}):
        middle = (Fraction(reached) + Fraction(end)) / 2
        if stable(middle) is False:
            return _shown(scheme, reached)
        reached = end
        if isinstance(end, Fraction) and stable(end) is False:
            return _shown(scheme, reached)
    beyond = 2 * Fraction(reached) + 1 / (1 + sum((abs(Fraction(b)) for b in scheme.betas), Fraction(0)))
    return inf if stable(beyond) is not False else _shown(scheme, reached)


def _shown(scheme: Scheme, value: Number) -> Number:
    return value if scheme.is_exact else float(value)


def _at_real(scheme: Scheme, w: Fraction) -> Sequence[Number]:
    """rho - w sigma."""
    return [r - w * s for r, s in zip(scheme.rho, (Fraction(0), *scheme.sigma))]


def _at_imaginary(scheme: Scheme, y: Fraction) -> Sequence[Number]:
    """rho^2 + y^2 sigma^2, with the roots of rho - iy sigma and their conjugates, but those in common to rho and sigma,
    which have no part in it, once only; rho itself at 0.
    """
    rho, sigma = scheme.rho, [Fraction(0), *(y * s for s in scheme.sigma)]
    if y == 0:
        return rho
    square = [a + b for a, b in zip(_product(rho, rho), _product(sigma, sigma))]
    return _without(_common(scheme), square) if scheme.is_exact else square


def _common(scheme: Scheme) -> Polynomial:
    """The greatest common divisor of rho and sigma; floats enter as the rationals they are."""
    return gcd(integer_polynomial(_exact(scheme.rho)), integer_polynomial(_exact(scheme.sigma)))


def _without(factor: Polynomial, p: Rational) -> list[Fraction]:
    """p divided by its factor, with the same leading coefficient."""
    rest = quotient(integer_polynomial(p), factor)
    lead = next(c for c in p if c)
    return [lead * c / rest[0] for c in rest]


def _coprime(scheme: Scheme) -> tuple[Rational, Rational]:
    """rho and sigma, as long as rho, without what they have in common."""
    common = _common(scheme)
    rho, sigma = (_without(common, _exact(p)) for p in (scheme.rho, scheme.sigma))
    return rho, [Fraction(0)] * (len(rho) - len(sigma)) + sigma


def _on_the_circle(scheme: Scheme) -> tuple[Rational, Rational, Rational]:
    """R, S and N of the module's docstring."""
    rho, sigma = _coprime(scheme)
    mixed, square = _product(rho, sigma[::-1]), _product(sigma, sigma[::-1])
    middle = len(rho) - 1
    even = [mixed[middle], *(mixed[middle - m] + mixed[middle + m] for m in range(1, middle + 1))]
    odd = [mixed[middle - m] - mixed[middle + m] for m in range(1, middle + 1)]
    size = [square[middle], *(2 * square[middle - m] for m in range(1, middle + 1))]
    return _chebyshev(even, 1), _chebyshev(odd, 2), _chebyshev(size, 1)


def _chebyshev(coefficients: Rational, slope: int) -> Rational:
    """sum_m coefficients[m] T_m(c) (slope 1: cos m theta) or U_m(c) (slope 2: sin (m+1) theta / sin theta)."""
    older: list[Fraction] = [Fraction(0)] * len(coefficients) + [Fraction(1)]
    newer: list[Fraction] = [Fraction(0)] * (len(coefficients) - 1) + [Fraction(slope), Fraction(0)]
    total = [Fraction(0)] * (len(coefficients) + 1)
    for coefficient in coefficients:
        total = [t + coefficient * c for t, c in zip(total, older)]
        shifted = [2 * c for c in newer[1:]] + [Fraction(0)]
        older, newer = newer, [a - b for a, b in zip(shifted, older)]
    return total


def _crossings(scheme: Scheme, p: Rational) -> list[Number]:
    """The zeros c of p in (-1, 1). Where p vanishes throughout, the locus runs along the axis, to where it turns."""
    if any(p):
        found = located_roots(integer_polynomial(p))
        zeros = [root.value.real for root in found if root.value.imag == 0]
        return [_recognised(c, p) for c in zeros if -1 < c < 1]
    turning = integer_polynomial(_wronskian(*_coprime(scheme)))
    if not turning:
        return []
    return [_recognised_on_circle(root.value.real, turning) for root in located_roots(turning) if root.excess == 0]


def _recognised(c: float, p: Rational) -> Number:
    """c as the exact zero of p that it is near to, if that is rational."""
    guess = Fraction(c).limit_denominator(_LARGEST_DENOMINATOR)
    return guess if _evaluate(p, guess) == 0 else c


def _recognised_on_circle(c: float, p: Polynomial) -> Number:
    """c as the exact real part of a root of p on the circle, if that is rational."""
    guess = Fraction(c).limit_denominator(_LARGEST_DENOMINATOR)
    factor = integer_polynomial([Fraction(1), -2 * guess, Fraction(1)])
    return guess if len(p) >= len(factor) and not divide(p, factor)[1] else c


def _wronskian(rho: Rational, sigma: Rational) -> Rational:
    """rho' sigma - rho sigma', which vanishes where the locus stops; the two are of one length."""
    return [a - b for a, b in zip(_product(_derivative(rho), sigma), _product(_derivative(sigma), rho))]


def _derivative(p: Rational) -> Rational:
    degree = len(p) - 1
    return [c * (degree - i) for i, c in enumerate(p[:-1])]


def _product(p: Sequence[Any], q: Sequence[Any]) -> list[Any]:
    return list(np.convolve(np.array(p, object), np.array(q, object))) if len(p) and len(q) else []


def _exact(p: Iterable[Number]) -> list[Fraction]:
    return [Fraction(c) for c in p]


def _evaluate(p: Rational, x: Number) -> Number:
    value: Number = Fraction(0)
    for c in p:
        value = value * x + c
    return value


def _root(square: Number) -> Number:
    """The square root, exact if it is rational."""
    if isinstance(square, Fraction):
        root = Fraction(isqrt(square.numerator), isqrt(square.denominator))
        if root * root == square:
            return root
    return sqrt(square)
