"""Design: among all schemes with d steps, one slope and order p, the one whose largest parasitic modulus is least.

The mathematics, with its proofs, is in `optimum`; here it becomes a scheme and the price of its small roots: the error
constant and the real interval of absolute stability.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb
from typing import TYPE_CHECKING, Any, Literal, overload

from zerosnet.errors import InputError, did_you_mean
from zerosnet.files import is_whole
from zerosnet.numerics import rationals as num
from zerosnet.numerics.designs.optimum import MOST_STEPS, Optimum, barrier, fixed_symmetric, least_modulus, only_q
from zerosnet.numerics.display import html_table
from zerosnet.numerics.methods.order_conditions import local_error_coefficient
from zerosnet.numerics.polynomials.one_at_a_time import one_at_a_time
from zerosnet.numerics.rationals import Number
from zerosnet.numerics.regions.axis_intervals import real_interval
from zerosnet.numerics.scheme import Scheme
from zerosnet.numerics.stability.verdict import root_condition

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from zerosnet.numerics.wirings.depth_design import DepthDesign


@dataclass(frozen=True, repr=False)
class Design:
    """The best scheme of given steps and order, or the proof that none is zero-stable.

    Attributes:
        scheme: Exact if rational; None if no scheme is zero-stable, unless there is but one of that order.
        modulus: The largest parasitic modulus.
        exact_modulus: The same as text: a fraction, radicals, or an equation.
        structure: Which parasitic roots coincide.
        roots: All roots, the principal one first, multiple ones not smeared.
        proof: Why no scheme of these steps and this order has smaller parasitic roots, or why none is zero-stable.
        error_constant: C_{p+1}.
        normalised_error_constant: C_{p+1} / sigma(1).
    """

    steps: int
    order: int
    feasible: bool
    proof: str
    scheme: Scheme | None = None
    modulus: float | None = None
    exact_modulus: str | None = None
    structure: str | None = None
    roots: tuple[complex, ...] | None = None
    error_constant: Number | None = None
    normalised_error_constant: Number | None = None
    real_interval: Number | None = None

    @property
    def margin(self) -> float | None:
        """1 minus the largest parasitic modulus."""
        return None if self.modulus is None else 1 - self.modulus

    def __repr__(self) -> str:
        found = "none is zero-stable" if not self.feasible else f"{self.scheme and self.scheme.name}"
        modulus = "" if self.exact_modulus is None else f", modulus {self.exact_modulus}"
        return f"Design({self.steps} steps, order {self.order}: {found}{modulus})"

    def _repr_latex_(self) -> str | None:
        return None if self.scheme is None else self.scheme._repr_latex_()

    def _repr_html_(self) -> str:
        facts = {
            "zero-stable": "yes" if self.feasible else "no scheme is",
            "scheme": self.scheme and self.scheme.name,
            "largest parasitic modulus": self.exact_modulus,
            "parasitic roots": self.structure,
            "error constant": None if self.error_constant is None else str(self.error_constant),
            "because": self.proof,
        }
        latex = None if self.scheme is None or not self.scheme.is_exact else self.scheme.to_latex()
        rows = [(name, value) for name, value in facts.items() if value]
        return html_table(f"The best scheme of {self.steps} steps and order {self.order}", rows, latex)

    def plot(self, axes: "Axes | None" = None) -> "Axes":
        """Draw the roots, and the circle that the parasitic ones lie in; return the axes."""
        from zerosnet.numerics.plots import plot_design

        return plot_design(self, axes)

    def to_json(self) -> dict[str, Any]:
        """Return what `zerosnet design --json` prints: exact numbers are strings, floats are numbers."""
        coefficients = self.scheme.to_json() if self.scheme else {"alphas": None, "betas": None}
        numbers = ("error_constant", "normalised_error_constant", "real_interval")
        return {
            "steps": self.steps,
            "order": self.order,
            "feasible": self.feasible,
            **coefficients,
            "modulus": self.modulus,
            "exact_modulus": self.exact_modulus,
            "margin": self.margin,
            "structure": self.structure,
            "roots": None if self.roots is None else [[root.real, root.imag] for root in self.roots],
            "moduli": None if self.roots is None else [abs(root) for root in self.roots],
            **{name: None if (x := getattr(self, name)) is None else num.to_json(x) for name in numbers},
            "proof": self.proof,
        }


@overload
def design(  # type: ignore[overload-overlap]  # "modulus" is a str as well, and comes first
    steps: int, order: int, *, objective: Literal["modulus"] = "modulus"
) -> Design: ...


@overload
def design(steps: int, order: int | None = None, *, objective: str, blocks: Any = None) -> "DepthDesign": ...


def design(
    steps: int, order: int | None = None, *, objective: str = "modulus", blocks: Any = None
) -> "Design | DepthDesign":
    """Find the best scheme among those with `steps` steps, one slope and that order.

    Args:
        steps: How many past states.
        order: The order; the objectives of depth take 1 by default, and any scheme of at least that order.
        objective: "modulus" for the smallest parasitic roots, with a proof. "depth", "head" or "accuracy" for a search
            by `design_by_depth`, which has more options.
        blocks: Blocks of every stage, for the objectives of depth; (9, 9, 9) by default.

    Examples:
        >>> best = design(3, 2)
        >>> best.scheme == Scheme.parse("zerosnet(-9/5)"), best.exact_modulus
        (True, '1/3')
        >>> round(design(2, objective="depth", blocks=(9, 9, 9)).value, 1)
        22.7
    """
    if objective == "modulus":
        if blocks is not None:
            raise InputError(f"blocks is {blocks!r}; expected none with the objective modulus")
        return _design_by_modulus(steps, order)
    from zerosnet.numerics.wirings.depth_design import OBJECTIVES, design_by_depth
    from zerosnet.numerics.wirings.stages import BLOCKS

    if objective not in OBJECTIVES:
        near = did_you_mean(objective, OBJECTIVES)
        raise InputError(f"objective is {objective!r}{near}; expected one of modulus, {', '.join(OBJECTIVES)}")
    return design_by_depth(
        steps, BLOCKS if blocks is None else blocks, 1 if order is None else order, objective=objective
    )


@one_at_a_time
def _design_by_modulus(steps: int, order: int | None) -> Design:
    """Find the scheme with the smallest parasitic roots."""
    if not is_whole(steps) or not 1 <= steps <= MOST_STEPS:
        raise InputError(f"steps is {steps!r}; expected a whole number from 1 to {MOST_STEPS}")
    if order is None or not is_whole(order) or not 1 <= order <= steps:
        reach = "one step expected 1" if steps == 1 else f"{steps} steps expected 1 to {steps}"
        raise InputError(f"order is {order!r}; with one slope and {reach}")
    obstacle = barrier(steps, order)
    if obstacle is not None:
        return _impossible(steps, order, *obstacle)
    if order == 1:
        q = [Fraction(1)] + [Fraction(0)] * (steps - 1)
        facts = {"modulus": 0.0, "exact_modulus": "0", "roots": (1 + 0j, *[0j] * (steps - 1))}
        return _priced(steps, order, _from_q(q), feasible=True, proof=_EULER, **facts)
    optimum = least_modulus(steps, order)
    return _priced(
        steps,
        order,
        _from_q(optimum.q),
        feasible=True,
        proof=_proof(steps, order, optimum),
        modulus=float(optimum.modulus),
        exact_modulus=_exact_text(optimum.modulus),
        structure=_structure(order, optimum),
        roots=(1 + 0j, *optimum.roots),
    )


def design_table(most_steps: int = 6) -> tuple[Design, ...]:
    """The best scheme, or its impossibility, for every order of every number of steps up to `most_steps`."""
    if not is_whole(most_steps) or not 1 <= most_steps <= MOST_STEPS:
        raise InputError(f"most_steps is {most_steps!r}; expected a whole number from 1 to {MOST_STEPS}")
    return tuple(design(steps, order) for steps in range(1, most_steps + 1) for order in range(1, steps + 1))


def _from_q(q: Sequence[Any]) -> Scheme:
    """The scheme with rho = (z-1) q and sigma = q(1) z^(d-1); q is rounded to floats after the products, if at all."""
    rho = [a - b for a, b in zip([*q, 0], [0, *q])]
    coefficients = [[-c for c in rho[1:]], [sum(q)]]
    if not all(isinstance(c, Fraction) for c in q):
        coefficients = [[float(c) for c in group] for group in coefficients]
    return Scheme(*coefficients)


def _priced(steps: int, order: int, scheme: Scheme, **facts: Any) -> Design:
    """A design with what its scheme costs."""
    constant = local_error_coefficient(scheme, order + 1)
    return Design(
        steps=steps,
        order=order,
        scheme=scheme,
        error_constant=constant,
        normalised_error_constant=constant / sum(scheme.betas),
        real_interval=real_interval(scheme),
        **facts,
    )


def _impossible(steps: int, order: int, k: int, value: Fraction) -> Design:
    proof = (
        f"zero stability needs Re v >= -1/2 for every v = r/(1-r), hence e_{k}(v + 1/2) >= 0, "
        f"but order {k + 1} fixes it at {value}"
    )
    if order < steps:
        return Design(steps, order, feasible=False, proof=proof)
    scheme = _from_q(only_q(steps))
    verdict = root_condition(scheme)
    facts = {"modulus": 1 - verdict.margin, "roots": verdict.roots}
    return _priced(steps, order, scheme, feasible=False, proof=f"the only scheme is unstable: {proof}", **facts)


_EULER = "all parasitic roots are 0 (Euler's step)"


def _proof(steps: int, order: int, optimum: Optimum) -> str:
    if optimum.at_plus:
        return (
            "the sum of v = r/(1-r) is -1/2 and that of (Re v)^2 at least 7/12; a convex sum over a box is largest at "
            "a corner, where all roots but one lie at -m or +m"
        )
    k, least = order - 1, optimum.modulus / (1 + optimum.modulus)
    return (
        f"moduli up to m mean Re v >= -A for every v = r/(1-r), A = m/(1+m), hence e_{k}(v + A) >= 0; order {order} "
        f"fixes it as {_polynomial_text(steps, k)}, negative below A = {float(least):.6g}"
    )


def _polynomial_text(steps: int, k: int) -> str:
    """E_k(A), written out."""
    text = ""
    for j in range(k + 1):
        c, power = comb(steps - 1 - j, k - j) * fixed_symmetric(j), k - j
        letter = {0: "", 1: "A"}.get(power, f"A^{power}")
        size = "" if abs(c) == 1 and letter else str(abs(c))
        text += (" - " if c < 0 else " + ") + f"{size} {letter}".strip()
    return text.removeprefix(" + ")


def _structure(order: int, optimum: Optimum) -> str:
    groups = [f"{count} at {sign}m" for count, sign in ((optimum.at_minus, "-"), (optimum.at_plus, "+")) if count]
    others = [f"{order - 2} smaller"] if order > 2 else []
    return ", ".join(groups + others)


def _exact_text(modulus: Any) -> str:
    """A fraction, radicals, or the equation of an algebraic number of higher degree."""
    import sympy

    if not modulus.has(sympy.CRootOf):
        return str(modulus)
    polynomial = str(modulus.poly.as_expr()).replace(str(modulus.poly.gen), "m").replace("**", "^").replace("*", " ")
    return f"{polynomial} = 0"
