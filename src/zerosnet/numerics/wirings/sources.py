"""What every block and the head read: the weight of each source (the stem, f_0, f_1, ...) in it.

The part of source k in the streams X_n has second moments M_k, a matrix with M_k -> A_n M_k A_n^T; block n adds
b_n b_n^T for its own source. Independent projections of the streams make what was one path of source k several paths
that are not correlated: the cross moments vanish, M_k -> diag(M_k). A projection that all streams share changes
nothing. M_k is kept as a factor F_k with F_k F_k^T = M_k, one column per path, so that no number is squared, and the
factors of all sources are divided by one power of two after every block: that is a change of gauge, so nothing
overflows however unstable the scheme is.
"""

from typing import TYPE_CHECKING

import numpy as np

from zerosnet.numerics.wirings.stages import first_blocks
from zerosnet.numerics.wirings.step import Floats

if TYPE_CHECKING:
    from zerosnet.numerics.wirings.wiring import Wiring

_WIDEST = 1000  # binary digits by which a source may be larger than those before it; a float has 1023


def contributions(wiring: "Wiring", stem: float) -> Floats:
    """Weight of source k in what block n reads, and in row N what the head reads; columns stem, f_0, ..., f_{N-1}.

    Rows have unit length: the squares are parts of the second moment. Row 0 is the stem alone. A row of zeros means
    that nothing is read.
    """
    keep, write, read = wiring.arrays
    depth = len(keep)
    projected = {
        first for first, stage in zip(first_blocks(wiring.counts), wiring.stages) if stage.projection == "each"
    }
    factors = np.zeros((len(wiring.start), depth + 1, 1))
    factors[:, 0, 0] = wiring.start_array * np.sqrt(stem)
    found = np.zeros((depth + 1, depth + 1))
    exponent = 0
    for n in range(depth + 1):
        factors, exponent = _rescaled(factors, exponent)
        found[n] = _unit_row(np.einsum("d,dkp->kp", read[n], factors))
        if n == depth:
            break
        if n in projected:
            factors = _uncorrelated(factors)
        factors = np.einsum("ed,dkp->ekp", keep[n], factors)
        factors, exponent = _room_for(write[n], factors, exponent)
        factors[:, n + 1, 0] = np.ldexp(write[n], -exponent)
    return found


def _rescaled(factors: Floats, exponent: int) -> tuple[Floats, int]:
    """Factors divided by a power of two that brings the largest entry to about 1, and the sum of the exponents."""
    shift = int(np.frexp(np.abs(factors).max())[1])
    return np.ldexp(factors, -shift), exponent + shift


def _room_for(write: Floats, factors: Floats, exponent: int) -> tuple[Floats, int]:
    """Factors divided by a power of two so that what is written fits beside them, however small they have become."""
    shift = int(np.frexp(np.abs(write).max())[1]) - exponent - _WIDEST
    return (np.ldexp(factors, -shift), exponent + shift) if shift > 0 and write.any() else (factors, exponent)


def _uncorrelated(factors: Floats) -> Floats:
    """Factors with one path per stream."""
    size = _lengths(factors)
    paths = np.zeros((*size.shape, len(size)))
    for stream, row in enumerate(size):
        paths[stream, :, stream] = row
    return paths


def _unit_row(paths: Floats) -> Floats:
    weights = _lengths(paths)
    length = _lengths(weights)
    return np.asarray(weights / length if length > 0 else weights)


def _lengths(vectors: Floats) -> Floats:
    """Euclidean lengths along the last axis, without underflow of the squares."""
    largest = np.abs(vectors).max(axis=-1)
    safe = np.where(largest > 0, largest, 1.0)
    return np.asarray(largest * np.linalg.norm(vectors / safe[..., None], axis=-1))
