"""Consistency, order and error constants, from the expansion of the local error about t_n.

    y(t+h) - sum_i alphas[i] y(t-ih) - h sum_j betas[j] y'(t-jh) = sum_q C_q h^q y^(q)(t)

    C_0 = 1 - sum_i alphas[i]
    C_q = (1 - sum_i alphas[i] (-i)^q) / q! - sum_j betas[j] (-j)^(q-1) / (q-1)!

A scheme is consistent if C_0 = C_1 = 0, and of order p if C_0 = ... = C_p = 0 and C_{p+1}, the error constant, is
not. Exact coefficients are decided exactly; with floats, C_q counts as 0 within 64 roundings of its terms.
"""

from fractions import Fraction
from math import factorial

from zerosnet.numerics.rationals import Number
from zerosnet.numerics.scheme import Scheme

_TOLERANCE = 64 * 2.0**-52


def local_error_coefficient(scheme: Scheme, q: int) -> Number:
    """C_q, exact for exact coefficients."""
    return sum(_terms(scheme, q), Fraction(0))


def consistency_residuals(scheme: Scheme) -> tuple[Number, Number]:
    """(C_0, C_1): 1 - sum alphas, and 1 + sum i alphas[i] - sum betas. Both are 0 for a consistent scheme."""
    return local_error_coefficient(scheme, 0), local_error_coefficient(scheme, 1)


def is_consistent(scheme: Scheme) -> bool:
    return _vanishes(scheme, 0) and _vanishes(scheme, 1)


def order(scheme: Scheme) -> int:
    """Return the order of consistency; 0 for a scheme that is not consistent.

    Examples:
        >>> order(Scheme.parse("zerosnet(-9/5)")), order(Scheme([1, 1, 1], [1]))
        (2, 0)
    """
    # prod (t+i)^2 over the d nodes shows that no d-step scheme has order 2d
    highest = 2 * scheme.steps - 1
    if not _vanishes(scheme, 0):
        return 0
    return next((q - 1 for q in range(1, highest + 1) if not _vanishes(scheme, q)), highest)


def error_constant(scheme: Scheme) -> Number | None:
    """C_{p+1} of a scheme of order p; None for an inconsistent one, which has no order.

    Examples:
        >>> error_constant(Scheme.parse("zerosnet(-9/5)"))
        Fraction(11, 27)
    """
    p = order(scheme)
    return local_error_coefficient(scheme, p + 1) if p else None


def normalised_error_constant(scheme: Scheme) -> Number | None:
    """C_{p+1} / sigma(1), which does not change when the scheme is scaled; None if sigma(1) = 0 or there is none."""
    constant, total = error_constant(scheme), sum(scheme.betas, Fraction(0))
    return None if constant is None or total == 0 else constant / total


def _terms(scheme: Scheme, q: int) -> list[Number]:
    # exact factors first, so that floats are rounded once a term
    terms: list[Number] = [Fraction(1, factorial(q))]
    terms += [-a * Fraction((-i) ** q, factorial(q)) for i, a in enumerate(scheme.alphas)]
    if q:
        terms += [-b * Fraction((-j) ** (q - 1), factorial(q - 1)) for j, b in enumerate(scheme.betas)]
    return terms


def _vanishes(scheme: Scheme, q: int) -> bool:
    terms = _terms(scheme, q)
    total = sum(terms, Fraction(0))
    if isinstance(total, Fraction):
        return total == 0
    return bool(abs(total) <= _TOLERANCE * sum(abs(float(term)) for term in terms))
