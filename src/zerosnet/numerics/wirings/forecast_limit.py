"""What keeps the blocks of a scheme from being used, in one sentence."""

from typing import TYPE_CHECKING

import numpy as np

from zerosnet.numerics.wirings.companion import largest_root

if TYPE_CHECKING:
    from zerosnet.numerics.wirings.forecast import Forecast

MUCH, LITTLE = 0.75, 0.1
REACHES, HEARD = 0.007, 0.2
"""In the sentence on what limits a network, a block reaches the head from a part of REACHES on; in deep networks, of
HEARD times an equal part. The threshold of the accuracy law is lower."""

MOSTLY = 0.5
"""From this part on, what the head reads is mostly the stem."""

_FASTER = 1.01  # from this quotient on, one thing grows faster than another


def limit_of_forecast(found: "Forecast") -> str:
    """Describe what keeps blocks from being used."""
    shares, parts = found.shares, found.parts
    blocks, steps = len(shares), found.scheme.steps - 1
    if not any(found.scheme.betas):
        return f"beta is 0: {(shares == 0).sum()} of {blocks} blocks add nothing to the state."
    reached = parts >= min(REACHES, HEARD / blocks)
    lives = np.ones(blocks, dtype=np.bool_) if found.survivors is None else found.survivors
    if (~lives & reached).any():
        return f"{(~lives).sum()} of {blocks} blocks start too small to survive training."
    counting = int(reached.sum())
    if counting >= MUCH * blocks and found.stem_part > MOSTLY:
        return (
            f"{counting} of {blocks} blocks reach the head, but {100 * found.stem_part:.0f} % of what it reads is the "
            "stem: beta is small against the state."
        )
    if counting >= MUCH * blocks:
        return f"{counting} of {blocks} blocks reach the head; nothing in the coefficients limits them."
    early, late = shares[steps : steps + 3], shares[-3:]
    growth = largest_root(found.scheme)
    if (said := _limit_of_betas(growth, abs(float(found.beta_growth)))) is not None:
        return said
    if growth > _FASTER:
        return f"The state grows {growth:.3g}-fold per block, so that later blocks add little to it."
    if late.mean() > 2 * LITTLE and parts[: blocks // 2].sum() < LITTLE:
        return f"Early blocks are forgotten: the largest root of the scheme is {growth:.3g}."
    if early.size and early.mean() < LITTLE:
        return f"beta is small against the state: the first multistep blocks add {100 * early.mean():.2g} % to it."
    if late.mean() > 2 * LITTLE:
        return (
            f"The head does not read every block: {counting} of {blocks} reach it, although the last ones add "
            f"{100 * late.mean():.2g} % each."
        )
    return (
        f"Later blocks add little to a state that has become large: {100 * late.mean():.2g} % each at the end, "
        f"{counting} of {blocks} blocks reach the head."
    )


def _limit_of_betas(state: float, betas: float) -> str | None:
    """Describe what changing betas do to blocks; None if the state grows as they do, or if they are constant."""
    if betas == 1:
        return None
    if betas > _FASTER * max(state, 1.0):
        kept = f", the state without them {state:.3g}-fold" if state > _FASTER else ""
        return f"The betas grow {betas:.3g}-fold per block{kept}, so that early blocks are drowned by later ones."
    if state <= _FASTER * betas:
        return None
    if state > _FASTER:
        return f"The state grows {state:.3g}-fold per block, the betas {betas:.3g}-fold: later blocks add little to it."
    return f"The betas are multiplied by {betas:.3g} from block to block, so that later blocks add little."
