"""What keeps the blocks of a wiring from being used, in one sentence."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from zerosnet.numerics.wirings.forecast_limit import HEARD, LITTLE, MUCH, REACHES
from zerosnet.numerics.wirings.gains import mixing_product
from zerosnet.numerics.wirings.step import Floats
from zerosnet.numerics.wirings.wiring import STEM, Wiring

ALIKE = 0.01
"""Streams are alike where the second singular value of the product is at most this part of the first."""

UNSEEN = 0.01
"""A share below this is as good as none."""

_GROWS = np.log10(2.0)


class Limit(NamedTuple):
    """What limits a wiring: a word for programs, and a sentence for people.

    The kind is "none", "alike", "grows", "forgets", "stem", "silent", "unread", "stages", "apart" or
    "fades".
    """

    kind: str
    sentence: str


def limit_of(wiring: Wiring, stem: float = STEM) -> Limit:
    """Find what keeps blocks from being used.

    Examples:
        >>> limit_of(Wiring.of_gains([1] * 24, [1] * 24)).sentence
        'Nothing in the wiring: 24 of 24 blocks reach the head.'
        >>> limit_of(Wiring.of_gains([2] * 24, [1] * 24)).sentence
        'The state alone grows 10^7-fold over 24 blocks, so that later blocks add little: 3 of 24 reach the head.'
    """
    weights = wiring.contributions(stem)
    shares, parts = weights[1:, 1:].diagonal(), np.square(weights[-1, 1:])
    blocks = len(shares)
    reach = _counting(parts)
    of_all = f"{reach} of {blocks}"
    if not weights[-1].any():
        return Limit("unread", "The head reads nothing: all that was kept and added is lost before it.")
    if not shares.any():
        return Limit("silent", "No block adds anything to what is read next: the head reads the stem.")
    few = max(1, blocks // 9)
    early, late = float(shares[:few].mean()), float(shares[-few:].mean())
    growth = _log10_growth(wiring)
    if reach < MUCH * blocks and growth > _GROWS and late < early:
        what = "The state alone grows" if len(wiring.read) == 1 else "The streams alone grow"
        return Limit("grows", f"{what} {_fold(growth)}-fold over {blocks} blocks, so that later blocks add little: "
                              f"{of_all} reach the head.")  # fmt: skip
    own = float(weights[-1, 0] ** 2)
    if own > 0.5:
        return Limit("stem", f"Branches are small against the state: blocks add {_range(shares)} to it, and "
                             f"{100 * own:.3g} % of what the head reads is the stem.")  # fmt: skip
    if reach >= MUCH * blocks and np.median(shares) < UNSEEN:
        return Limit("apart", "Streams run beside one another: most blocks read nothing of what the one before wrote, "
                              f"although {of_all} blocks reach the head.")  # fmt: skip
    if reach >= MUCH * blocks:
        return _alike(wiring, of_all) or Limit("none", f"Nothing in the wiring: {of_all} blocks reach the head.")
    if len(wiring.read) > 1 and _counting(_without_projections(wiring).head_parts(stem)) >= MUCH * blocks:
        return Limit("stages", "Stage changes cost early blocks their part: every stream has a projection of its own "
                               f"there, and mixing averages what was one signal; {of_all} blocks reach the "
                               "head.")  # fmt: skip
    first_half = float(parts[: blocks // 2].sum())
    if late > 2 * LITTLE and first_half < LITTLE:
        return Limit("forgets", f"Early blocks are forgotten: the first half of them makes {100 * first_half:.2g} % of "
                                f"what the head reads; {of_all} blocks reach it.")  # fmt: skip
    if late > 2 * LITTLE:
        return Limit("unread", f"The head does not read every block: {of_all} reach it, although the last ones add "
                               f"{100 * late:.2g} % each.")  # fmt: skip
    return Limit("fades", f"Later blocks add little to a state that has become large: {100 * late:.2g} % each at the "
                          f"end, {of_all} blocks reach the head.")  # fmt: skip


def heard_from(blocks: int) -> float:
    """The part of what the head reads from which a block of so many reaches it, by the rule of `Forecast.limit`."""
    return min(REACHES, HEARD / blocks)


def _counting(parts: Floats) -> int:
    return int((parts >= heard_from(len(parts))).sum())


def _without_projections(wiring: Wiring) -> Wiring:
    return replace(wiring, stages=tuple(replace(stage, projection="none") for stage in wiring.stages))


def alike_after(wiring: Wiring) -> int | None:
    """Count the blocks after which the streams are alike for good; None if they stay apart, or if there is only one."""
    if len(wiring.read) < 2:
        return None
    apart = np.flatnonzero(wiring.second_singular_values() > ALIKE)
    after = int(apart[-1]) + 1 if len(apart) else 0
    return after if after <= len(wiring.steps) else None


def _alike(wiring: Wiring, of_all: str) -> Limit | None:
    after = alike_after(wiring)
    if after is None or _keeps_a_stream(wiring.arrays[0]):
        return None
    count = "1 block" if after == 1 else f"{after} blocks"
    return Limit("alike", f"The streams become alike: after {count} the second singular value of the mixing is below "
                          f"{100 * ALIKE:g} % of the first, so that {len(wiring.read)} streams carry on what one "
                          f"would; {of_all} blocks reach the head.")  # fmt: skip


def _keeps_a_stream(keep: list[Floats]) -> bool:
    """Check if a stream is only remembered, as the first state is: then the others becoming like it is the aim."""
    rows, columns = keep[0].shape
    return rows == columns and any(all(np.array_equal(a[i], np.eye(rows)[i]) for a in keep) for i in range(rows))


def _log10_growth(wiring: Wiring) -> float:
    """The gain of all blocks together: the largest absolute row sum of the product, as a decimal logarithm."""
    product, scale = mixing_product(wiring)
    return float(np.log10(np.abs(product).sum(axis=1).max()) + scale) if scale > -np.inf else -np.inf


def _range(shares: Floats) -> str:
    """From the smallest to the largest share, in per cent; one number if they look the same."""
    return " to ".join(dict.fromkeys(f"{100 * share:.2g} %" for share in (shares.min(), shares.max())))


def _fold(log10: float) -> str:
    return f"{float(f'{10**log10:.3g}'):,.10g}" if log10 < 5 else f"10^{log10:.0f}"
