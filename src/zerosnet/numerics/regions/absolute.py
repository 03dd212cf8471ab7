"""Absolute stability: what a scheme does to y' = q y with step h, as a function of w = h q in the complex plane.

The states then grow like the roots of rho(z) - w sigma(z). The region of absolute stability holds every w for which
these satisfy the root condition; its boundary lies on the locus w = rho(z) / sigma(z), |z| = 1.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from zerosnet.errors import InputError
from zerosnet.numerics.scheme import Scheme

Complexes = npt.NDArray[np.complexfloating[Any, Any]]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

TOLERANCE = 1e-9  # moduli closer to 1 than this count as 1
_CHUNK = 8192  # points; the work space of a chunk stays in the cache


def boundary_locus(scheme: Scheme, points: int = 721) -> Complexes:
    """rho(z) / sigma(z) at `points` equidistant z = exp(i theta), theta from 0 to 2 pi; NaN where sigma vanishes."""
    z: Complexes = np.exp(1j * np.linspace(0, 2 * np.pi, points))
    rho, sigma = (np.polyval(np.array(p, complex), z) for p in (scheme.rho, scheme.sigma))
    with np.errstate(all="ignore"):
        locus: Complexes = rho / sigma
    locus[np.abs(sigma) <= 1e-13 * sum(abs(float(b)) for b in scheme.betas)] = complex(np.nan, np.nan)
    return locus


def stability_region(scheme: Scheme, re: npt.ArrayLike, im: npt.ArrayLike) -> Bools:
    """Decide at every w = re[j] + i im[i] whether the root condition holds; the result is an array [i, j].

    The recursion of Schur and Cohn runs over all points at once: all roots of z^m + c_1 z^(m-1) + ... + c_m are inside
    the circle where |k| < 1 at every degree m,

        k = c_m,    c'_i = (c_i - k conj(c_{m-i})) / (1 - |k|^2),    i = 1 .. m-1.

    The few points where some 1 - |k|^2 vanishes to within 1e-9 are decided by their roots: none with a modulus above
    1 + 1e-9, and no two that meet on the circle. So points of the boundary belong to the region where they should.

    Examples:
        >>> stability_region(Scheme([1], [1]), [-2.5, -2, -1, 0], [0]).tolist()
        [[False, True, True, True]]
    """
    w = _grid(re, im)
    flat = w.ravel()
    stable = np.empty(flat.shape, np.bool_)
    if not any(scheme.betas):
        return np.full(w.shape, bool(_by_roots(scheme, flat[:1])[0]) if flat.size else False)
    for start in range(0, len(flat), _CHUNK):
        piece = slice(start, start + _CHUNK)
        inside, close = _schur_cohn(_coefficients(scheme, flat[piece]), flat[piece].shape)
        if close.any():
            inside[close] = _by_roots(scheme, flat[piece][close])
        stable[piece] = inside
    return stable.reshape(w.shape)


def root_radius(scheme: Scheme, re: npt.ArrayLike, im: npt.ArrayLike) -> Floats:
    """The largest modulus of a root at w = re[j] + i im[i], as an array [i, j]: the growth of y in one step."""
    w = _grid(re, im)
    return np.abs(_roots(scheme, w.ravel())).max(axis=-1, initial=0.0).reshape(w.shape)


def _grid(re: npt.ArrayLike, im: npt.ArrayLike) -> Complexes:
    try:
        x, y = np.asarray(re, np.float64), np.asarray(im, np.float64)
    except (TypeError, ValueError):
        raise InputError("re or im is not an array of real numbers") from None
    if x.ndim != 1 or y.ndim != 1:
        raise InputError(f"re and im have the shapes {x.shape} and {y.shape}; expected one dimension each")
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise InputError("re or im holds a number that is not finite")
    return x + 1j * y[:, None]


def _coefficients(scheme: Scheme, w: Complexes) -> list[Any]:
    """c_1 .. c_d at every point. Those that do not depend on w stay scalars, which saves most of the work."""
    alphas, betas = ([float(c) for c in p] for p in (scheme.rho[1:], scheme.sigma))
    return [a - b * w if b else complex(a) for a, b in zip(alphas, betas)]


def _schur_cohn(c: Sequence[Any], shape: tuple[int, ...]) -> tuple[Bools, Bools]:
    """Return the points with all roots inside the circle, and those that the recursion cannot decide."""
    inside, close = np.ones(shape, np.bool_), np.zeros(shape, np.bool_)
    with np.errstate(all="ignore"):
        while c:
            k = c[-1]
            gap = 1 - (k.real * k.real + k.imag * k.imag)
            reduced = [a - k * b.conjugate() for a, b in zip(c[:-1], c[-2::-1])]
            near = inside & (abs(gap) <= TOLERANCE)
            if near.any():  # |k| = 1 without a root outside is only possible where all of these vanish as well
                for a in reduced:
                    near &= abs(a) <= 2.0 ** len(c) * TOLERANCE
                close |= near
            inside &= gap > TOLERANCE
            if not inside.any():
                break
            scale = 1 / gap
            c = [a * scale for a in reduced]
    return inside, close


def _roots(scheme: Scheme, w: Complexes) -> Complexes:
    """All roots at every point, as eigenvalues of companion matrices: an array [point, root]."""
    steps = scheme.steps
    matrices = np.zeros((len(w), steps, steps), np.complex128)
    matrices[:, np.arange(1, steps), np.arange(steps - 1)] = 1
    for i, c in enumerate(_coefficients(scheme, w)):
        matrices[:, 0, i] = -c
    return np.linalg.eigvals(matrices)


def _by_roots(scheme: Scheme, w: Complexes) -> Bools:
    roots = _roots(scheme, w)
    moduli = np.abs(roots)
    apart = np.abs(roots[:, :, None] - roots[:, None, :])
    # rounding splits a double root by its square root
    near = np.sqrt(TOLERANCE)
    on_circle = moduli > 1 - near
    meeting = (apart < near) & on_circle[:, :, None] & on_circle[:, None, :]
    meeting[:, np.arange(scheme.steps), np.arange(scheme.steps)] = False
    return (moduli <= 1 + TOLERANCE).all(axis=1) & ~meeting.any(axis=(1, 2))
