"""The root condition of millions of schemes at once, in floats, with a bound on every rounding error.

For p = z^m + c_1 z^(m-1) + ... + c_m all roots lie inside the unit circle if (Jury)

    p(1) > 0,   (-1)^m p(-1) > 0,   and |k| < 1 at every degree m >= 2 of the recursion
    k = c_m,    c'_i = (c_i - k c_{m-i}) / (1 - k^2),   i = 1 .. m-1.

A root within rounding of 1 is taken for the principal root and divided out first. Each test is answered with yes, no,
or "too close to tell", by a running bound on the error of the coefficients; what cannot be told is borderline.
"""

import numpy as np
import numpy.typing as npt

from zerosnet.errors import InputError

KINDS = ("unstable", "strongly stable", "borderline")
UNSTABLE, STRONGLY_STABLE, BORDERLINE = range(3)
MOST_STEPS = 8

_CHUNK = 8192  # rows; the work space of a chunk stays in the cache
_UNIT = 2.0**-51  # two roundings: coefficients may come from rationals or from a formula in floats

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


def classify(alphas: npt.ArrayLike) -> npt.NDArray[np.int8]:
    """Classify schemes with weights alphas[..., 0..d-1], d at most 8, by codes into `KINDS`.

    Agrees with the exact verdict unless it is borderline, with one exception: a single root within rounding of 1 counts
    as the principal root 1. Schemes that are weakly stable are borderline in floats.

    Raises:
        InputError: `alphas` is not an array of finite real numbers with 1 to 8 columns.

    Examples:
        >>> [KINDS[code] for code in classify([[1, 1, 1], [0.5, 0.3, 0.1], [0, 1, 0]])]
        ['unstable', 'strongly stable', 'borderline']
    """
    try:
        raw = np.asarray(alphas)
        complex_numbers = np.iscomplexobj(raw)
        given = raw.real if complex_numbers else np.asarray(raw, dtype=np.float64)
    except (OverflowError, TypeError, ValueError):
        raise InputError("alphas is not an array of numbers; expected one of shape (..., steps)") from None
    if complex_numbers:
        raise InputError(f"alphas has complex numbers ({raw.dtype}); expected real ones")
    if given.ndim < 1 or not 1 <= given.shape[-1] <= MOST_STEPS:
        raise InputError(f"alphas has shape {given.shape}; expected (..., steps) with 1 to {MOST_STEPS} steps")
    rows = given.reshape(-1, given.shape[-1])
    codes = np.empty(len(rows), np.int8)
    with np.errstate(all="ignore"):
        for start in range(0, len(rows), _CHUNK):
            chunk = rows[start : start + _CHUNK]
            codes[start : start + _CHUNK] = _classify_columns(np.ascontiguousarray(chunk.T), start)
    return codes.reshape(given.shape[:-1])


def _classify_columns(alphas: Floats, start: int) -> npt.NDArray[np.int8]:
    steps = len(alphas)
    size = _sum(np.abs(alphas))
    if not np.isfinite(size).all() and not np.isfinite(alphas).all():
        row = int(np.flatnonzero(~np.isfinite(alphas).all(axis=0))[0])
        raise InputError(f"alphas of scheme {start + row} are not finite: {alphas[:, row].tolist()}")
    at_one = 1 - _sum(alphas)
    slack = (steps + 2) * _UNIT * (1 + size)
    principal = np.abs(at_one) <= slack
    c = -alphas
    if not principal.any():
        codes = _jury(c, at_one, _UNIT * size, slack)
    elif principal.all():
        codes = _jury_without_one(c, at_one, size, slack)
    else:
        codes, rest = np.empty(len(size), np.int8), ~principal
        codes[rest] = _jury(c[:, rest], at_one[rest], _UNIT * size[rest], slack[rest])
        chosen = c[:, principal], at_one[principal], size[principal], slack[principal]
        codes[principal] = _jury_without_one(*chosen)
    codes[size > 1.01 * 2.0**steps] = UNSTABLE  # with all roots in the disc |c_i| <= C(d, i), so their sum is below 2^d
    return codes


def _sum(columns: Floats) -> Floats:
    total = columns[0].copy() if len(columns) else np.zeros(columns.shape[1])
    for column in columns[1:]:
        total += column
    return total


def _jury_without_one(c: Floats, at_one: Floats, size: Floats, slack: Floats) -> npt.NDArray[np.int8]:
    """Return codes for polynomials with |p(1)| <= 2 slack, whose root next to 1 is divided out.

    With p(z) = (z-1) q(z) + p(1) there is a real root 1 + t with |t| <= 2 |p(1)| / |q(1)|, if |q'| is at most
    q(1)^2 / (4 |p(1)|) around 1. Dividing by z - 1 - t instead of z - 1 changes the coefficients of q by less than
    2 m |t| (1 + size). If the condition fails, several roots may be close to 1: then only a root that is certainly
    outside can be told, from p itself.
    """
    m = len(c)
    deflated = 1 + np.cumsum(c[:-1], axis=0)
    deflated_at_one = 1 + _sum(deflated)
    least = np.abs(deflated_at_one) - m * slack
    slope = 2 * m * (1 + _sum(np.abs(deflated)))
    single = (least > 0) & (8 * slack * slope <= least * least)
    shift = 4 * slack / np.where(single, least, 1)
    error = slack + 2 * m * shift * (1 + size)
    codes = _jury(deflated, deflated_at_one, error, m * error)
    several = np.flatnonzero(~single)
    if len(several):
        codes[several] = _jury(c[:, several], at_one[several], _UNIT * size[several], slack[several])
    return codes


def _jury(c: Floats, at_one: Floats, error: Floats, slack: Floats) -> npt.NDArray[np.int8]:
    """Return codes for monic polynomials.

    Args:
        c: The coefficients after the leading 1, a row each.
        at_one: The values at 1.
        error: The bound on the error of the coefficients.
        slack: The bound on the error of the values at 1 and -1.
    """
    at_minus_one = 1 + _sum(c[1::2]) - _sum(c[0::2])
    lowest = np.minimum(at_one, at_minus_one)
    below, above = _moduli_of_k(c, error)
    inside, outside = below & (lowest > slack), above | (lowest < -slack)
    return (np.int8(BORDERLINE) - inside.view(np.int8)) * ~outside  # 2 - 1 where inside, 0 where outside


def _moduli_of_k(c: Floats, error: Floats) -> tuple[Bools, Bools]:
    """Check if every |k| of the recursion is certainly below 1, and whether one is certainly above."""
    m = len(c)
    if m < 2:
        return np.ones(c.shape[1], np.bool_), np.zeros(c.shape[1], np.bool_)
    modulus = np.abs(c[-1])
    below, above = modulus + error < 1, modulus - error > 1
    if m == 2:
        return below, above
    if m > 3:  # go on with the rows that are still open
        still_open = np.flatnonzero(below)
        c, error = c.take(still_open, axis=1, mode="clip"), error[still_open]
    k, head = c[-1], c[:-1]
    gap, gap_error = 1 - k * k, 2.01 * error + 4 * _UNIT
    largest = np.abs(head).max(axis=0)
    head_error = error * (2.01 + largest) + 4 * _UNIT * largest
    if m == 3:  # the last |k| is |c_2 - k c_1| / gap: no need to divide
        last, last_error = np.abs(c[1] - k * c[0]), head_error + gap_error
        above |= below & (last - last_error > gap)
        below &= last + last_error < gap
        return below, above
    reduced = (head - k * head[::-1]) / gap
    largest = np.abs(reduced).max(axis=0)
    reduced_error = (head_error + largest * gap_error) / (gap - gap_error) + 2 * _UNIT * largest
    reduced_error[gap <= gap_error] = np.inf
    below[still_open], above[still_open] = _moduli_of_k(reduced, reduced_error)
    return below, above
