"""Polynomials with integer coefficients, as tuples, highest power first: what an exact decision is made of.

Integers are far faster than fractions. Every function returns primitive polynomials with a positive leading
coefficient if only the roots matter, so that the numbers stay as small as they can be.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import gcd as gcd_of_integers
from math import lcm

Polynomial = tuple[int, ...]


def integer_polynomial(coefficients: Sequence[Fraction]) -> Polynomial:
    """The primitive integer polynomial with the roots of a rational one.

    Examples:
        >>> integer_polynomial([Fraction(1), Fraction(-1, 3), Fraction(2, 9)])
        (9, -3, 2)
    """
    scale = lcm(*(c.denominator for c in coefficients))
    return primitive([c.numerator * (scale // c.denominator) for c in coefficients])


def primitive(p: Sequence[int]) -> Polynomial:
    """Without leading zeros and common factor, leading coefficient positive; the zero polynomial is ()."""
    first = next((i for i, c in enumerate(p) if c), len(p))
    content = gcd_of_integers(*p)
    if content == 0:
        return ()
    if p[first] < 0:
        content = -content
    return tuple(p[first:]) if content == 1 else tuple([c // content for c in p[first:]])


def strip_zero_roots(p: Polynomial) -> tuple[Polynomial, int]:
    """p without its roots 0, and how many there were."""
    end = len(p)
    while end > 1 and p[end - 1] == 0:
        end -= 1
    return p[:end], len(p) - end


def evaluate(p: Polynomial, x: int) -> int:
    value = 0
    for c in p:
        value = value * x + c
    return value


def derivative(p: Polynomial, normalise: Callable[[list[int]], Polynomial] = primitive) -> Polynomial:
    degree = len(p) - 1
    return normalise([c * (degree - i) for i, c in enumerate(p[:-1])])


def reciprocal(p: Polynomial) -> Polynomial:
    """z^n p(1/z): the roots 1/r of p's non-zero roots r."""
    return primitive(p[::-1])


def divide(a: Polynomial, b: Polynomial) -> tuple[Polynomial, Polynomial]:
    """Quotient and remainder of a by b, both up to constant factors (pseudo-division)."""
    remainder, factors = list(a), [0] * (len(a) - len(b) + 1)
    lead = b[0]
    for i in range(len(factors)):
        common = gcd_of_integers(remainder[i], lead) or 1
        up, factor = lead // common, remainder[i] // common
        if up != 1:
            remainder = [c * up for c in remainder]
            factors = [c * up for c in factors]
        factors[i] = factor
        for j, c in enumerate(b):
            remainder[i + j] -= factor * c
    return primitive(factors), primitive(remainder)


def quotient(a: Polynomial, b: Polynomial) -> Polynomial:
    """a / b up to a constant factor, where b divides a."""
    result, remainder = divide(a, b)
    if remainder:
        raise ArithmeticError(f"{b} does not divide {a}")
    return result


def gcd(a: Polynomial, b: Polynomial) -> Polynomial:
    """Greatest common divisor, by the primitive remainder sequence; (1,) if there is no common root."""
    while b:
        if len(b) == 1:
            return (1,)
        a, b = b, divide(a, b)[1] if len(a) >= len(b) else a
    return a


def square_free_factors(p: Polynomial) -> list[tuple[Polynomial, int]]:
    """Yun's algorithm: square-free, pairwise coprime factors f_m with p = c * prod f_m^m; constants are left out.

    Examples:
        >>> square_free_factors((1, -3, 3, -1))
        [((1, -1), 3)]
    """
    factors = []
    common = gcd(p, derivative(p))
    once = quotient(p, common)  # every distinct root once
    multiplicity = 1
    while len(once) > 1:
        again = gcd(once, common)  # those that occur at least once more
        simple = quotient(once, again)
        if len(simple) > 1:
            factors.append((simple, multiplicity))
        once, common = again, quotient(common, again)
        multiplicity += 1
    return factors
