"""How much a stage change with independent projections amplifies the state of a scheme."""

from fractions import Fraction
from itertools import accumulate
from math import fsum, hypot

from zerosnet.errors import InputError
from zerosnet.numerics.scheme import Scheme


def stage_gain(scheme: Scheme) -> float:
    """G = ||q||_2 / |q(1)| with rho(z) = (z-1) q(z).

    Without f the sum L = sum_i q_i y_{n-i} is conserved, and a strongly stable scheme settles at L / q(1). Where d
    equal states of size 1 get independent projections, L has size ||q||_2 and the state settles at G >= 1/sqrt(d); a
    shared projection has gain 1.

    Examples:
        >>> round(stage_gain(Scheme.parse("zerosnet(-9/5)")), 2), stage_gain(Scheme([1], [1]))
        (0.68, 1.0)
    """
    rest = 1 - sum(scheme.alphas, Fraction(0))
    if abs(rest) > 1e-12 * (1 + sum(abs(float(a)) for a in scheme.alphas)):
        raise InputError(f"alphas of {scheme} have the sum {float(1 - rest):g}; expected 1, a principal root")
    q = list(accumulate((Fraction(1), *(-a for a in scheme.alphas[:-1]))))
    total = sum(q, Fraction(0))
    if total == 0:
        raise InputError(f"scheme {scheme} has a multiple root 1; expected a simple one")
    coefficients = [float(c) for c in q]
    exact = float(total) if isinstance(total, Fraction) else fsum(coefficients)
    return hypot(*coefficients) / abs(exact)
