"""The exact set of parameters for which a one-parameter family is zero-stable.

The roots move continuously with the parameter x, so the verdict can only change where a root touches the unit circle
or where a coefficient has a pole. With P(z, x) the characteristic polynomial, free of denominators, and without its
root 1 if it has that for every x, a root on the circle is a common root of P and its reciprocal P*. Those x are the
real zeros of a resultant. At each of them, and at a rational point in every gap, the root condition is decided exactly.
"""

import itertools
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from zerosnet.numerics.polynomials.integer import integer_polynomial
from zerosnet.numerics.polynomials.one_at_a_time import one_at_a_time
from zerosnet.numerics.polynomials.schur import decide
from zerosnet.numerics.rationals import number
from zerosnet.numerics.stability.parameter_set import Interval, ParameterSet

if TYPE_CHECKING:
    import sympy

Alphas = Callable[[Any], Sequence[Any]]


@one_at_a_time
def solve_stable_set(alphas: Alphas) -> ParameterSet:
    """Solve the root condition for x, where alphas(x) are rational functions of x with rational coefficients.

    Examples:
        >>> str(solve_stable_set(lambda k: (1 - k, k)))
        '(-1, 1]'
    """
    import sympy

    x, z = sympy.symbols("x z", real=True)
    given = [sympy.together(sympy.sympify(a)) for a in alphas(x)]

    def at(value: Any) -> list[Any]:  # where alphas(value) is 0/0, as in x^2/x, this is its limit
        return [a.subs(x, value) for a in given]

    degree = len(given)
    rho = z**degree - sum(a * z ** (degree - 1 - i) for i, a in enumerate(given))
    numerator, denominator = sympy.fraction(sympy.together(rho))
    poles = set(_real_zeros(denominator, x))
    breaks = sorted(poles | set(_touching(sympy.Poly(numerator, z), x)))
    samples = _samples(breaks)
    pieces: list[tuple[bool, Interval]] = []
    for i, sample in enumerate(samples):
        low, high = (breaks[i - 1] if i else None), (breaks[i] if i < len(breaks) else None)
        pieces.append((_is_stable(at(sample)), Interval(_end(low), _end(high))))
        if high is not None:
            stable = high not in poles and _is_stable_at(at, high)
            pieces.append((stable, Interval(_end(high), _end(high), True, True)))
    return ParameterSet(_joined(pieces))


def _touching(p: "sympy.Poly", x: "sympy.Symbol") -> list[Any]:
    """All real x at which a root of p(z) may cross the circle, or two on it may meet."""
    import sympy

    z = p.gen
    while p.degree() > 0 and p.eval(0).is_zero:
        p = sympy.quo(p, sympy.Poly(z, z))
    critical = [p.LC()]
    if sympy.expand(p.eval(1)) == 0:
        p = sympy.quo(p, sympy.Poly(z - 1, z))
    mirrored = sympy.Poly(p.all_coeffs()[::-1], z)
    always = sympy.gcd(p, mirrored)  # roots on the circle, or in pairs r, 1/r, for every x
    rest = sympy.quo(p, always)
    if always.degree() > 0:
        critical += [always.LC(), always.eval(1), always.discriminant()]
    if rest.degree() > 0:
        critical += [sympy.resultant(rest, sympy.Poly(rest.all_coeffs()[::-1], z)), rest.LC()]
    return [zero for expression in critical for zero in _real_zeros(expression, x)]


def _real_zeros(expression: Any, x: "sympy.Symbol") -> list[Any]:
    import sympy

    numerator = sympy.fraction(sympy.together(sympy.expand(expression)))[0]
    if not numerator.has(x):
        return []
    return list(dict.fromkeys(sympy.Poly(numerator, x).real_roots()))


def _samples(breaks: Sequence[Any]) -> list[Fraction]:
    """A rational number below, between and above the breaks."""
    import sympy

    if not breaks:
        return [Fraction(0)]
    between = []
    for low, high in itertools.pairwise(breaks):
        middle, digits = (low + high) / 2, 15
        while not low < sympy.Rational(str(middle.n(digits))) < high:
            digits *= 2
        between.append(sympy.Rational(str(middle.n(digits))))
    outer = [sympy.floor(breaks[0]) - 1, *between, sympy.ceiling(breaks[-1]) + 1]
    return [Fraction(int(s.p), int(s.q)) for s in outer]


def _is_stable(alphas: Sequence[Any]) -> bool:
    rho = [Fraction(1), *(-Fraction(number(a)) for a in alphas)]
    return decide(integer_polynomial(rho)) != "unstable"


def _is_stable_at(alphas: Alphas, value: Any) -> bool:
    if value.is_Rational:
        return _is_stable(alphas(_end(value)))
    from zerosnet.numerics.polynomials.algebraic import decide_at

    return decide_at(alphas, value) != "unstable"


def _end(value: Any) -> Any:
    return Fraction(int(value.p), int(value.q)) if getattr(value, "is_Rational", False) else value


def _joined(pieces: Sequence[tuple[bool, Interval]]) -> tuple[Interval, ...]:
    """Unite neighbouring stable gaps and points."""
    joined: list[Interval] = []
    open_run = False
    for stable, piece in pieces:
        if stable and open_run:
            last = joined.pop()
            piece = Interval(last.low, piece.high, last.low_closed, piece.high_closed)
        if stable:
            joined.append(piece)
        open_run = stable
    return tuple(joined)
