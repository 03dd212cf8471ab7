"""The root condition at an irrational algebraic parameter, exactly: arithmetic in the number field Q(x0).

An element is a polynomial in x0 of lower degree than the minimal polynomial of x0; it is 0 only if that polynomial
is, and the sign of any other is found by evaluating it to enough digits.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import sympy

from zerosnet.numerics.polynomials.schur import Decision, decide


@dataclass(frozen=True, eq=False)
class Element:
    """An element of Q(x0), where x0 is a real zero of the irreducible polynomial `minimal`."""

    polynomial: sympy.Poly
    minimal: sympy.Poly
    x0: Any

    def _with(self, polynomial: sympy.Poly) -> "Element":
        return Element(polynomial.rem(self.minimal), self.minimal, self.x0)

    def _polynomial_of(self, other: Any) -> sympy.Poly:
        return other.polynomial if isinstance(other, Element) else sympy.Poly(other, self.minimal.gen, domain="QQ")

    def __mul__(self, other: Any) -> "Element":
        return self._with(self.polynomial * self._polynomial_of(other))

    def __sub__(self, other: Any) -> "Element":
        return self._with(self.polynomial - self._polynomial_of(other))

    def __neg__(self) -> "Element":
        return self._with(-self.polynomial)

    def __eq__(self, other: object) -> bool:
        return bool((self - other).polynomial.is_zero)

    def __abs__(self) -> "Element":
        return -self if self.sign() < 0 else self

    def __gt__(self, other: Any) -> bool:
        return (self - other).sign() > 0

    def __ge__(self, other: Any) -> bool:
        return (self - other).sign() >= 0

    def __bool__(self) -> bool:
        return not self.polynomial.is_zero

    def sign(self) -> int:
        if self.polynomial.is_zero:
            return 0
        digits = 30
        while True:
            x = self.x0.n(digits)
            value = self.polynomial.eval(x)
            size = sum(abs(c) * abs(x) ** m[0] for m, c in self.polynomial.terms())
            if abs(value) > size * sympy.Float(10, digits) ** (10 - digits):
                return 1 if value > 0 else -1
            digits *= 2


def decide_at(alphas: Callable[[Any], Sequence[Any]], x0: Any) -> Decision:
    """The root condition of the scheme with weights alphas(x0), rational functions of the real algebraic number x0."""
    x = sympy.Symbol("x")
    minimal = sympy.Poly(sympy.minimal_polynomial(x0, x), x, domain="QQ")
    coefficients = [sympy.Integer(1), *(-sympy.sympify(a) for a in alphas(x))]
    fractions = [sympy.fraction(sympy.together(c)) for c in coefficients]
    scale = sympy.lcm_list([bottom for _, bottom in fractions])
    p = [sympy.Poly(sympy.cancel(top * scale / bottom), x, domain="QQ") for top, bottom in fractions]
    return decide(_monic([Element(c.rem(minimal), minimal, x0) for c in p]), _monic)


def _monic(p: list[Element]) -> tuple[Any, ...]:
    """Without leading zeros, the leading coefficient 1, which keeps the others small."""
    first = next((i for i, c in enumerate(p) if c), len(p))
    if first == len(p):
        return ()
    lead = p[first]
    inverse = lead._with(sympy.invert(lead.polynomial, lead.minimal))
    return tuple(c * inverse for c in p[first:])
