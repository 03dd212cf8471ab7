"""A monic polynomial from prescribed roots, exact if the roots are."""

import re
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from zerosnet.errors import InputError
from zerosnet.numerics.rationals import Number, number

_QUADRATIC = re.compile(r"z\^2(?:([+-][^z]*)z)?([+-][^z]+)?")
_CONJUGATE_TOLERANCE = 1e-12


def monic_from_roots(roots: Iterable[Any]) -> list[Number]:
    """Coefficients of prod (z - r_i), highest power first; see `from_roots` for what a root may be."""
    if isinstance(roots, str | complex) or not isinstance(roots, Iterable):
        raise InputError(f"roots is {roots!r}; expected a list of roots")
    polynomial: list[Number] = [Fraction(1)]
    unpaired: list[complex] = []
    for i, root in enumerate(roots):
        factor = _factor(root, f"roots[{i}]")
        if isinstance(factor, complex):
            conjugate = factor.conjugate()
            mate = next((z for z in unpaired if abs(z - conjugate) <= _CONJUGATE_TOLERANCE * abs(z)), None)
            if mate is None:
                unpaired.append(factor)
                continue
            unpaired.remove(mate)
            factor = [1.0, -(mate + factor).real, abs(mate) * abs(factor)]
        polynomial = _product(polynomial, factor)
    if unpaired:
        raise InputError(f"root {unpaired[0]} has no conjugate among the roots; a real scheme needs both")
    return polynomial


def _factor(root: Any, name: str) -> list[Number] | complex:
    """A linear or quadratic real factor, or a complex root that waits for its conjugate."""
    if isinstance(root, str) and "z" in root:
        match = _QUADRATIC.fullmatch("".join(root.split()).replace("*", ""))
        if match is None:
            raise InputError(f'{name} is {root!r}; expected a quadratic factor such as "z^2 - z + 1/3"')
        b, c = match.groups()
        root = ({"+": 1, "-": -1, None: 0}.get(b, b), c or 0)
    if isinstance(root, tuple):
        if len(root) != 2:
            raise InputError(f"{name} is {root!r}; expected (b, c) for the quadratic factor z^2 + b z + c")
        return [Fraction(1), *(number(c, f"{name}[{j}]") for j, c in enumerate(root))]
    if isinstance(root, complex) or (hasattr(root, "imag") and hasattr(root, "__complex__")):
        value = complex(root)
        if value.imag != 0:
            number(value.real, name), number(value.imag, name)  # finite
            return value
        root = value.real if isinstance(root, complex) else root
    return [Fraction(1), -number(root, name)]


def _product(p: list[Number], q: list[Number]) -> list[Number]:
    result: list[Number] = [Fraction(0)] * (len(p) + len(q) - 1)
    for i, a in enumerate(p):
        for j, b in enumerate(q):
            result[i + j] += a * b
    return result
