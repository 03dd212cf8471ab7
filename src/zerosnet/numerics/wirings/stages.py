"""Stages of a network: how many blocks each has, and what happens to the states between two of them."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Literal

from zerosnet.errors import InputError, did_you_mean

Projection = Literal["none", "each", "shared"]
PROJECTIONS: tuple[Projection, ...] = ("none", "each", "shared")

BLOCKS = (9, 9, 9)
"""Blocks per stage of the network of 56 layers."""


@dataclass(frozen=True)
class StageChange:
    """What becomes of the history where a stage begins."""

    projection: Projection
    keeps_history: bool


STAGE_CHANGES = {
    "project-each": StageChange("each", keeps_history=True),
    "project-shared": StageChange("shared", keeps_history=True),
    "restart": StageChange("each", keeps_history=False),
}
"""By the names that the networks use: every state its own projection, one for all, or only y_n and a new start-up."""


@dataclass(frozen=True)
class Stage:
    """A named run of blocks, and how states are projected before its first block reads the history.

    projection: "none"; "each", independent projections of the streams, which remove their correlation; or "shared",
    one projection for all, which keeps it.
    """

    name: str
    blocks: int
    projection: Projection = "none"


def find_stage_change(name: str) -> StageChange:
    if not isinstance(name, str) or name not in STAGE_CHANGES:
        raise InputError(
            f"stage_change is {name!r}{did_you_mean(name, STAGE_CHANGES)}; expected one of {', '.join(STAGE_CHANGES)}"
        )
    return STAGE_CHANGES[name]


def block_counts(blocks: Any) -> tuple[int, ...]:
    """Read the number of blocks of every stage; one number is one stage."""
    counts = tuple(blocks) if isinstance(blocks, Iterable) and not isinstance(blocks, str) else (blocks,)
    if not counts or any(isinstance(n, bool) or not isinstance(n, int) or n < 1 for n in counts):
        raise InputError(f"blocks is {blocks!r}; expected positive whole numbers, one per stage, such as (9, 9, 9)")
    return counts


def stages_of(blocks: Any, projection: Projection) -> tuple[Stage, ...]:
    """Stages "1", "2", ... with that projection at the beginning of all but the first."""
    if projection not in PROJECTIONS:
        raise InputError(f"projection is {projection!r}; expected one of {', '.join(PROJECTIONS)}")
    counts = block_counts(blocks)
    return tuple(Stage(str(i + 1), n, projection if i else "none") for i, n in enumerate(counts))


def first_blocks(counts: Iterable[int]) -> tuple[int, ...]:
    """Index of the first block of every stage.

    Examples:
        >>> first_blocks((9, 9, 9))
        (0, 9, 18)
    """
    return (0, *accumulate(counts))[:-1]


def ages(counts: tuple[int, ...], keeps_history: bool) -> tuple[int, ...]:
    """How many states there are when each block runs, counted from the last start-up."""
    if keeps_history:
        return tuple(range(1, sum(counts) + 1))
    return tuple(age for n in counts for age in range(1, n + 1))


def parameters_by_stage(counts: Iterable[int]) -> list[float]:
    """Parameters of every block in units of the first stage's: twice the channels, four times the parameters."""
    return [4.0**stage for stage, blocks in enumerate(counts) for _ in range(blocks)]
