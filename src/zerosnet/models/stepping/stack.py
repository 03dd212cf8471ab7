"""The multistep stack: blocks advanced by the rows of a coefficients module."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import TypeVar, cast

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from zerosnet.models.layers.replicated import BatchNorm, Coefficient, Conv
from zerosnet.models.stepping.block_plan import BlockPlan
from zerosnet.models.stepping.blocks import Block, Fixup
from zerosnet.models.stepping.coefficients import Coefficients
from zerosnet.models.stepping.sums import ONE_STEP, BlockCoefficients, History
from zerosnet.models.structure import Structure
from zerosnet.numerics import EULER, Scheme

T = TypeVar("T")


@dataclass(frozen=True)
class BlockStep:
    """A record of one block: y_{n+1} = sum_i row.alphas[i] states[i] + row.betas[0] slope + older slopes."""

    index: int
    states: tuple[Tensor, ...]
    """y_n, y_{n-1}, ... as they entered the sum, in the shape of y_{n+1}."""
    slope: Tensor
    """f(y_n), not scaled by beta; zeros where f is switched off."""
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
        """Block by block, for diagnosis: the same numbers up to rounding, every term kept as a tensor of its own.

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
        """One block, with f or with zeros in its place: every term of its sum, and what the next block receives.

        Without f nothing is activated but what a projection takes.
        """
        y = history.states[0]
        activated = block.f.activate(y) if block.plan.convolutions or not silent else y
        projected = block.project(history, activated)
        slope = torch.zeros_like(projected.states[0]) if silent else block.slope(activated, projected)
        state = block.combine(projected, slope, row)
        taken = BlockStep(block.plan.index, projected.states, slope, row, state)
        return taken, block.hand_on(history, projected, slope, state)

    def rows(self, like: Tensor) -> list[BlockCoefficients]:
        """The coefficients of every block, start-up blocks included."""
        return self._per_block(self.coefficients(like), ONE_STEP)

    def scaled_convolutions(self, like: Tensor) -> list[tuple[Conv, Coefficient]]:
        """The convolutions that are given a scale, the last ones of f, and their betas."""
        blocks = zip(self.steps, self.rows(like))
        return [(block.f.last, row.betas[0]) for block, row in blocks if not block.plan.keep_slopes]

    def schemes(self) -> list[list[Scheme]]:
        """The scheme of every block, for each replica; none where its coefficients are not finite."""
        replicas = self.coefficients.schemes()
        return [self._per_block(schemes, EULER) if schemes else [] for schemes in replicas]

    def _per_block(self, per_slot: list[T], one_step: T) -> list[T]:
        if self.coefficients.covers_start:
            return per_slot[: len(self.steps)]
        slots = iter(per_slot)
        return [next(slots) if block.plan.multistep else one_step for block in self.steps]


def _once_and_again(block: Block) -> tuple[AbstractContextManager[None], AbstractContextManager[None]]:
    """Contexts of a block's forward pass, and of its repetition, in which batch statistics are not counted again."""
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
