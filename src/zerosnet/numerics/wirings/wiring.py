"""The second value of the project: a wiring, what N blocks make of a scheme."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, Self

import numpy as np

from zerosnet.errors import InputError
from zerosnet.numerics.rationals import Number, number
from zerosnet.numerics.scheme import Scheme
from zerosnet.numerics.wirings import gains, gauge, measures, sources
from zerosnet.numerics.wirings.companion import (
    ONE_STEP,
    companion_steps,
    grown,
    one_step_blocks,
    scheme_of_step,
    scheme_per_block,
)
from zerosnet.numerics.wirings.measures import TAU
from zerosnet.numerics.wirings.stages import (
    BLOCKS,
    Projection,
    Stage,
    block_counts,
    find_stage_change,
    parameters_by_stage,
    stages_of,
)
from zerosnet.numerics.wirings.step import Floats, Step, Vector, as_array, entries, matrix, unit, vector

STEM = 0.375
"""Second moment of the stem's output in units of that of f: 27 inputs of variance 1 and weights of
variance 2 / (9 * 16)."""

BOTTLENECK_STEM = 1.0
"""The same for networks of bottlenecks, whose first skip is normalised."""


@dataclass(frozen=True, repr=False)
class Wiring:
    """A residual network seen from outside: which streams every block keeps, writes and reads.

        X_0 = start * stem,   X_{n+1} = A_n X_n + b_n f_n(c_n^T X_n),   output = head(read^T X_N)

    steps: (A_n, b_n, c_n) of every block. stages: which blocks belong together, and how the streams are projected
    between them. alphas, betas: for the wiring of schemes, how many states and slopes are streams; 0 for others.

    Examples:
        >>> wiring = Wiring.of(Scheme.parse("zerosnet(-9/5)"), blocks=(9, 9, 9))
        >>> len(wiring.steps), [stage.projection for stage in wiring.stages]
        (27, ['none', 'each', 'each'])
        >>> wiring.shares()[:3].round(3).tolist()
        [0.853, 0.649, 0.844]
    """

    steps: tuple[Step, ...]
    read: Vector
    start: Vector
    stages: tuple[Stage, ...]
    alphas: int = 0
    betas: int = 0

    def __post_init__(self) -> None:
        if sum(self.counts) != len(self.steps):
            raise InputError(f"stages have {sum(self.counts)} blocks; expected {len(self.steps)}, one per step")
        sizes = [len(self.start), *(len(step.b) for step in self.steps)]
        reads = [*(len(step.c) for step in self.steps), len(self.read)]
        for n, (size, wanted) in enumerate(zip(sizes, reads)):
            if size != wanted:
                raise InputError(f"{size} streams enter step {n}; expected {wanted}, as many as it reads")

    def __repr__(self) -> str:
        streams = max(len(step.b) for step in self.steps)
        return f"Wiring({'+'.join(map(str, self.counts))} blocks, streams: {streams}, exact: {self.is_exact})"

    # -- constructors -------------------------------------------------------------------------------------------------

    @classmethod
    def of(
        cls,
        scheme: Scheme | str,
        blocks: Any = BLOCKS,
        stage_change: str = "project-each",
        beta_growth: Any = 1,
    ) -> Self:
        """The wiring of a scheme, with start-up and stage changes as the networks have them.

        beta_growth: R; the betas of the n-th block after start-up are multiplied by R^n, n from 0.
        """
        scheme = Scheme.of(scheme)
        counts, growth = block_counts(blocks), number(beta_growth, "beta_growth")
        start_up = one_step_blocks(scheme.steps, counts, stage_change)
        schemes, factor = list[Scheme](), 1 + 0 * growth
        for first in start_up:
            schemes.append(ONE_STEP if first else scheme if factor == 1 else grown(scheme, factor))
            factor = factor if first else factor * growth
        return cls._of_schemes(schemes, len(scheme.alphas), len(scheme.betas), counts, stage_change)

    @classmethod
    def per_block(cls, schemes: Iterable[Any], blocks: Any = BLOCKS, stage_change: str = "project-each") -> Self:
        """One scheme per block after start-up, or one per block, those of start-up included."""
        given, counts = [Scheme.of(one) for one in entries(schemes, "schemes")], block_counts(blocks)
        if not given:
            raise InputError("schemes is empty; expected one scheme per block")
        alphas, betas = max(len(s.alphas) for s in given), max(len(s.betas) for s in given)
        each = scheme_per_block(given, max(alphas, betas), counts, stage_change)
        return cls._of_schemes(each, alphas, betas, counts, stage_change)

    @classmethod
    def of_gains(
        cls, keep: Iterable[Any], add: Iterable[Any], blocks: Any = None, projection: Projection = "none"
    ) -> Self:
        """One stream: y_{n+1} = keep_n y_n + add_n f_n(y_n), as with residual gains, ReZero or SkipInit."""
        kept, added = entries(keep, "keep"), entries(add, "add")
        if len(kept) != len(added) or not kept:
            raise InputError(f"keep has {len(kept)} entries and add {len(added)}; expected as many, and one at least")
        ones = [[1]] * (len(kept) + 1)
        return cls.of_matrices([[[a]] for a in kept], [[b] for b in added], ones[1:], ones[0], [1], blocks, projection)

    @classmethod
    def of_matrices(
        cls,
        A: Iterable[Any],
        b: Iterable[Any],
        c: Iterable[Any],
        read: Any,
        start: Any = None,
        blocks: Any = None,
        projection: Projection = "none",
    ) -> Self:
        """Any wiring from its matrices and vectors, one of each per block; `start` is 1 for every stream by default."""
        A, b, c = entries(A, "A"), entries(b, "b"), entries(c, "c")
        if not len(A) == len(b) == len(c) or not A:
            sizes = f"{len(A)}, {len(b)} and {len(c)}"
            raise InputError(f"A, b and c have {sizes} entries; expected as many, one per block")
        steps = tuple(
            Step(matrix(A[n], f"A[{n}]"), vector(b[n], f"b[{n}]"), vector(c[n], f"c[{n}]")) for n in range(len(A))
        )
        first = vector([1] * len(steps[0].c) if start is None else start, "start")
        return cls(steps, vector(read, "read"), first, stages_of(len(steps) if blocks is None else blocks, projection))

    @classmethod
    def _of_schemes(
        cls, schemes: Sequence[Scheme], alphas: int, betas: int, counts: tuple[int, ...], stage_change: str
    ) -> Self:
        steps = companion_steps(schemes, alphas, betas, counts, stage_change)
        stages = stages_of(counts, find_stage_change(stage_change).projection)
        first = unit(alphas + betas - 1)
        return cls(steps, first, first, stages, alphas, betas)

    # -- parts --------------------------------------------------------------------------------------------------------

    @property
    def counts(self) -> tuple[int, ...]:
        """Blocks of every stage."""
        return tuple(stage.blocks for stage in self.stages)

    @property
    def is_exact(self) -> bool:
        return all(step.is_exact for step in self.steps)

    @cached_property
    def arrays(self) -> tuple[list[Floats], list[Floats], list[Floats]]:
        """All A_n, all b_n, and all c_n followed by the read-out, in floats."""
        return (
            [as_array(step.A) for step in self.steps],
            [as_array(step.b) for step in self.steps],
            [as_array(c) for c in (*(step.c for step in self.steps), self.read)],
        )

    @cached_property
    def _contributions(self) -> dict[float, Floats]:
        """What was computed, by the second moment of the stem."""
        return {}

    @cached_property
    def products(self) -> list[tuple[Floats, int]]:
        """1, A_0, A_1 A_0, ...: each as a matrix with entries of about 1 and a power of two."""
        return gains.products(self.arrays[0], len(self.start))

    @cached_property
    def start_array(self) -> Floats:
        return as_array(self.start)

    def schemes(self) -> tuple[Scheme, ...]:
        """The scheme of every block, those of start-up included; an error for a wiring that is not one of schemes."""
        if not self.alphas:
            raise InputError("the wiring is not one of schemes; expected one made by Wiring.of or Wiring.per_block")
        return tuple(scheme_of_step(step, self.alphas, self.betas) for step in self.steps)

    # -- shares and contributions -------------------------------------------------------------------------------------

    def contributions(self, stem: float = STEM) -> Floats:
        """Weight of the stem, f_0, ..., f_{N-1} in what block n reads (rows 0..N-1), and the head (row N).

        Rows have unit length. Every f_n has second moment 1, the stem has `stem`, and all are uncorrelated, as at
        initialisation.
        """
        known, size = self._contributions, _positive(stem, "stem")
        if size not in known:
            known[size] = sources.contributions(self, size)
        return known[size].copy()

    def shares(self, stem: float = STEM) -> Floats:
        """Share of every block, s_n = rms of its contribution to what is read next, relative to the rms of that.

        This is |W[n+1, n]| / ||W[n+1, :]||, for one stream rms(b_n f_n) / rms(y_{n+1}). W is of the streams as block
        n+1 reads them, before a stage change projects them; independent projections before that leave the parts of a
        source in different streams uncorrelated, so their squares add.
        """
        return self.contributions(stem)[1:, 1:].diagonal().copy()

    def head_parts(self, stem: float = STEM) -> Floats:
        """Part v_n of the second moment of what the head reads that comes from every block; the rest is the stem's."""
        return np.asarray(np.square(self.contributions(stem)[-1, 1:]))

    def stem_shares(self, stem: float = STEM) -> Floats:
        """Weight of the stem in what every block and the head read."""
        return self.contributions(stem)[:, 0].copy()

    # -- how much of the depth is used ---------------------------------------------------------------------------------

    def effective_depth(self, tau: float = TAU, stem: float = STEM) -> float:
        """sum_n s_n / (s_n + tau), between 0 and the number of blocks."""
        return float(measures.effective_depth(self.shares(stem), _positive(tau, "tau")))

    def effective_parameters(
        self, per_block: Sequence[float] | None = None, tau: float | None = None, stem: float = STEM
    ) -> float:
        """sum_n p_n max(0, 1 - sqrt(tau / v_n)) over the blocks that survive training.

        v_n is the part of what the head reads that comes from block n, p_n its parameters: `per_block`, or 4^stage, how
        they grow from stage to stage. tau is that of the accuracy law by default; the error of that law is a power of
        this number, plus a floor.
        """
        from zerosnet.numerics.wirings.law import load_law
        from zerosnet.numerics.wirings.survival import living_parts

        weights = as_array(parameters_by_stage(self.counts) if per_block is None else vector(per_block, "per_block"))
        if len(weights) != len(self.steps):
            raise InputError(f"per_block has {len(weights)} entries; expected {len(self.steps)}, one per block")
        _positive(float(weights.min()), "the least of per_block")
        law = load_law()
        parts = living_parts(self.shares(stem), self.head_parts(stem), weights, law.survival.least)
        return float(measures.effective_parameters(parts, weights, law.tau if tau is None else _positive(tau, "tau")))

    def blocks_above(self, least: float = 0.1, stem: float = STEM) -> int:
        """How many blocks have at least this share."""
        return int(measures.blocks_above(self.shares(stem), float(number(least, "least"))))

    def number_of_sources(self, stem: float = STEM) -> float:
        """exp(entropy) of the contributions to the head: how many sources it reads, between 1 and N + 1."""
        return float(measures.number_of_sources(self.contributions(stem)[-1]))

    # -- gains and gauge ----------------------------------------------------------------------------------------------

    def gains(self) -> gains.Gains:
        """Gain forward and backward to every depth, as decimal logarithms."""
        return gains.gains(self)

    def second_singular_values(self, first: int | None = None) -> Floats:
        """Second singular value of the products from block `first` on, relative to the first: do streams become alike?

        By default from the first block after start-up, when all streams exist.
        """
        begin = max(self.alphas, self.betas, 1) - 1 if first is None else first
        return gains.second_singular_values(self, min(begin, len(self.steps)))

    def regauge(self, c: Iterable[Any]) -> Self:
        """The same network in the gauge z_n = c_n y_n, n = 0..N, for positive numbers c_n.

        The wiring of a scheme becomes one of a scheme per block, with alpha_i c_{n+1} / c_{n-i} and beta_j c_{n+1}.
        """
        scale = gauge.scales(c, len(self.steps))
        companion = gauge.regauge_companion(self.steps, scale, self.alphas) if self.alphas else None
        steps = gauge.regauge_streams(self.steps, scale) if companion is None else companion
        return replace(self, steps=tuple(steps), start=tuple(scale[0] * x for x in self.start))

    def canonical(self) -> tuple[dict[gauge.Path, float], ...]:
        """The rows of W at unit length, which no change of gauge changes: one per block and one for the head."""
        return gauge.canonical(self)


@lru_cache(maxsize=4)
def wiring_of(scheme: Scheme, blocks: tuple[int, ...], stage_change: str) -> Wiring:
    """`Wiring.of`, cached: if the same network is asked for again, what was computed for it is still there.

    Nothing has a default, so that equal calls are one entry. Few are kept: a wiring holds thousands of exact numbers.
    """
    return Wiring.of(scheme, blocks, stage_change)


def _positive(value: Any, name: str) -> float:
    read: Number = number(value, name)
    if read <= 0:
        raise InputError(f"{name} is {value!r}; expected a positive number")
    return float(read)
