"""Verdicts on adversarial schemes against roots to 60 digits.

The reference shares nothing with the package: sympy splits the polynomial into square-free factors, which gives exact
multiplicities, and mpmath finds the roots of each factor. A root whose modulus differs from 1 by less than 1e-25 counts
as one on the circle.
"""

import random
from collections import Counter
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import sympy

from zerosnet.numerics import KINDS, Scheme, classify, monic_from_roots, root_condition

_ON_CIRCLE = mpmath.mpf("1e-25")
_PRINCIPAL = 1e-9  # a single root so close to 1 counts as the principal root, in floats
_DIGITS = 60
_BATCH_STEPS = 8  # of classify
Roots = list[tuple[Any, int]]


def compare(start: int, stop: int, seed: int) -> dict[str, Any]:
    """Compare the exact verdict, and those of floats, with the reference; every wrong one is named.

    Args:
        start: The number of the first scheme.
        stop: The number after that of the last scheme.
        seed: The seed that schemes are drawn from.
    """
    counted: dict[str, Counter[str]] = {name: Counter() for name in ("exact", "floats", "classify")}
    wrong = []
    for number in range(start, stop):
        alphas = adversarial(random.Random(f"{seed} scheme {number}"))
        floats = [float(alpha) for alpha in alphas]
        known, near = roots(alphas), roots([Fraction(alpha) for alpha in floats])
        given = {"exact": Scheme(alphas, [1]), "floats": Scheme(floats, [1])}
        verdicts: dict[str, str] = {name: root_condition(scheme).kind for name, scheme in given.items()}
        if len(floats) <= _BATCH_STEPS:
            verdicts["classify"] = KINDS[int(classify(floats))]
        for name, verdict in verdicts.items():
            right = _is_right(verdict, known, exact=True) if name == "exact" else _is_right(verdict, near, exact=False)
            counted[name][right] += 1
            if right == "wrong":
                shown = list(map(str, alphas)) if name == "exact" else floats
                wrong.append({"by": name, "alphas": shown, "verdict": verdict})
                print(f"   {wrong[-1]}", flush=True)
    return {
        "schemes": stop - start,
        "digits": _DIGITS,
        "verdicts": {name: dict(sorted(counter.items())) for name, counter in counted.items()},
        "wrong": wrong,
    }


def adversarial(rng: random.Random) -> list[Fraction]:
    """Draw weights whose polynomial has roots on the circle, or next to it, or next to one another."""
    steps = rng.choice((2, 2, 3, 3, 3, 4, 4, 5) if rng.random() < 0.93 else (6, 8, 12, 16))
    spread = Fraction(rng.choice((0, 1, 1, 1)), 10 ** rng.randint(1, 18))
    factors: list[Any] = []
    degree = 0
    while degree < steps:
        kind = rng.random()
        off = spread * rng.randint(-9, 9)
        if kind < 0.45 or degree == steps - 1:
            factors.append(rng.choice((1, 1, -1, Fraction(rng.randint(-9, 9), 10))) + off)
            degree += 1
        else:  # z^2 - 2 c z + 1 has its roots on the circle, at the angle arccos(c)
            cosine = Fraction(rng.randint(-9, 9), rng.choice((10, 7, 13)))
            cosine = max(Fraction(-1), min(Fraction(1), cosine))
            factors.append((-2 * cosine + spread * rng.randint(-3, 3), 1 + off))
            degree += 2
    if rng.random() < 0.3:
        factors[-1] = factors[0] if rng.random() < 0.5 or len(factors) == 1 else factors[1]
    return [-Fraction(coefficient) for coefficient in monic_from_roots(factors)[1:]]


def roots(alphas: list[Fraction]) -> Roots | None:
    """Find all roots to 60 digits, with their multiplicities; None if they do not converge."""
    z = sympy.Symbol("z")
    monic = sympy.Poly([1, *(sympy.Rational(-a.numerator, a.denominator) for a in alphas)], z, domain="QQ")
    found: Roots = []
    with mpmath.workdps(_DIGITS):
        for factor, multiplicity in monic.sqf_list()[1]:
            coefficients = [mpmath.mpf(c.p) / c.q for c in factor.monic().all_coeffs()]
            simple = _simple_roots(coefficients)
            if simple is None:
                return None
            found += [(root, multiplicity) for root in simple]
    return found


def _simple_roots(coefficients: list[Any]) -> list[Any] | None:
    if len(coefficients) == 2:
        return [-coefficients[1]]
    apart = mpmath.mpc("1e-9", "1e-9")  # equal starting points would stay equal
    found = np.roots([float(c) for c in coefficients])
    start = [mpmath.mpc(complex(root)) + k * apart for k, root in enumerate(found, 1)]
    for extra, first in ((100, start), (400, start), (800, None)):
        try:
            simple = list(mpmath.polyroots(coefficients, maxsteps=100, extraprec=extra, roots_init=first))
        except mpmath.libmp.NoConvergence:
            continue
        if _agree(simple, coefficients):
            return simple
    return None


def _agree(simple: list[Any], coefficients: list[Any]) -> bool:
    """Multiply the roots out again: do they give the polynomial, to 40 digits?"""
    product = [mpmath.mpc(1)]
    for root in simple:
        product = [high - root * low for high, low in zip([*product, 0], [0, *product])]
    size = max(abs(c) for c in coefficients)
    return all(abs(ours - theirs) < size * mpmath.mpf("1e-40") for ours, theirs in zip(product, coefficients))


def _is_right(verdict: str, known: Roots | None, *, exact: bool) -> str:
    """Judge a verdict: "right", "wrong", "borderline" (floats only), or "no reference"."""
    if known is None:
        return "no reference"
    if verdict == "borderline":
        return "wrong" if exact else "borderline"
    with mpmath.workdps(_DIGITS):
        nearest = min(known, key=lambda one: abs(one[0] - 1))
        distance = abs(nearest[0] - 1)
        others = [one for one in known if one is not nearest]
        answers = set()
        if nearest[1] == 1 and distance <= (_ON_CIRCLE if exact else _PRINCIPAL):
            answers.add(_kind(others))
        if distance > _ON_CIRCLE or nearest[1] > 1:
            answers.add(_kind(known))
    return "right" if verdict in answers else "wrong"


def _kind(parasitic: Roots) -> str:
    """Return the root condition's answer for roots with multiplicities, the principal one left out."""
    on_circle = [multiplicity for root, multiplicity in parasitic if abs(abs(root) - 1) <= _ON_CIRCLE]
    if any(abs(root) > 1 + _ON_CIRCLE for root, _ in parasitic) or any(times > 1 for times in on_circle):
        return "unstable"
    return "weakly stable" if on_circle else "strongly stable"
