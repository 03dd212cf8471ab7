"""Finite depth: a network has a few dozen blocks, not infinitely many. How far can a perturbation grow in N of them?

Without f the states Y_n = (y_n, ..., y_{n-d+1}) obey Y_{n+1} = A Y_n with the companion matrix A. The first row r_k of
A^k holds what each starting value contributes to the state k blocks later, so that

    c(k) = sum_i |r_k[i]|   (the 1-norm of that row)

is the largest |y| after k blocks over all starting values of modulus at most 1: over k <= N, the constant c in the
paper's definition of zero stability. Row i of A^k is r_{k-i}, so the infinity norm of A^k is the largest of the last d
values of c. All are computed for one scheme or for an array of them, with scaling: nothing overflows unseen.
"""

from dataclasses import dataclass
from operator import index

import numpy as np
import numpy.typing as npt

from zerosnet.errors import InputError
from zerosnet.numerics.scheme import Scheme

Floats = npt.NDArray[np.float64]
BLOCKS = 27  # of the 56-layer network

_RESCALE_ABOVE = 1e4  # coefficients may be as large as 1e300


def companion(scheme: Scheme) -> Floats:
    """The companion matrix: the alphas in the first row, ones below the diagonal."""
    d = scheme.steps
    matrix = np.eye(d, k=-1)
    matrix[0, : len(scheme.alphas)] = [float(a) for a in scheme.alphas]
    return matrix


def log10_envelope(scheme: Scheme | npt.ArrayLike, n: int = BLOCKS) -> Floats:
    """log10 c(k) for k = 0..n along the last axis; `scheme` may be an array of alphas, (..., d). -inf if c is 0."""
    alphas = _alphas(scheme)
    d, depth = alphas.shape[-1], _depth(n)
    rows = [np.broadcast_to(unit, alphas.shape) for unit in np.eye(d)]  # r_0, r_-1, ...
    exponent = np.zeros(alphas.shape[:-1])
    result = np.zeros((*alphas.shape[:-1], depth + 1))
    with np.errstate(divide="ignore"):
        for k in range(1, depth + 1):
            new = np.einsum("...i,i...j->...j", alphas, np.stack(rows))
            size = np.abs(new).sum(axis=-1)
            result[..., k] = np.log10(size) + exponent
            rows = [new, *rows[:-1]]
            if np.any((size > _RESCALE_ABOVE) | ((size < 1 / _RESCALE_ABOVE) & (size > 0))):
                largest = np.max([np.abs(row).max(axis=-1) for row in rows], axis=0)
                scale = np.where(largest > 0, largest, 1.0)
                rows = [row / scale[..., None] for row in rows]
                exponent = exponent + np.log10(scale)
    return result


def envelope(scheme: Scheme | npt.ArrayLike, n: int = BLOCKS) -> Floats:
    """c(k) for k = 0..n: the largest |y| k blocks after starting values of modulus at most 1; inf beyond 1e308.

    Examples:
        >>> envelope(Scheme([2, -1], [1]), 3).round(6).tolist()
        [1.0, 3.0, 5.0, 7.0]
    """
    return _power_of_ten(log10_envelope(scheme, n))


def log10_power_norms(scheme: Scheme | npt.ArrayLike, n: int = BLOCKS) -> Floats:
    """log10 of the infinity norm of A^k for k = 0..n along the last axis."""
    logs = log10_envelope(scheme, n)
    d = _alphas(scheme).shape[-1]
    padded = np.concatenate([np.zeros((*logs.shape[:-1], d - 1)), logs], axis=-1)
    return np.lib.stride_tricks.sliding_window_view(padded, d, axis=-1).max(axis=-1)


@dataclass(frozen=True)
class Growth:
    """Growth over `blocks` blocks, as decimal logarithms.

    log10_constant: of c(N) = max of c(k) over k <= N. log10_power: of the largest norm of A^k, its transient growth,
    first reached after `peak` blocks. log10_last: of c at the last block, what is left of a perturbation at the end.
    """

    blocks: int
    log10_constant: float
    log10_power: float
    peak: int
    log10_last: float

    @property
    def constant(self) -> float:
        return float(_power_of_ten(np.array(self.log10_constant)))

    def to_json(self) -> dict[str, float | None]:
        """Return a JSON-ready object: logarithms are numbers, null for that of 0."""
        values = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return {name: value if np.isfinite(value) else None for name, value in values.items()}


def growth(scheme: Scheme, n: int = BLOCKS) -> Growth:
    """Compute how far perturbations of the starting values grow over n blocks."""
    envelope_, norms = log10_envelope(scheme, n), log10_power_norms(scheme, n)
    return Growth(
        blocks=_depth(n),
        log10_constant=float(envelope_.max()),
        log10_power=float(norms.max()),
        peak=int(norms.argmax()),
        log10_last=float(envelope_[-1]),
    )


def _alphas(scheme: Scheme | npt.ArrayLike) -> Floats:
    if isinstance(scheme, Scheme):
        return companion(scheme)[0]
    alphas = np.asarray(scheme, dtype=np.float64)
    if alphas.ndim < 1 or alphas.shape[-1] < 1 or not np.isfinite(alphas).all():
        raise InputError(f"alphas has shape {alphas.shape}; expected finite numbers of shape (..., steps)")
    return alphas


def _depth(n: int) -> int:
    try:
        depth = index(n)
    except TypeError:
        depth = -1
    if depth < 0 or isinstance(n, bool):
        raise InputError(f"n is {n!r}; expected a whole number of blocks, 0 or more")
    return depth


def _power_of_ten(logs: Floats) -> Floats:
    with np.errstate(over="ignore"):
        return np.power(10.0, logs)
