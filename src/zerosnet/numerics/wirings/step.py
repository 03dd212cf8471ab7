"""One block of a wiring: X_{n+1} = A_n X_n + b_n f_n(c_n^T X_n)."""

import reprlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from zerosnet.errors import InputError
from zerosnet.numerics.rationals import Number, number

Vector = tuple[Number, ...]
Matrix = tuple[Vector, ...]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Step:
    """What one block keeps (A), where it writes (b) and what it reads (c). Exact entries stay exact.

    A has a row for every stream after the block and a column for every stream before it, so that streams may come and
    go.
    """

    A: Matrix
    b: Vector
    c: Vector

    def __post_init__(self) -> None:
        if len(self.A) != len(self.b) or any(len(row) != len(self.c) for row in self.A):
            shape = f"{len(self.A)} x {sorted({len(row) for row in self.A})}"
            raise InputError(f"A is {shape}; expected a row for each of {len(self.b)} entries of b and a column for "
                             f"each of {len(self.c)} entries of c")  # fmt: skip

    @property
    def is_exact(self) -> bool:
        return all(isinstance(entry, Fraction) for row in (*self.A, self.b, self.c) for entry in row)


def entries(values: Any, name: str) -> list[Any]:
    """Read a list of anything.

    Examples:
        >>> entries(range(3), "keep")
        [0, 1, 2]
    """
    if isinstance(values, str | bytes | dict) or not isinstance(values, Iterable):
        raise InputError(f"{name} is {reprlib.repr(values)}; expected a list")
    return list(values)


def vector(values: Any, name: str) -> Vector:
    """Read a list of numbers; a single number is a list of one.

    Examples:
        >>> vector(["1/3", 2], "b")
        (Fraction(1, 3), Fraction(2, 1))
    """
    if isinstance(values, str) or not isinstance(values, Iterable):
        return (number(values, name),)
    read = tuple(number(value, f"{name}[{i}]") for i, value in enumerate(values))
    if not read:
        raise InputError(f"{name} is empty; expected at least one number")
    return read


def matrix(values: Any, name: str) -> Matrix:
    """Read a list of rows; a single number is a matrix of one entry."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        return ((number(values, name),),)
    rows = tuple(vector(row, f"{name}[{i}]") for i, row in enumerate(values))
    if not rows or len({len(row) for row in rows}) != 1:
        raise InputError(f"{name} has rows of lengths {[len(row) for row in rows]}; expected a matrix")
    return rows


@lru_cache
def unit(size: int, at: int = 0) -> Vector:
    """A unit vector."""
    return tuple(Fraction(int(i == at)) for i in range(size))


def as_array(values: Sequence[Any]) -> Floats:
    """A vector or matrix in floats."""
    return np.array([[float(x) for x in row] if isinstance(row, tuple) else float(row) for row in values])
