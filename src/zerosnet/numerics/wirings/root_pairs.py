"""Consistent three-step schemes by their pair of parasitic roots: predicted accuracy, and those that were measured.

The roots are 1, r and its conjugate, which leaves beta = |1 - r|^2.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from zerosnet.numerics.methods.order_conditions import is_consistent
from zerosnet.numerics.scheme import Scheme
from zerosnet.numerics.stability.verdict import root_condition
from zerosnet.numerics.wirings.batch import head_contributions_of_many
from zerosnet.numerics.wirings.fitted import FittedNetwork
from zerosnet.numerics.wirings.law import load_law
from zerosnet.numerics.wirings.stages import BLOCKS, block_counts, parameters_by_stage
from zerosnet.numerics.wirings.step import Floats

_SAME = 1e-6  # roots closer than this are a pair


def accuracy_of_pairs(roots: npt.ArrayLike, blocks: Any = BLOCKS) -> Floats:
    """Predict the accuracy for every r in an array of complex numbers; calibration is not checked.

    Examples:
        >>> accuracy_of_pairs([0j, 0.9 + 0j]).round().tolist()
        [94.0, 74.0]
    """
    r = np.asarray(roots, dtype=np.complex128)
    counts = block_counts(blocks)
    trace, norm = 2 * r.real, np.abs(r) ** 2
    alphas = np.stack([1 + trace, -(trace + norm), norm], axis=-1)
    parts = np.square(head_contributions_of_many(alphas, np.abs(1 - r) ** 2, counts))
    return load_law().accuracy_of(parts, parameters_by_stage(counts))


def pair_of(scheme: Scheme) -> complex | None:
    """Find the r of a scheme of this kind, in the upper half plane; None for every other scheme.

    Examples:
        >>> pair_of(Scheme([1, 0, 0], [1])), pair_of(Scheme([1], [1]))
        (0j, None)
    """
    if (len(scheme.alphas), len(scheme.betas)) != (3, 1) or not is_consistent(scheme):
        return None
    first, second = root_condition(scheme).parasitic_roots
    return complex(first.real, abs(first.imag)) if abs(first - second.conjugate()) < _SAME else None


def measured_pairs(blocks: Any = BLOCKS) -> tuple[tuple[complex, FittedNetwork], ...]:
    """List the measured networks with such a scheme, each with its r in the upper half plane."""
    counts = block_counts(blocks)
    networks = (one for one in load_law().networks if one.plain and one.blocks == counts)
    found = ((pair_of(Scheme.parse(network.scheme)), network) for network in networks)
    return tuple((root, network) for root, network in found if root is not None)
