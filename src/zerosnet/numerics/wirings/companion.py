"""Wirings of schemes: the streams are y_n, y_{n-1}, ... and, for several betas, the slopes f_{n-1}, f_{n-2}, ...

A scheme with d alphas and e betas has the streams (y_n, ..., y_{n-d+1}, f_{n-1}, ..., f_{n-e+1}). Its block is

    A = | alpha_0 ... alpha_{d-1}   beta_1 ... beta_{e-1} |      b = beta_0 e_1 + e_{d+1}
        | shift of the states                              |     (e_{d+1} only if e > 1)
        |                           shift of the slopes    |

and c = e_1. A block in start-up is y_{n+1} = y_n + f_n; older streams that do not exist yet are 0.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from statistics import median

import numpy as np

from zerosnet.errors import InputError
from zerosnet.numerics.rationals import Number
from zerosnet.numerics.scheme import Scheme
from zerosnet.numerics.wirings.stages import ages, find_stage_change, first_blocks
from zerosnet.numerics.wirings.step import Step, Vector, unit

ONE_STEP = Scheme([1], [1])


def one_step_blocks(steps: int, counts: tuple[int, ...], stage_change: str) -> tuple[bool, ...]:
    """Find which blocks are in start-up: a block is until there are as many states as the scheme has steps.

    Examples:
        >>> one_step_blocks(3, (3, 3), "restart")
        (True, True, False, True, True, False)
    """
    return tuple(age < steps for age in ages(counts, find_stage_change(stage_change).keeps_history))


def scheme_per_block(
    schemes: Sequence[Scheme], steps: int, counts: tuple[int, ...], stage_change: str
) -> tuple[Scheme, ...]:
    """One scheme for every block, from one for every block or one for every block that is not in start-up."""
    start_up = one_step_blocks(steps, counts, stage_change)
    multistep = len(start_up) - sum(start_up)
    if len(schemes) == len(start_up):
        return tuple(schemes)
    if len(schemes) != multistep:
        raise InputError(
            f"schemes has {len(schemes)} entries; expected {multistep}, one per block after start-up, or "
            f"{len(start_up)}, one per block"
        )
    left = iter(schemes)
    return tuple(ONE_STEP if first else next(left) for first in start_up)


def companion_steps(
    schemes: Sequence[Scheme], alphas: int, betas: int, counts: tuple[int, ...], stage_change: str
) -> tuple[Step, ...]:
    """The steps of a network with one scheme per block and streams for that many alphas and betas."""
    change = find_stage_change(stage_change)
    restarts = set() if change.keeps_history else set(first_blocks(counts)[1:])
    age = ages(counts, change.keeps_history)
    return tuple(
        companion_step(scheme, alphas, betas, available=age[n], forget=n in restarts)
        for n, scheme in enumerate(schemes)
    )


def companion_step(scheme: Scheme, alphas: int, betas: int, *, available: int, forget: bool = False) -> Step:
    """One block of a scheme, in streams for `alphas` states and `betas` - 1 slopes.

    available: how many states exist; the scheme must not reach beyond them. forget: keep y_n only.
    """
    reach = max(_reach(scheme.alphas), _reach(scheme.betas))
    if reach > available:
        raise InputError(f"scheme {scheme} looks back {reach} states; expected at most {available} in this block")
    size = alphas + betas - 1
    new = _padded(scheme.alphas, alphas) + _padded(scheme.betas, betas)[1:]
    rows = [new]
    rows += [unit(size, i) if not forget or i == 0 else _zeros(size) for i in range(alphas - 1)]
    slopes = [_zeros(size)] if betas > 1 else []
    slopes += [_zeros(size) if forget else unit(size, alphas + j) for j in range(betas - 2)]
    writes = (scheme.betas[0], *_zeros(alphas - 1), *(unit(betas - 1) if betas > 1 else ()))
    return Step(tuple(rows + slopes), writes, unit(size))


def scheme_of_step(step: Step, alphas: int, betas: int) -> Scheme:
    """The scheme that a companion step is, the inverse of `companion_step`."""
    return Scheme(step.A[0][:alphas], (step.b[0], *step.A[0][alphas : alphas + betas - 1]))


def grown(scheme: Scheme, factor: Number) -> Scheme:
    """The scheme with its betas multiplied by a factor."""
    return Scheme(scheme.alphas, [beta * factor for beta in scheme.betas])


def largest_root(scheme: Scheme) -> float:
    """The largest modulus of a root: by this factor the state grows or fades from block to block, without f."""
    return float(np.abs(np.roots([float(c) for c in scheme.rho])).max())


def typical_root(schemes: Sequence[Scheme]) -> float:
    """The median over blocks of the largest root, divided by the median growth of beta from block to block.

    A network whose betas grow as fast as its state is one whose state stays, in another gauge, and the quotient is the
    same for both. Blocks of start-up, which are steps of Euler's scheme, do not count if there are others.

    Examples:
        >>> typical_root([Scheme([2], [4**n]) for n in range(9)])
        0.5
    """
    schemes = [one for one in schemes if one.alphas[0] != 1 or any(one.alphas[1:]) or one.betas[0] != 1] or schemes
    betas = [abs(float(scheme.betas[0])) for scheme in schemes]
    growth = [after / before if after and before else 1.0 for before, after in pairwise(betas)]
    roots = {scheme.alphas: largest_root(scheme) for scheme in schemes}
    return median(roots[scheme.alphas] for scheme in schemes) / median(growth or [1.0])


def _reach(coefficients: Vector) -> int:
    return max((i + 1 for i, c in enumerate(coefficients) if c != 0), default=0)


def _zeros(size: int) -> Vector:
    return (Fraction(0),) * size


def _padded(coefficients: Vector, size: int) -> Vector:
    return coefficients + _zeros(size - len(coefficients))
