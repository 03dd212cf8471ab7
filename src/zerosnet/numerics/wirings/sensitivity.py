"""How strongly the output of a network without normalisation answers to its weights at the start.

Branches that start at 0 (Fixup, ReZero, SkipInit) leave a linear network of skips. The gradient of the output with
respect to the head's weights is then as large as what the head reads, |y_N|, and that with respect to the last layer of
branch n is b_n g_n |y_n|: what the branch reads, times the gain g_n from what it writes to the head. For ReLU branches
with biases of 0 this is all that the coefficients do: f(c y) = c f(y) for c > 0, so a change of gauge that divides
alphas by powers of R divides the beta by R and multiplies the output by R^N.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from zerosnet.numerics.wirings.stages import first_blocks
from zerosnet.numerics.wirings.step import Floats

if TYPE_CHECKING:
    from zerosnet.numerics.wirings.wiring import Wiring


@dataclass(frozen=True)
class Sensitivity:
    """Squared gradients of the output at the start, as decimal logarithms; -inf for 0.

    Attributes:
        head: |y_N|^2, for the weights of the head.
        blocks: (b_n g_n |y_n|)^2, for the last layer of every branch.
    """

    head: float
    blocks: Floats

    @cached_property
    def log10(self) -> float:
        """Decimal logarithm of the sensitivity: 0 for Euler's scheme of any depth.

        It is the mean of head and branches, those of N blocks divided by N as initial weights are with Fixup. In
        units of Euler's scheme; stem, projections and biases are left out.
        """
        each = np.array([self.head, *(self.blocks - np.log10(max(len(self.blocks), 1)))])
        largest = each.max()
        if not np.isfinite(largest):
            return float(largest)
        return float(largest + np.log10(np.power(10.0, each - largest).sum() / 2))


def sensitivity(wiring: "Wiring") -> Sensitivity:
    """Compute how strongly the output answers to the weights, if nothing is normalised and branches start at 0.

    Second moments are followed forward from the stem, and backward from the head.

    Examples:
        >>> from zerosnet.numerics import Wiring
        >>> [round(sensitivity(Wiring.of(scheme)).log10, 1) for scheme in ("zerosnet(-9/5)", "1,1,1;1")]
        [-0.6, 12.7]
    """
    keep, write, reads = wiring.arrays
    projected = {
        first for first, stage in zip(first_blocks(wiring.counts), wiring.stages) if stage.projection == "each"
    }
    states = list[float]()
    moment, digits = np.outer(wiring.start_array, wiring.start_array), 0.0
    for n, mixing in enumerate(keep):
        states.append(_log10(moment, reads[n]) + digits)
        moment, digits = _rescaled(mixing @ (_diagonal(moment) if n in projected else moment) @ mixing.T, digits)
    head = _log10(moment, reads[-1]) + digits

    gains = list[float]()
    moment, digits = np.outer(reads[-1], reads[-1]), 0.0
    for n in reversed(range(len(keep))):
        gains.append(_log10(moment, write[n]) + digits)
        moment = keep[n].T @ moment @ keep[n]
        moment, digits = _rescaled(_diagonal(moment) if n in projected else moment, digits)
    return Sensitivity(head, np.array(states) + np.array(gains[::-1]))


def _diagonal(moment: Floats) -> Floats:
    """The moments of streams after independent projections, which remove their correlation."""
    return np.diag(np.diagonal(moment))


def _rescaled(moment: Floats, digits: float) -> tuple[Floats, float]:
    largest = float(np.abs(moment).max())
    return (moment / largest, digits + float(np.log10(largest))) if largest > 0 else (moment, digits)


def _log10(moment: Floats, along: Floats) -> float:
    """Decimal logarithm of the second moment of one combination of streams."""
    square = float(along @ moment @ along)
    return float(np.log10(square)) if square > 0 else -np.inf
