"""The state has no scale: changes of gauge, a form that does not depend on it, and equality up to it.

Where every branch and the head begin with a normalisation, f_n(c y) = f_n(y) for c > 0. For positive numbers c_n put
z_n = c_n y_n. Then

    z_{n+1} = sum_i alpha_i (c_{n+1} / c_{n-i}) z_{n-i} + sum_j beta_j c_{n+1} f_{n-j}(z_{n-j})

is the same network: same weights, same function, same gradients. Multiply y_{n+1} = ... by c_{n+1} to see it. Invariant
is W[m, k], the weight of source k in what block m (or the head) reads, up to a positive factor per row.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from zerosnet.errors import InputError
from zerosnet.numerics.rationals import Number, number
from zerosnet.numerics.wirings.stages import first_blocks
from zerosnet.numerics.wirings.step import Floats, Step, entries

if TYPE_CHECKING:
    from zerosnet.numerics.wirings.wiring import Wiring

Path = tuple[int, ...]
"""A source (0 is the stem, n + 1 is f_n), then at every stage change the stream through whose projection the
path went. Zeros at the end are left out: stream 0 goes through the projection of y_n."""


def regauged_coefficients(
    alphas: Sequence[Any], betas: Sequence[Any], new: Any, old: Sequence[Any]
) -> tuple[list[Any], list[Any]]:
    """Coefficients of one block in the gauge z_n = c_n y_n, for any numbers that can be multiplied and divided.

    new: c_{n+1}. old: c_n, c_{n-1}, ..., one for each alpha.
    """
    return [alpha * new / c for alpha, c in zip(alphas, old)], [beta * new for beta in betas]


def scales(values: Any, blocks: int) -> tuple[Number, ...]:
    """Read c_0, ..., c_N, positive numbers."""
    read = tuple(number(value, f"c[{i}]") for i, value in enumerate(entries(values, "c")))
    if len(read) != blocks + 1:
        raise InputError(f"c has {len(read)} entries; expected {blocks + 1}, one for each state y_0, ..., y_{blocks}")
    for i, c in enumerate(read):
        if c <= 0:
            raise InputError(f"c[{i}] is {c}; expected a positive number")
    return read


def regauge_streams(steps: Sequence[Step], c: Sequence[Number]) -> list[Step]:
    """All streams of X_n times c_n: A_n c_{n+1} / c_n and b_n c_{n+1}."""
    found = []
    for n, step in enumerate(steps):
        ratio = c[n + 1] / c[n]
        rows = tuple(tuple(a * ratio for a in row) for row in step.A)
        found.append(Step(rows, tuple(b * c[n + 1] for b in step.b), step.c))
    return found


def regauge_companion(steps: Sequence[Step], c: Sequence[Number], alphas: int) -> list[Step]:
    """Stream y_{n-i} times c_{n-i}, slopes as they are: companion steps stay companion steps."""
    found = []
    for n, step in enumerate(steps):
        old = [c[n - i] if i <= n else Fraction(1) for i in range(alphas)]
        first, slopes = step.A[0][:alphas], (step.b[0], *step.A[0][alphas:])
        states, slopes_new = regauged_coefficients(first, slopes, c[n + 1], old)
        A = ((*states, *slopes_new[1:]), *step.A[1:])
        found.append(Step(A, (slopes_new[0], *step.b[1:]), step.c))
    return found


def canonical(wiring: "Wiring") -> tuple[dict[Path, float], ...]:
    """The rows of W at unit length, N for the blocks and one for the head: signed weight of every path of a source.

    A source that went through different independent projections counts once for each.
    """
    keep, write, read = wiring.arrays
    changes = dict(zip(first_blocks(wiring.counts)[1:], wiring.stages[1:]))
    paths: list[Path] = [(0,)]
    weights = wiring.start_array[:, None]
    rows, exponent, passed = [], 0, 0
    for n in range(len(keep) + 1):
        shift = int(np.frexp(np.abs(weights).max(initial=0.0))[1])
        weights, exponent = np.ldexp(weights, -shift), exponent + shift
        rows.append(_unit_row(paths, read[n] @ weights))
        if n == len(keep):
            break
        if n in changes:
            passed += 1
            paths, weights = _projected(paths, weights, independent=changes[n].projection == "each")
        weights = np.hstack([keep[n] @ weights, np.ldexp(write[n], -exponent)[:, None]])
        paths = [*paths, (n + 1, *(0,) * passed)]
    return tuple(rows)


def same_up_to_gauge(a: "Wiring", b: "Wiring", tolerance: float = 1e-9) -> bool:
    """Check if two wirings are the same network if branches and head do not see the scale of what they read."""
    shape_a, shape_b = ([(s.blocks, s.projection == "none") for s in w.stages] for w in (a, b))
    if shape_a != shape_b:
        return False
    return all(
        abs(x.get(path, 0.0) - y.get(path, 0.0)) <= tolerance
        for x, y in zip(canonical(a), canonical(b))
        for path in x.keys() | y.keys()
    )


def _projected(paths: list[Path], weights: Floats, independent: bool) -> tuple[list[Path], Floats]:
    """Every path continued through the one projection, or through those of the streams that it is in."""
    if not independent:
        return [(*path, 0) for path in paths], weights
    continued, columns = [], []
    for stream in range(len(weights)):
        for path, weight in zip(paths, weights[stream]):
            if weight != 0:
                continued.append((*path, stream))
                columns.append(weight * np.eye(len(weights))[stream])
    return continued, np.array(columns).reshape(-1, len(weights)).T


def _unit_row(paths: list[Path], weights: Floats) -> dict[Path, float]:
    largest = np.abs(weights).max(initial=0.0)
    if largest == 0:
        return {}
    weights = weights / largest
    length = np.linalg.norm(weights)
    row: dict[Path, float] = {}
    for path, weight in zip(paths, weights / length):
        if weight != 0:
            row[_trimmed(path)] = float(weight)
    return row


def _trimmed(path: Path) -> Path:
    end = len(path)
    while end > 1 and path[end - 1] == 0:
        end -= 1
    return path[:end]
