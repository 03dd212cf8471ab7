"""The side of the unit circle on which the roots of an integer polynomial lie: the Schur-Cohn recursion, exactly.

For p of degree n with |p_0| < |p_n| (last and first coefficient) the transform

    T p = (p_n p - p_0 p*) / z,    p*(z) = z^n p(1/z),

has degree n-1, one root inside the circle less, and as many roots on and outside it, with their multiplicities
(Rouche: |p_0 p*| < |p_n p| on the circle, except at the roots on it, which p* shares). The recursion ends

- with a constant: all roots were inside;
- with |p_0| > |p_n|: the moduli multiply to more than 1, so a root is outside;
- with |p_0| = |p_n|: either a root is outside or all roots of the rest s are on the circle. In the latter case s = +-s*
  is, up to a constant, gcd(p, p*), and by Cohn's theorem its roots are all on the circle and simple exactly if all
  roots of s' are inside.
"""

from collections.abc import Callable
from typing import Any, Literal

from zerosnet.numerics.polynomials.integer import derivative, primitive, strip_zero_roots

Decision = Literal["strongly stable", "weakly stable", "unstable"]


# integers, or elements of another ordered ring; `normalise` takes common factors and leading zeros out
Coefficients = tuple[Any, ...]
Normalise = Callable[[list[Any]], Coefficients]


def circle_part(p: Coefficients, normalise: Normalise = primitive) -> Coefficients | None:
    """The self-inversive rest of the recursion, (1,) if all roots are inside, None if a root must be outside."""
    p = strip_zero_roots(p)[0]
    while len(p) > 1:
        first, last = p[0], p[-1]
        if abs(last) >= abs(first):
            if abs(last) > abs(first) or p[::-1] not in (p, tuple([-c for c in p])):
                return None
            return p
        reduced = [first * c - last * d for c, d in zip(p, p[::-1])]
        p = strip_zero_roots(normalise(reduced))[0]
    return (1,)


def is_schur(p: Coefficients, normalise: Normalise = primitive) -> bool:
    """Check if all roots lie in the open unit disc."""
    return circle_part(p, normalise) == (1,)


def decide(p: Coefficients, normalise: Normalise = primitive) -> Decision:
    """The root condition: every root in the closed disc, those on the circle simple.

    Strongly stable: besides, no root but possibly 1 on the circle.

    Examples:
        >>> decide((1, 0, -1)), decide((3, -2, -1)), decide((1, -2, 1))
        ('weakly stable', 'strongly stable', 'unstable')
    """
    rest = circle_part(p, normalise)
    if rest is None or (len(rest) > 1 and not is_schur(derivative(rest, normalise), normalise)):
        return "unstable"
    return "strongly stable" if rest in ((1,), (1, -1)) else "weakly stable"
