"""The members of every family: from parameters to a scheme. Parameters are whatever a coefficient may be."""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import comb
from typing import Any

from zerosnet.errors import InputError
from zerosnet.numerics.polynomials.prescribed import monic_from_roots
from zerosnet.numerics.rationals import number
from zerosnet.numerics.scheme import Scheme

EULER = Scheme([1], [1])
OPTIMUM = Scheme(["1/3", "5/9", "1/9"], ["16/9"])
"""The paper's optimum, zerosnet(-9/5): of order 2, with the smallest parasitic roots that three steps allow."""
LM_BETAS = {"consistent": 1, "paper": 2, "original": 0}
"""The slope s of beta = 1 + s k: the consistent one, the one that the paper prints, and LM-ResNet's own."""
LM_SCHEME_BETA = "consistent"
"""The default of `lm(k)`, which is about schemes."""
LM_NETWORK_BETA = "original"
"""The default of the networks `lmresnetN`, which are built as published."""
MOST_ADAMS_BASHFORTH_STEPS = 8


def euler(alpha: Any = 1) -> Scheme:
    """y_{n+1} = alpha y_n + h f(y_n): PreResNet with a weight on its state, consistent for alpha = 1 only."""
    a = number(alpha, "alpha")
    return Scheme([a], [1 + 0 * a])


def lm(k: Any, beta: str = LM_SCHEME_BETA) -> Scheme:
    """y_{n+1} = (1-k) y_n + k y_{n-1} + beta h f(y_n): LM-ResNet.

    beta: "consistent" is 1+k; "paper" the printed 2k+1, which is consistent for k = 0 only and 0 at k = -1/2;
    "original" the 1 of LM-ResNet itself.
    """
    weight = number(k, "k")
    if beta not in LM_BETAS:
        raise InputError(f"beta is {beta!r}; expected one of {', '.join(LM_BETAS)}")
    return Scheme(lm_alphas(weight), [1 + LM_BETAS[beta] * weight])


def zerosnet(lam: Any) -> Scheme:
    """y_{n+1} = 3(1+l)/(4l) y_n - 1/l y_{n-1} + (1+l)/(4l) y_{n-2} + (3l-1)/(2l) h f(y_n), with l = lam."""
    x = number(lam, "lambda")
    if x == 0:
        raise InputError("lambda is 0; expected a number other than 0")
    return Scheme(zerosnet_alphas(x), [(3 * x - 1) / (2 * x)])


def leapfrog() -> Scheme:
    """y_{n+1} = y_{n-1} + 2 h f(y_n), the member lambda = -1 of the ZeroSNet family."""
    return Scheme([0, 1], [2])


def momentum(gamma: Any) -> Scheme:
    """y_{n+1} = (1+gamma) y_n - gamma y_{n-1} + (1-gamma) h f(y_n): Momentum ResNet, LM with k = -gamma."""
    g = number(gamma, "gamma")
    return Scheme(momentum_alphas(g), [1 - g])


def adams_bashforth(k: Any) -> Scheme:
    """y_{n+1} = y_n + h sum_j betas[j] f(y_{n-j}), of k steps and order k."""
    steps = number(k, "k")
    if steps not in range(1, MOST_ADAMS_BASHFORTH_STEPS + 1):
        raise InputError(f"k is {k!r}; expected a whole number from 1 to {MOST_ADAMS_BASHFORTH_STEPS}")
    gammas: list[Fraction] = []  # coefficients of the backward differences of f
    for m in range(int(steps)):
        gammas.append(1 - sum((g / (m + 1 - i) for i, g in enumerate(gammas)), Fraction(0)))
    return Scheme([1], [(-1) ** j * sum(comb(i, j) * g for i, g in enumerate(gammas)) for j in range(len(gammas))])


def from_roots(roots: Iterable[Any] = ()) -> Scheme:
    """The consistent scheme with one beta and these parasitic roots: rho = (z-1) prod (z - r_i), beta = rho'(1).

    A root is a real number; a complex float, whose conjugate must be among the roots too; or, exactly, a pair of roots
    given as its quadratic factor z^2 + b z + c, written as the tuple (b, c) or the text "z^2 + b z + c".

    Examples:
        >>> from_roots(["-1/3", "-1/3"]) == zerosnet("-9/5")
        True
    """
    factor = monic_from_roots(roots)
    rho = [a - b for a, b in zip([*factor, Fraction(0)], [Fraction(0), *factor])]
    return Scheme([-c for c in rho[1:]], [sum(factor, Fraction(0))])


def lm_alphas(k: Any) -> Sequence[Any]:
    return 1 - k, k


def zerosnet_alphas(x: Any) -> Sequence[Any]:
    return 3 * (1 + x) / (4 * x), -1 / x, (1 + x) / (4 * x)


def momentum_alphas(g: Any) -> Sequence[Any]:
    return 1 + g, -g
