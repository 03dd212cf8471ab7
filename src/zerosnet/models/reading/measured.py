"""A wiring that was read off a network, with what is known about every number of it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from zerosnet.numerics import Wiring

_MOST_NAMES = 6


@dataclass(frozen=True)
class MeasuredStep:
    """How one block of a network was read.

    Attributes:
        name: The module that is the branch, such as "blocks.3.attn".
        operation: The operation that makes the sum.
        spread: Largest deviation of an entry of A, b or c over images, tokens or channels; 0 for fixed numbers.
        over: What the numbers differ over ("token", "channel", ...), or "" if they do not.
        depends_on_input: The numbers differ over images or tokens: they are computed from the state.
        error: What the sum leaves unexplained, relative to the branch's part of it.
        passes: Operations other than mixing that the state passes through after the block, such as "relu".
        opens: The block opens a stage: A is what is kept of a projection of the state.
    """

    name: str
    operation: str
    spread: float
    over: str
    depends_on_input: bool
    error: float
    passes: tuple[str, ...] = ()
    opens: bool = False


@dataclass(frozen=True)
class Unread:
    """A module that stands beside blocks and ran as they did, but was not read as one, and why."""

    name: str
    reason: str


@dataclass(frozen=True)
class MeasuredWiring(Wiring):
    """The wiring of a network that was measured from outside: a `Wiring`, and how each step of it was read.

    Attributes:
        measured: One entry per block.
        sizes: rms of the branches f_n on the example.
        stem_size: rms of the first state on the example.
        passage_gains: rms of the state as a block takes it, over its rms as the block before left it. It is 1 unless
            something is between them, such as the projection that opens a stage. For a block whose A differs over
            channels, images or tokens, it is times the rms of what is kept over that with the mean of A.
        deviations: For every b_n, the deviation of each entry over channels, images or tokens; b_n is the mean.
        unread: Modules of the same list and class as a block that ran and were not read as blocks; none if blocks were
            named.
    """

    measured: tuple[MeasuredStep, ...] = ()
    sizes: tuple[float, ...] = ()
    stem_size: float = 1.0
    passage_gains: tuple[float, ...] = ()
    deviations: tuple[tuple[float, ...], ...] = ()
    unread: tuple[Unread, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the blocks."""
        return tuple(step.name for step in self.measured)

    @property
    def streams(self) -> int:
        """The largest number of streams that a block reads."""
        return max(len(step.c) for step in self.steps)

    @property
    def depends_on_input(self) -> bool:
        """Check if the mixing of any block is computed from the state."""
        return any(step.depends_on_input for step in self.measured)

    @property
    def note(self) -> str:
        """One line that names what was not read as a block, by reason; "" if nothing is missing."""
        names: dict[str, list[str]] = {}
        for one in self.unread:
            names.setdefault(one.reason, []).append(one.name)
        found = [f"{_listed(of_reason)} ({reason})" for reason, of_reason in names.items()]
        return f"not read: {'; '.join(found)}" if found else ""

    @property
    def spread(self) -> float:
        """The largest deviation of any number over images, tokens or channels."""
        return max(step.spread for step in self.measured)

    def in_units_of_branches(
        self,
        sizes: Sequence[float] | None = None,
        stem_size: float | None = None,
        passage_gains: Sequence[float] | None = None,
    ) -> Wiring:
        """The wiring with every b_n times the rms of f_n, the start times that of the stem, and A_n times a passage.

        An entry of b_n that differs over channels, images or tokens counts with its root mean square.
        Its shares, with stem=1, are those of a network whose branches have these sizes and are uncorrelated. With the
        sizes of the example, that is what they are predicted to be.
        """
        given = self.sizes if sizes is None else tuple(sizes)
        first = self.stem_size if stem_size is None else stem_size
        gains = (self.passage_gains if passage_gains is None else tuple(passage_gains)) or (1.0,) * len(self.steps)
        deviations = self.deviations or tuple((0.0,) * len(step.b) for step in self.steps)
        steps = tuple(
            replace(
                step,
                A=tuple(tuple(float(a) * gain for a in row) for row in step.A),
                b=tuple(
                    math.copysign(math.hypot(b, d), b) * size if d else float(b) * size for b, d in zip(step.b, ds)
                ),
            )
            for step, size, gain, ds in zip(self.steps, given, gains, deviations)
        )
        return Wiring(steps, self.read, tuple(float(x) * first for x in self.start), self.stages)

    def predicted_shares(self) -> list[float]:
        """Predict the share of every block from the numbers of the wiring and the sizes of its branches."""
        return [float(share) for share in self.in_units_of_branches().shares(stem=1.0)]

    def difference(self, other: Wiring) -> float:
        """The largest difference of an entry of A, b, c or the read-out from another wiring; inf if shapes differ."""
        ours = [as_numbers(x) for step in self.steps for x in (step.A, step.b, step.c)] + [as_numbers(self.read)]
        theirs = [as_numbers(x) for step in other.steps for x in (step.A, step.b, step.c)] + [as_numbers(other.read)]
        if [x.shape for x in ours] != [x.shape for x in theirs]:
            return float("inf")
        return max(float(np.abs(x - y).max()) for x, y in zip(ours, theirs))


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMES
    return ", ".join(names[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")


def as_numbers(values: Sequence[object]) -> np.ndarray:
    return np.array(values, dtype=np.float64)
