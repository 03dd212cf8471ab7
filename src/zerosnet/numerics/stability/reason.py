"""A verdict's reason in one sentence."""

from cmath import phase
from collections.abc import Sequence

from zerosnet.numerics.polynomials.float_roots import FloatRoot
from zerosnet.numerics.polynomials.roots import Root

_NEAR = 1e-4
_FOLD = {2: "double", 3: "triple", 4: "quadruple"}


def of_exact(kind: str, principal: Root | None, parasitic: Sequence[Root]) -> str:
    if kind == "strongly stable":
        return _all_inside(principal, parasitic)
    outside = [root for root in parasitic if root.excess > 0]
    if outside:
        return _outside(outside[0])
    on_circle = [root for root in parasitic if root.excess == 0]
    worst = max(on_circle, key=lambda root: root.multiplicity)
    if worst.multiplicity > 1:
        return f"{_fold(worst.multiplicity)} {_at(worst)}"
    others = "" if len({_at(root) for root in on_circle}) == 1 else " among others"
    return f"simple {_at(worst)} on the unit circle{others}, none outside"


def of_numeric(kind: str, principal: FloatRoot | None, parasitic: Sequence[FloatRoot]) -> str:
    if kind == "strongly stable":
        return _all_inside(principal, parasitic)
    if kind == "unstable":
        return _outside(next(root for root in parasitic if root.excess > root.radius))
    closest = next(root for root in parasitic if root.excess >= -root.radius)
    return f"{_name(closest)} within rounding ({closest.radius:.1e}) of the unit circle"


def _all_inside(principal: Root | None, parasitic: Sequence[Root]) -> str:
    if not parasitic:
        return "the only root is the simple root 1"
    which = "all parasitic roots" if principal else "all roots"
    largest = max(parasitic, key=lambda root: root.excess)
    return f"{which} lie inside the unit circle, {_modulus(largest)}"


def _modulus(root: Root) -> str:
    if -root.excess < _NEAR:
        return f"the closest by {_tiny(-root.excess)}"
    return f"the largest modulus is {root.modulus:.4g}"


def _outside(root: Root) -> str:
    by = f" by {_tiny(root.excess)}" if root.excess < _NEAR else ""
    return f"{_name(root, 'lies', 'lie')} outside the unit circle{by}"


def _tiny(distance: float) -> str:
    return f"{distance:.1e}" if distance > 1e-300 else "less than 1e-300"


def _name(root: Root, singular: str = "is", plural: str = "are") -> str:
    z = root.value
    if z.imag == 0:
        shown = f"{z.real:.4f}" if abs(z.real) < 1e4 else f"{z.real:.4g}"
        return f"root {shown} {singular}"
    return f"roots {z.real:.4f}±{abs(z.imag):.4f}i {plural}"


def _at(root: Root) -> str:
    z = root.value
    return f"root at {z.real:g}" if z.imag == 0 else f"roots at exp(±{abs(phase(z)):.4f}i)"


def _fold(multiplicity: int) -> str:
    return _FOLD.get(multiplicity, f"{multiplicity}-fold")
