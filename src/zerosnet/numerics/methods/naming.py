"""The name of a scheme: the shortest text that `Scheme.parse` reads as this scheme."""

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from math import isqrt

from zerosnet.errors import InputError
from zerosnet.numerics.methods.members import LM_BETAS, MOST_ADAMS_BASHFORTH_STEPS
from zerosnet.numerics.rationals import Number
from zerosnet.numerics.scheme import Scheme


@cache
def name_of(scheme: Scheme) -> str:
    """Name a scheme by its family, or by its coefficients if it is in none, or if they are floats.

    Examples:
        >>> name_of(Scheme.parse("1/3,5/9,1/9;16/9")), name_of(Scheme.parse("1,1,1;1"))
        ('zerosnet(-9/5)', '1,1,1;1')
    """
    if scheme.is_exact:
        for candidate in _CANDIDATES:
            text = candidate(scheme.alphas, scheme.betas)
            if text is not None and _reads(text, scheme):
                return text
    return str(scheme)


def _reads(text: str, scheme: Scheme) -> bool:
    try:
        return Scheme.parse(text) == scheme
    except InputError:
        return False


Group = tuple[Number, ...]


def _euler(alphas: Group, betas: Group) -> str | None:
    if len(alphas) != 1 or betas != (1,):
        return None
    return "euler" if alphas[0] == 1 else f"euler({alphas[0]})"


def _leapfrog(alphas: Group, betas: Group) -> str | None:
    return "leapfrog" if (alphas, betas) == ((0, 1), (2,)) else None


def _adams_bashforth(alphas: Group, betas: Group) -> str | None:
    return f"ab{len(betas)}" if alphas == (1,) and 1 < len(betas) <= MOST_ADAMS_BASHFORTH_STEPS else None


def _zerosnet(alphas: Group, betas: Group) -> str | None:
    return f"zerosnet({-1 / alphas[1]})" if len(alphas) == 3 and len(betas) == 1 and alphas[1] != 0 else None


def _lm(alphas: Group, betas: Group) -> str | None:
    """Name a member of LM-ResNet's family, whose beta is 1 + s k with one of three slopes s."""
    if len(alphas) != 2 or len(betas) != 1:
        return None
    k = alphas[1]
    kind = next((name for name, slope in LM_BETAS.items() if betas[0] == 1 + slope * k), None)
    return {None: None, "consistent": f"lm({k})"}.get(kind, f"lm({k}, {kind})")


def _from_roots(alphas: Group, betas: Group) -> str | None:
    """Name a consistent scheme of three steps by its two parasitic roots, if these are fractions and not both 0."""
    if len(alphas) != 3 or len(betas) != 1 or sum(alphas) != 1:
        return None
    b, c = Fraction(1 - alphas[0]), Fraction(alphas[2])  # rho = (z - 1) (z^2 + b z + c)
    root = _square_root(b * b - 4 * c)
    return None if root is None or b == c == 0 else f"from-roots({(-b - root) / 2}, {(-b + root) / 2})"


def _square_root(value: Fraction) -> Fraction | None:
    """Return the root of a fraction if it is one itself."""
    if value < 0:
        return None
    top, bottom = isqrt(value.numerator), isqrt(value.denominator)
    root = Fraction(top, bottom)
    return root if root * root == value else None


_CANDIDATES: tuple[Callable[[Group, Group], str | None], ...] = (
    _euler, _leapfrog, _adams_bashforth, _zerosnet, _lm, _from_roots,
)  # fmt: skip
