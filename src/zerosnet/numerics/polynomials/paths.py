"""The parasitic roots of many schemes at once: the paths they take as a parameter moves."""

from typing import Any

import numpy as np
import numpy.typing as npt

from zerosnet.errors import InputError


def parasitic_roots(alphas: npt.ArrayLike) -> npt.NDArray[np.complexfloating[Any, Any]]:
    """The roots of rho for alphas [scheme, weight], as an array [scheme, root] by falling modulus.

    Where all weights sum to 1 the principal root is divided out first: with a_0 + ... + a_{d-1} = 1,

        rho(z) = (z - 1) (z^(d-1) - sum_i w_i z^(d-2-i)),    w_i = a_0 + ... + a_i - 1.

    Examples:
        >>> np.abs(parasitic_roots([[0, 1], [2, -1]])).round(6).tolist()
        [[1.0], [1.0]]
    """
    weights = np.asarray(alphas, np.float64)
    if weights.ndim != 2 or weights.shape[1] < 1 or not np.isfinite(weights).all():
        raise InputError(f"alphas has shape {weights.shape}; expected finite numbers of shape (schemes, steps)")
    if np.allclose(weights.sum(axis=1), 1):
        weights = np.cumsum(weights, axis=1)[:, :-1] - 1
    steps = weights.shape[1]
    matrices = np.zeros((len(weights), steps, steps)) + np.eye(steps, k=-1)
    matrices[:, :1] = weights[:, None]
    roots = np.linalg.eigvals(matrices).astype(np.complex128)
    return np.take_along_axis(roots, np.argsort(-np.abs(roots), axis=1), axis=1)
