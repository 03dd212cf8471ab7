"""The least parasitic modulus of a scheme with d steps, one slope and order p: a theorem, and how it is evaluated.

Setting. rho(z) = (z-1) q(z) with q(1) != 0, and sigma(z) = b z^(d-1). Let r_1 .. r_n, n = d-1, be the parasitic roots,
the zeros of q, and v_i = r_i / (1 - r_i). With s = 1 - 1/z the order conditions rho = sigma log z + O((z-1)^(p+1)) read

    prod_i (1 + v_i s) = (1-s) log(1/(1-s)) / s + O(s^p) = 1 - s/(1*2) - s^2/(2*3) - s^3/(3*4) - ... + O(s^p),

so order p fixes the elementary symmetric functions e_k(v) = -1/(k(k+1)), k < p, and leaves the d-p others free.

Bound (proved for all d and p). If all |r_i| <= m then Re v_i >= -A with A = m/(1+m). Real polynomials without zeros in
the open right half-plane have coefficients >= 0, so e_k(v_1+A, ..., v_n+A) >= 0 for all k. For k < p this is a known
polynomial in A,

    E_k(A) = sum_j C(n-j, k-j) e_j A^(k-j).

All its coefficients but the first are negative, so it has one positive zero, and is negative before it (Descartes):
m >= A*/(1-A*) with A* that zero of E_{p-1}.

Law (proved). The bound is attained by one scheme only: d-p+1 roots coincide at -m, and the other p-2 are what the order
conditions leave, provided that their moduli are <= m. Indeed for m < 1 each v_i + A* is 0 or lies in the open right
half-plane, where all symmetric functions are positive: E_{p-1}(A*) = 0 makes d-p+1 of them 0, and the conditions
determine the others. For order 2 there are no others: m = 1/(2d-3), leap-frog for d = 2, the paper's
lambda = -9/5 for d = 3. For order 3, A* = (1 + sqrt((7n-3)/(3n-3))) / 2n. The proviso is checked case by case: it holds
for all d <= 8 but (d, p) = (7, 3) and (8, 3).

Order 3, all d (proved). sum Re v_i = -1/2 and sum (Re v_i)^2 >= sum v_i^2 = 7/12 on the box -A <= Re v_i <= B with
B = m/(1-m). A convex sum is largest at a corner: all roots but one lie at -m or +m.

Barrier (proved). Zero stability is m <= 1, A = 1/2, so it needs E_k(1/2) >= 0 for all k < p. With s = 2t/(1+t),

    2^k E_k(1/2) = [t^k] (1+t)^n (1-t) artanh(t)/t = sum_j (C(n, k-2j) - C(n, k-2j-1)) / (2j+1),

whose terms are all >= 0 for d >= 2k. Evaluated, it tells that order p needs d >= 2(p-1) steps for 2 <= p <= 8, and for
d <= 8 that many are enough. From p = 9 on fewer do: 15 steps reach order 9, 17 steps order 10. Observed, not proved:
for d = 2(p-1) the law holds with m between 0.82 and 0.85, at least for 3 <= p <= 7.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import comb
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import sympy

_DIGITS = 60
MOST_STEPS = 8


@dataclass(frozen=True)
class Optimum:
    """The least modulus m as an exact number (sympy), how many roots lie at -m and +m, the others, and q.

    The coefficients of q, highest power first, are fractions if m is rational, sympy floats of 60 digits otherwise.
    """

    modulus: Any
    at_minus: int
    at_plus: int
    others: tuple[complex, ...]
    q: tuple[Any, ...]

    @property
    def roots(self) -> tuple[complex, ...]:
        """The parasitic roots, the largest first."""
        m = float(self.modulus)
        return (complex(-m),) * self.at_minus + (complex(m),) * self.at_plus + self.others


def fixed_symmetric(k: int) -> Fraction:
    """e_k(v) for k < p."""
    return Fraction(-1, k * (k + 1)) if k else Fraction(1)


def shifted_symmetric(steps: int, k: int, a: Fraction) -> Fraction:
    """E_k(a) = e_k(v_1+a, ..., v_n+a) of any scheme of order above k."""
    n = steps - 1
    return sum((comb(n - j, k - j) * fixed_symmetric(j) * a ** (k - j) for j in range(k + 1)), Fraction(0))


def barrier(steps: int, order: int) -> tuple[int, Fraction] | None:
    """The first k < p with E_k(1/2) < 0, and that value, which rule out zero stability; None if there is none."""
    values = ((k, shifted_symmetric(steps, k, Fraction(1, 2))) for k in range(1, order))
    return next(((k, value) for k, value in values if value < 0), None)


@cache
def least_modulus(steps: int, order: int) -> Optimum:
    """The optimum for 2 <= order < steps or order = steps = 2, if no barrier forbids it."""
    ends = range(steps - order + 2 if order == 3 else 1)  # how many of the coinciding roots lie at +m
    found = [optimum for at_plus in ends for optimum in _with_structure(steps, order, at_plus)]
    if not found:
        raise ArithmeticError(f"the law does not cover {steps} steps and order {order}")
    return min(found, key=lambda optimum: float(optimum.modulus))


def only_q(steps: int) -> tuple[Fraction, ...]:
    """q of the only scheme whose order is its number of steps."""
    return tuple(_in_z([fixed_symmetric(k) for k in range(steps)]))


def equation(steps: int, order: int, at_plus: int = 0) -> "sympy.Poly":
    """The polynomial in m that vanishes where d-p+1 roots at -m and +m and p-2 others satisfy the order conditions."""
    import sympy

    m = sympy.Symbol("m", positive=True)
    last = _rest(steps, order, m, at_plus)[order - 1]
    return sympy.Poly(sympy.fraction(sympy.together(sympy.expand(last)))[0], m)


def _with_structure(steps: int, order: int, at_plus: int) -> list[Optimum]:
    """Every solution with that many roots at +m whose other roots do not exceed m <= 1."""
    solutions = []
    for modulus in equation(steps, order, at_plus).real_roots():
        if not 0 < modulus <= 1 or (modulus == 1 and at_plus):  # +1 is the principal root
            continue
        m = Fraction(int(modulus.p), int(modulus.q)) if modulus.is_Rational else modulus.n(_DIGITS)
        rest = _in_z(_rest(steps, order, m, at_plus)[: order - 1])
        others = _roots(rest)
        if all(abs(root) <= abs(modulus.n(_DIGITS)) for root in others):
            at_minus = steps - order + 1 - at_plus
            q = _times(rest, [m] * at_minus + [-m] * at_plus)
            solutions.append(Optimum(modulus, at_minus, at_plus, tuple(complex(root) for root in others), tuple(q)))
    return solutions


def _rest(steps: int, order: int, m: Any, at_plus: int) -> list[Any]:
    """The first p coefficients of (1-s) log(1/(1-s)) / s, divided by (1 - A s)^at_minus (1 + B s)^at_plus."""
    series: list[Any] = [fixed_symmetric(k) for k in range(order)]
    if not isinstance(m, Fraction):
        import sympy

        series = [sympy.Rational(c.numerator, c.denominator) for c in series]
    at_minus = steps - order + 1 - at_plus
    for v in [-m / (1 + m)] * at_minus + ([m / (1 - m)] * at_plus if at_plus else []):
        for k in range(1, order):  # divide by 1 + v s
            series[k] -= v * series[k - 1]
    return series


def _in_z(p: Sequence[Any]) -> list[Any]:
    """A polynomial in s = 1 - 1/z, lowest power first, as a monic one in z, highest power first."""
    degree = len(p) - 1
    total = [0 * p[0]] * len(p)
    for k, c in enumerate(p):  # c (z-1)^k z^(degree-k)
        for i in range(k + 1):
            total[i] += c * comb(k, i) * (-1) ** i
    return [c / total[0] for c in total[: degree + 1]]


def _times(p: Sequence[Any], offsets: Sequence[Any]) -> list[Any]:
    """p(z) prod (z + offset)."""
    product = list(p)
    for offset in offsets:
        product = [a + offset * b for a, b in zip([*product, 0], [0, *product])]
    return product


def _roots(p: Sequence[Any]) -> list[Any]:
    """The roots of p by falling modulus, to far more digits than any comparison here needs."""
    from mpmath import mp

    if len(p) == 1:
        return []
    with mp.workdps(_DIGITS):
        coefficients = [mp.mpf(c.numerator) / c.denominator if isinstance(c, Fraction) else mp.mpf(str(c)) for c in p]
        return sorted(
            mp.polyroots(coefficients, maxsteps=200, extraprec=200), key=lambda root: (-abs(root), -root.imag)
        )
