"""The multistep stack: blocks, advanced by the rows of a module of coefficients, which are fixed or trained."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar, cast

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from zerosnet.models.layers.replicated import BatchNorm, Coefficient, Conv, one_by_one, rows
from zerosnet.models.stepping.blocks import Block, Fixup
from zerosnet.models.stepping.history import ONE_STEP, BlockCoefficients, BlockPlan, History
from zerosnet.models.stepping.laws import Law
from zerosnet.models.structure import Structure
from zerosnet.numerics import EULER, Scheme


class Coefficients(nn.Module, ABC):
    """One row of coefficients for each multistep block (a "slot"), or for each block if `covers_start`."""

    slots: int
    replicas: int
    alphas: int
    betas: int
    covers_start = False
    """Start-up blocks have rows of their own; otherwise they are one-step, y_{n+1} = y_n + f_n."""

    @abstractmethod
    def forward(self, like: Tensor) -> list[BlockCoefficients]:
        """Make the rows of all slots, on the device and in the type of `like`."""

    @abstractmethod
    def schemes(self) -> list[list[Scheme]]:
        """List the schemes in use now, one per slot for each replica; none for a replica that is not finite."""


class FixedCoefficients(Coefficients):
    """Fixed schemes, per replica one for each slot; all have as many alphas and as many betas."""

    table: Tensor | None
    """(rows, alphas + betas, K) if the replicas differ: on the device, so that nothing is copied in a step."""

    def __init__(self, schemes: Sequence[Sequence[Scheme]], plans: Sequence[BlockPlan]) -> None:
        super().__init__()
        first = schemes[0][0]
        self.slots, self.replicas = len(schemes[0]), len(schemes)
        self.alphas, self.betas = len(first.alphas), len(first.betas)
        self._schemes = [list(own) for own in schemes]
        self.covers_start = self.slots == len(plans)
        slots = [plan for plan in plans if plan.multistep or self.covers_start]
        numbers: dict[Scheme, tuple[float, ...]] = {}
        for own in schemes:
            for scheme in own:
                if scheme not in numbers:
                    numbers[scheme] = tuple(float(c) for c in (*scheme.alphas, *scheme.betas))
        rows = [
            (tuple(zip(*map(numbers.__getitem__, slot))), plan.multistep) for slot, plan in zip(zip(*schemes), slots)
        ]
        distinct = {row: place for place, row in enumerate(dict.fromkeys(rows))}
        self._places = [distinct[row] for row in rows]
        self._numbers = [row for row, _ in distinct]
        self._lengths = [self._length(*row) for row in distinct]
        differ = any(len(set(number)) > 1 for row in self._numbers for number in row)
        table = torch.tensor(self._numbers, dtype=torch.float64) if differ else None
        self.register_buffer("table", table, persistent=False)

    def _length(self, row: tuple[tuple[float, ...], ...], multistep: bool) -> tuple[int, int]:
        """Count the alphas and betas of a row: all of them, in start-up up to the last one that is not 0."""
        if multistep:
            return self.alphas, self.betas
        used = [any(number) for number in row]
        return _up_to_last(used[: self.alphas]), _up_to_last(used[self.alphas :])

    def forward(self, like: Tensor) -> list[BlockCoefficients]:
        terms: Sequence[Sequence[Coefficient]]
        if self.table is None:
            terms = [[number[0] for number in row] for row in self._numbers]
        elif one_by_one(like):
            terms = self._numbers
        else:
            terms = [row.unbind() for row in self.table.to(like.dtype).unbind()]
        rows = [
            BlockCoefficients(tuple(row[:alphas]), tuple(row[self.alphas : self.alphas + betas]))
            for row, (alphas, betas) in zip(terms, self._lengths)
        ]
        return [rows[place] for place in self._places]

    def schemes(self) -> list[list[Scheme]]:
        return [list(own) for own in self._schemes]

    def extra_repr(self) -> str:
        return ", ".join(map(str, dict.fromkeys(scheme for own in self._schemes for scheme in own)))


def _up_to_last(used: list[bool]) -> int:
    """Count the entries up to the last one in use, at least one."""
    return max((place + 1 for place, one in enumerate(used) if one), default=1)


class TrainedCoefficients(Coefficients):
    """Numbers `values` (K * blocks, size), trained, and the law that turns them into coefficients, in float64."""

    def __init__(
        self, law: Law, slots: int, *, shared: bool = False, starts: Sequence[Scheme] = (), replicas: int = 1
    ) -> None:
        super().__init__()
        self.law, self.slots, self.replicas, self.shared = law, slots, replicas, shared
        self.alphas, self.betas = law.steps, 1
        self._starts = [law.values(scheme) for scheme in starts]
        self.blocks = 1 if shared else slots
        self.values = nn.Parameter(torch.empty(replicas * self.blocks, law.size))

    def reset_replica(self, replica: int, generator: torch.Generator) -> None:
        with torch.no_grad():
            start = torch.tensor(self._starts[replica]) if self._starts else self.law.draw(self.blocks, generator)
            rows(self.values, self.replicas)[replica] = start.to(self.values)

    def forward(self, like: Tensor) -> list[BlockCoefficients]:
        base = self.law.base(rows(self.values, self.replicas).double().transpose(0, 1))  # (blocks, K, ...)
        alphas = self.law.alphas(base).to(like.dtype).transpose(1, 2)  # (blocks, steps, K)
        beta = self.law.beta(base)
        betas: Sequence[Coefficient] = [1.0] * self.blocks if beta is None else beta.to(like.dtype).unbind()
        table = [BlockCoefficients(a.unbind(), (b,)) for a, b in zip(alphas.unbind(), betas)]
        return table * self.slots if self.shared else table

    @torch.no_grad()
    def schemes(self) -> list[list[Scheme]]:
        """List the schemes in float64, from a base on a grid: consistent alphas add up to 1 to the last bit."""
        base = _gridded(self.law.base(rows(self.values, self.replicas).double().cpu()))  # (K, blocks, ...)
        beta = self.law.beta(base)
        betas = torch.ones(base.shape[:2], dtype=base.dtype) if beta is None else beta
        numbers = torch.cat((self.law.alphas(base), betas[..., None]), -1)  # (K, blocks, steps + 1)
        table = [[Scheme(block[:-1], block[-1:]) for block in own.tolist() if own.isfinite().all()] for own in numbers]
        return [schemes * self.slots if self.shared else schemes for schemes in table]

    def extra_repr(self) -> str:
        return f"{self.law}, blocks={self.blocks}, replicas={self.replicas}"


def _gridded(base: Tensor) -> Tensor:
    """Multiples of 2^-46, of more if a block's base exceeds 16, so that sums of a few of them are exact."""
    excess = (torch.frexp(base.abs().amax(-1, keepdim=True)).exponent - 4).clamp(min=0)
    step = torch.ldexp(torch.ones_like(base), excess - 46)
    return torch.round(base / step) * step


T = TypeVar("T")


@dataclass(frozen=True)
class BlockStep:
    """A record of one block: y_{n+1} = sum_i row.alphas[i] states[i] + row.betas[0] slope + older slopes."""

    index: int
    states: tuple[Tensor, ...]
    """y_n, y_{n-1}, ... as they entered the sum, in the shape of y_{n+1}."""
    slope: Tensor
    """f(y_n), not scaled by beta; zeros if f is switched off."""
    row: BlockCoefficients
    state: Tensor
    """y_{n+1}."""


class Stack(nn.Module):
    """y_0 -> y_N, one block a step."""

    def __init__(
        self, structure: Structure, plans: tuple[BlockPlan, ...], coefficients: Coefficients, *, replicas: int
    ) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(
            Block(plan, structure.block, activated_projection=structure.traits.activated_projection, replicas=replicas)
            for plan in plans
        )
        for block in self.steps:
            if isinstance(block.f, Fixup):
                block.f.set_depth(len(plans))
        self.coefficients = coefficients
        self.checkpointing = False

    @property
    def steps(self) -> Sequence[Block]:
        return cast(Sequence[Block], self.blocks)

    def forward(self, y: Tensor) -> Tensor:
        history = History((y,))
        for block, row in zip(self.steps, self.rows(y)):
            history = self.advancing(block)(history, row)
        return history.states[0]

    def advancing(self, block: Block) -> Callable[[History, BlockCoefficients], History]:
        """Return the block itself; with checkpointing, a function that computes its inner values again backwards.

        A compiler decides by itself what to keep: there it is off.
        """
        if not self.checkpointing or not torch.is_grad_enabled() or torch.compiler.is_compiling():
            return block
        return partial(checkpoint, block, use_reentrant=False, context_fn=partial(_once_and_again, block))

    def walk(self, y: Tensor, *, silent_from: int | None = None) -> Iterator[BlockStep]:
        """Walk block by block, for diagnosis: the same numbers up to rounding, every term kept as a tensor of its own.

        From block `silent_from` on f is switched off: the scheme goes on with f = 0.
        """
        history = History((y,))
        for block, row in zip(self.steps, self.rows(y)):
            silent = silent_from is not None and block.plan.index >= silent_from
            step, history = self.step(block, history, row, silent=silent)
            yield step

    def step(
        self, block: Block, history: History, row: BlockCoefficients, *, silent: bool = False
    ) -> tuple[BlockStep, History]:
        """Compute a block, with f or zeros in its place: every term of its sum, and what the next block receives.

        Without f nothing is activated but what a projection takes.
        """
        y = history.states[0]
        activated = block.f.activate(y) if block.plan.convolutions or not silent else y
        projected = block.project(history, activated)
        slope = torch.zeros_like(projected.states[0]) if silent else block.slope(activated, projected)
        state = block.combine(projected, slope, row)
        taken = BlockStep(block.plan.index, projected.states, slope, row, state)
        return taken, block.hand_on(history, projected, slope, state)

    def begin(self, y: Tensor) -> History:
        """Make the history that the first block receives."""
        return History((y,))

    def read(self, history: History) -> Tensor:
        """Return what the head receives."""
        return history.states[0]

    def step_rows(self, like: Tensor) -> Sequence[Any]:
        """List what `step` takes for every block: rows of coefficients, or matrices of streams."""
        return self.rows(like)

    def rows(self, like: Tensor) -> list[BlockCoefficients]:
        """List the coefficients of every block, start-up blocks included."""
        return self._per_block(self.coefficients(like), ONE_STEP)

    def scaled_convolutions(self, like: Tensor) -> list[tuple[Conv, Coefficient]]:
        """List the convolutions that are given a scale, the last ones of f, with their betas."""
        blocks = zip(self.steps, self.rows(like))
        return [(block.f.last, row.betas[0]) for block, row in blocks if not block.plan.keep_slopes]

    def schemes(self) -> list[list[Scheme]]:
        """List the scheme of every block, per replica; none if its coefficients are not finite."""
        replicas = self.coefficients.schemes()
        return [self._per_block(schemes, EULER) if schemes else [] for schemes in replicas]

    def _per_block(self, per_slot: list[T], one_step: T) -> list[T]:
        if self.coefficients.covers_start:
            return per_slot[: len(self.steps)]
        slots = iter(per_slot)
        return [next(slots) if block.plan.multistep else one_step for block in self.steps]


def _once_and_again(block: Block) -> tuple[AbstractContextManager[None], AbstractContextManager[None]]:
    """Make the contexts of a forward pass, and of its repetition, which does not count batch statistics again."""
    return nullcontext(), _uncounted(block)


@contextmanager
def _uncounted(block: Block) -> Iterator[None]:
    norms = {module: module.momentum for module in block.modules() if isinstance(module, BatchNorm)}
    for norm in norms:
        norm.momentum = 0.0
    try:
        yield
    finally:
        for norm, momentum in norms.items():
            norm.momentum = momentum
