"""The best steps beta_n for given alphas: how much every block should write, by what the head reads of it.

The law counts D = sum_n p_n max(0, 1 - sqrt(tau / v_n)), v_n the part of what the head reads that comes from block
n. With free betas the parts of the multistep blocks are free too, whatever the alphas are: v_n is proportional to
beta_n^2 g_n, g_n the gain from block n to the head. So D has one best value for all schemes, but for their start-up
blocks. At the best value its derivative by v_n, p_n sqrt(tau / v_n^3) / 2, is the same for all blocks that count:

    v_n = p_n^(2/3) level,   the level such that all parts add up to 1.

A block that is given a part survives training by the law, unless the network is far deeper than those it was fitted on.

In very deep networks blocks with few parameters are better left out (part 0). If blocks are counted in place of
parameters, all parts are equal.

Start-up blocks keep their beta of 1; what the head is to read of them and of the stem is one number, which is searched.
"""

from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np

from zerosnet.errors import InputError
from zerosnet.numerics.scheme import Scheme
from zerosnet.numerics.wirings.companion import one_step_blocks
from zerosnet.numerics.wirings.law import load_law
from zerosnet.numerics.wirings.measures import HEAD_TAU, effective_parameters, weighted_depth
from zerosnet.numerics.wirings.stages import BLOCKS, block_counts, parameters_by_stage
from zerosnet.numerics.wirings.step import Bools, Floats
from zerosnet.numerics.wirings.wiring import Wiring

_GRID = np.logspace(-6, 0, 241)[:-1]  # parts of stem and start-up together


@dataclass(frozen=True)
class StepDesign:
    """The best betas of the multistep blocks of a network with a scheme's alphas.

    Attributes:
        betas: One per multistep block.
        value: The objective: predicted accuracy in percent, or the number of blocks that reach the head.
        constant: The objective with the scheme's own beta in all blocks.
    """

    scheme: Scheme
    blocks: tuple[int, ...]
    objective: str
    betas: tuple[float, ...]
    value: float
    constant: float

    @property
    def block_schemes(self) -> tuple[Scheme, ...]:
        """What `create_model(..., block_schemes=...)` takes."""
        return tuple(Scheme(self.scheme.alphas, [beta]) for beta in self.betas)

    def to_json(self) -> dict[str, Any]:
        """Return what `zerosnet design --free-betas --json` adds."""
        facts = {name: getattr(self, name) for name in ("objective", "value", "constant")}
        alphas = self.scheme.to_json()["alphas"]
        return {**facts, "blocks": list(self.blocks), "alphas": alphas, "betas": list(self.betas)}


def best_betas(
    scheme: Scheme, blocks: Any = BLOCKS, stage_change: str = "project-each", *, objective: str = "accuracy"
) -> StepDesign:
    """Find the steps with which a network of these alphas is best, by the law ("accuracy") or by blocks ("head").

    Examples:
        >>> found = best_betas(Scheme.parse("1,1,1;1"))
        >>> round(found.constant), round(found.value), round(found.betas[1] / found.betas[0], 1)
        (81, 94, 1.8)
    """
    if objective not in ("accuracy", "head"):
        raise InputError(f"objective is {objective!r}; expected accuracy or head, which free betas do not make endless")
    if len(scheme.betas) != 1:
        raise InputError(f"scheme {scheme} has {len(scheme.betas)} betas; expected one")
    counts = block_counts(blocks)
    start_up = np.array(one_step_blocks(scheme.steps, counts, stage_change))
    plain = Wiring.of(scheme, counts, stage_change)
    unit = Wiring.of(Scheme(scheme.alphas, [1]), counts, stage_change)
    by_law = objective == "accuracy"
    parameters = np.array(parameters_by_stage(counts)) if by_law else np.ones(len(plain.steps))
    value = _ByLaw(parameters) if by_law else _ByBlocks(parameters)
    gains = np.square(unit.contributions()[-1])
    fixed = np.append(True, start_up)
    free_gains, fixed_gains = gains[~fixed], gains[fixed]
    if start_up.all() or not (free_gains > 0).all():
        raise InputError(f"scheme is {scheme}; expected one whose multistep blocks all reach the head")
    parts, waste = _best_parts(fixed_gains, value, start_up)
    scale = fixed_gains.sum() / waste if fixed_gains.sum() > 0 else 1.0
    betas = np.sqrt(parts[~start_up] * scale / free_gains)
    schemes = [Scheme(scheme.alphas, [float(beta)]) for beta in betas]
    made = Wiring.per_block(schemes, counts, stage_change)
    return StepDesign(
        scheme=scheme,
        blocks=counts,
        objective=objective,
        betas=tuple(float(beta) for beta in betas),
        value=value.of(made),
        constant=value.of(plain),
    )


class _ByLaw:
    """The law's D of the parts of all blocks."""

    def __init__(self, parameters: Floats) -> None:
        self.parameters, self.tau = parameters, load_law().tau

    def __call__(self, parts: Floats) -> float:
        return float(effective_parameters(parts, self.parameters, self.tau))

    def of(self, wiring: Wiring) -> float:
        """Predicted accuracy in percent."""
        return 100 - load_law().error_of(load_law().quantity(wiring))

    def best(self, blocks: Bools, total: float) -> Floats:
        """Parts of chosen blocks, with this sum, that make D largest.

        With q = p^(2/3) of those blocks that have most parameters, D is sum p - sqrt(tau (sum q)^3 / total).
        """
        parameters = self.parameters[blocks]
        order = np.argsort(-parameters, kind="stable")
        weights = parameters[order] ** (2 / 3)
        found = np.cumsum(parameters[order]) - np.sqrt(self.tau * np.cumsum(weights) ** 3 / total)
        counted = int(np.argmax(found)) + 1
        parts = np.zeros(len(parameters))
        parts[order[:counted]] = total * weights[:counted] / weights[:counted].sum()
        return parts


class _ByBlocks:
    """The number of blocks that reach the head."""

    def __init__(self, weights: Floats) -> None:
        self.weights = weights

    def __call__(self, parts: Floats) -> float:
        return float(weighted_depth(parts, self.weights, HEAD_TAU))

    def of(self, wiring: Wiring) -> float:
        """The number of blocks of a network."""
        return self(wiring.head_parts())

    def best(self, blocks: Bools, total: float) -> Floats:
        """Parts of chosen blocks, with this sum, that make the number largest: equal ones."""
        return np.full(int(blocks.sum()), total / blocks.sum())


def _best_parts(fixed: Floats, value: _ByLaw | _ByBlocks, start_up: Bools) -> tuple[Floats, float]:
    """The best part of every block, and what stem and start-up have together.

    Args:
        fixed: Relative size of the stem and the start-up blocks in what the head reads.
    """
    best, most, waste = np.zeros(len(start_up)), -inf, 1.0
    total = float(fixed.sum())
    for together in _GRID if total > 0 else [0.0]:
        parts = np.zeros(len(start_up))
        parts[start_up] = together * fixed[1:] / total if total > 0 else 0.0
        parts[~start_up] = value.best(~start_up, 1 - together)
        if (found := value(parts)) > most:
            best, most, waste = parts, found, together
    return best, waste
