"""The trade-off of design by depth: the price of small parasitic roots and of order, and the stage gains on the way."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from zerosnet.errors import InputError
from zerosnet.numerics.designs.optimum import barrier
from zerosnet.numerics.wirings.depth_design import DepthDesign, design_by_depth
from zerosnet.numerics.wirings.stages import BLOCKS, block_counts

MODULI = (0.05, 0.2, 0.35, 0.5, 0.65, 0.8, 1.0)
STEPS = (1, 2, 3, 4)


@dataclass(frozen=True)
class DepthTradeOff:
    """The best schemes within bounds, for networks of some blocks; a bound that none can keep has no entry.

    Attributes:
        by_modulus: Per order, (bound of the parasitic moduli, best scheme).
        by_steps: Per order, the best scheme of 1 to 4 steps.
    """

    steps: int
    blocks: tuple[int, ...]
    objective: str
    by_modulus: dict[int, list[tuple[float, DepthDesign]]]
    by_steps: dict[int, list[DepthDesign]]


def depth_trade_off(
    steps: int,
    blocks: Any = BLOCKS,
    *,
    objective: str = "depth",
    orders: Sequence[int] = (1, 2),
    moduli: Sequence[float] = MODULI,
) -> DepthTradeOff:
    """Find the best scheme of that many steps for every bound of the parasitic moduli."""
    counts = block_counts(blocks)
    possible = [order for order in orders if order <= steps and barrier(steps, order) is None]

    def within(order: int) -> list[tuple[float, DepthDesign]]:
        found = []
        for bound in moduli:
            try:
                found.append((bound, design_by_depth(steps, counts, order, objective=objective, modulus=bound)))
            except InputError:  # none is within this bound
                continue
        return found

    return DepthTradeOff(
        steps=steps,
        blocks=counts,
        objective=objective,
        by_modulus={order: within(order) for order in possible},
        by_steps={
            order: [
                design_by_depth(each, counts, order, objective=objective)
                for each in STEPS
                if order <= each and barrier(each, order) is None
            ]
            for order in orders
        },
    )
