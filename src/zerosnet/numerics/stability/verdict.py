"""The root condition: a scheme is zero-stable if every root of rho lies in the closed unit disc, and those on the
circle are simple. Exact coefficients get an exact verdict; floats get a numeric one that may be "borderline".
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from zerosnet.numerics.polynomials.float_roots import float_roots
from zerosnet.numerics.polynomials.integer import Polynomial, integer_polynomial
from zerosnet.numerics.polynomials.roots import Root, located_roots
from zerosnet.numerics.polynomials.schur import decide
from zerosnet.numerics.rationals import Number
from zerosnet.numerics.scheme import Scheme
from zerosnet.numerics.stability import reason

Kind = Literal["strongly stable", "weakly stable", "unstable", "borderline"]

ZERO_STABLE: dict[Kind, bool | None] = {
    "strongly stable": True,
    "weakly stable": True,
    "unstable": False,
    "borderline": None,
}


@dataclass(frozen=True)
class Verdict:
    """The root condition of one scheme, and why.

    Attributes:
        kind: "strongly stable" (no root but a simple 1 on the circle), "weakly stable" (other simple roots on it),
            "unstable", or "borderline" (floats only: rounding decides).
        roots: All roots, with multiplicity: the principal root (a simple root 1) first, if there is one, then the
            parasitic ones by falling modulus.
        moduli: The moduli of the roots. They lie on the right side of 1 however close a root is to it.
        margin: 1 minus the largest parasitic modulus; 1 if there is no parasitic root.
    """

    kind: Kind
    roots: tuple[complex, ...]
    moduli: tuple[float, ...]
    margin: float
    reason: str
    exact: bool
    has_principal_root: bool

    @property
    def zero_stable(self) -> bool | None:
        return ZERO_STABLE[self.kind]

    @property
    def parasitic_roots(self) -> tuple[complex, ...]:
        return self.roots[1:] if self.has_principal_root else self.roots


def is_zero_stable(scheme: Scheme | str) -> bool | None:
    """Decide zero stability, fast; None if floats leave it to rounding.

    Examples:
        >>> is_zero_stable(Scheme.parse("zerosnet(-1)")), is_zero_stable(Scheme.parse("zerosnet(1/3)"))
        (True, False)
    """
    return satisfies_root_condition(Scheme.of(scheme).rho)


def satisfies_root_condition(rho: Sequence[Number]) -> bool | None:
    """Decide the root condition of any monic polynomial, highest power first; None if rounding decides."""
    p = _exact(rho)
    return ZERO_STABLE[decide(p) if p else _numeric_verdict(rho).kind]


def root_condition(scheme: Scheme | str) -> Verdict:
    """Decide the root condition and give kind, roots, moduli, margin and the reason in one sentence."""
    scheme = Scheme.of(scheme)
    p = _exact(scheme.rho)
    return _exact_verdict(p) if p else _numeric_verdict(scheme.rho)


def _exact(rho: Sequence[Number]) -> Polynomial | None:
    exact = [c for c in rho if isinstance(c, Fraction)]
    return integer_polynomial(exact) if len(exact) == len(rho) else None


def _exact_verdict(p: Polynomial) -> Verdict:
    roots = located_roots(p)
    principal = next((root for root in roots if root.value == 1 and root.excess == 0 and root.multiplicity == 1), None)
    parasitic = sorted((root for root in roots if root is not principal), key=_by_falling_modulus)
    kind = decide(p)
    return _verdict(kind, principal, parasitic, reason.of_exact(kind, principal, parasitic), exact=True)


def _numeric_verdict(rho: Sequence[Number]) -> Verdict:
    found = float_roots([float(c) for c in rho])
    near_one = [root for root in found if abs(root.value - 1) <= root.radius]
    principal = min(near_one, key=lambda root: abs(root.value - 1), default=None)
    parasitic = sorted((root for root in found if root is not principal), key=_by_falling_modulus)
    kind: Kind = "strongly stable"
    if any(root.excess > root.radius for root in parasitic):
        kind = "unstable"
    elif any(root.excess >= -root.radius for root in parasitic):
        kind = "borderline"
    return _verdict(kind, principal, parasitic, reason.of_numeric(kind, principal, parasitic), exact=False)


def _verdict(kind: Kind, principal: Root | None, parasitic: Sequence[Root], why: str, exact: bool) -> Verdict:
    ordered = [principal, *parasitic] if principal else parasitic
    return Verdict(
        kind=kind,
        roots=tuple(root.value for root in ordered for _ in range(root.multiplicity)),
        moduli=tuple(root.modulus for root in ordered for _ in range(root.multiplicity)),
        margin=0.0 - max((root.excess for root in parasitic), default=-1.0),
        reason=why,
        exact=exact,
        has_principal_root=principal is not None,
    )


def _by_falling_modulus(root: Root) -> tuple[float, float, float]:
    return (-root.excess, -root.value.real, -root.value.imag)
