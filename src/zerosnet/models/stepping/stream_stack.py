"""The stack of blocks that read, mix and write several streams."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, NoReturn

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from zerosnet.models.layers.replicated import Coefficient, Conv
from zerosnet.models.stepping.blocks import Block
from zerosnet.models.stepping.history import BlockCoefficients, BlockPlan, History, weighted_sum
from zerosnet.models.stepping.stack import BlockStep, Stack, _once_and_again
from zerosnet.models.stepping.stream_sums import add_slope, read_streams, sum_of_terms
from zerosnet.models.stepping.streams import StreamCoefficients, no_scheme
from zerosnet.models.structure import Structure
from zerosnet.numerics import Scheme


class StreamRow(NamedTuple):
    """The matrices of a block, per replica, and what is read after it: c of the next block, or the read-out."""

    A: Tensor
    b: Tensor
    c: Tensor
    following: Tensor


class StreamStack(Stack):
    """y_0 -> the mean of m streams, one block a step, in plain torch."""

    def __init__(
        self, structure: Structure, plans: tuple[BlockPlan, ...], coefficients: StreamCoefficients, *, replicas: int
    ) -> None:
        super().__init__(structure, plans, coefficients, replicas=replicas)
        self.law, self.replicas = coefficients.law, replicas
        self.others = nn.ModuleList(
            nn.ModuleList(
                Conv(
                    shape.channels,
                    plan.target.channels,
                    1,
                    stride=plan.target.stride // shape.stride,
                    replicas=replicas,
                )
                for shape in plan.convolutions.values()
                for _ in range(self.law.streams - 1)
            )
            for plan in plans
        )
        """Projections of all streams but the first, whose projection is the block's own."""

    def forward(self, y: Tensor) -> Tensor:
        """Compute the last state, in training without making the streams between changes of shape (`stream_sums`).

        In evaluation they are made, so that a probe from outside finds them.
        """
        coefficients: Any = self.coefficients
        A, b, c = (part.to(y.dtype) for part in coefficients.matrices())
        if not self.training:
            streams = (y,) * self.law.streams
            for n, block in enumerate(self.steps):
                streams = self._run(block, self._advance, A[n], b[n], c[n], *streams)
            return self.read(History(streams))
        tensors: tuple[Tensor, ...] = (y,)
        weights = y.new_ones(self.replicas, self.law.streams, 1)
        for n, block in enumerate(self.steps):
            slope, *kept = self._run(block, self._slope, c[n], weights, *tensors)
            if block.changes_shape:
                weights = torch.eye(len(kept), dtype=y.dtype, device=y.device).expand(self.replicas, -1, -1)
            weights, tensors = add_slope(weights, A[n], b[n]), (*kept, slope)
        read = zip(self.law.kind.read(self.law.streams), weights.unbind(1))
        last = torch.stack([r * own for r, own in read if r]).sum(0)
        return sum_of_terms(last, tensors, self.replicas)[0]

    def _run(self, block: Block, function: Callable[..., tuple[Tensor, ...]], *tensors: Tensor) -> tuple[Tensor, ...]:
        """Call a function of a block; with checkpointing its inner values are computed again backwards."""
        if not self.checkpointing or not torch.is_grad_enabled() or torch.compiler.is_compiling():
            return function(block, *tensors)
        contexts = partial(_once_and_again, block)
        again: tuple[Tensor, ...] = checkpoint(function, block, *tensors, use_reentrant=False, context_fn=contexts)
        return again

    def begin(self, y: Tensor) -> History:
        return History((y,) * self.law.streams)

    def read(self, history: History) -> Tensor:
        read = self.law.kind.read(self.law.streams)
        used = [(r, stream) for r, stream in zip(read, history.states) if r]
        return weighted_sum([r for r, _ in used], [stream for _, stream in used], self.replicas)

    def step_rows(self, like: Tensor) -> list[StreamRow]:
        coefficients: Any = self.coefficients
        A, b, c = (part.to(like.dtype) for part in coefficients.matrices())
        last = torch.tensor(self.law.kind.read(self.law.streams)).to(c).expand_as(c[:1])
        return [StreamRow(*row) for row in zip(A, b, c, torch.cat((c[1:], last)))]

    def step(self, block: Block, history: History, row: Any, *, silent: bool = False) -> tuple[BlockStep, History]:
        """Compute a block, with f or zeros in its place; the state of the record is what is read next."""
        terms = self._terms(block, history.states, row.c, silent)
        streams = self._mixed(terms, row.A, row.b)
        seen = weighted_sum(row.following.unbind(1), streams, self.replicas)
        weight = (row.following * row.b).sum(1)
        return BlockStep(block.plan.index, terms[:-1], terms[-1], BlockCoefficients((), (weight,)), seen), History(
            streams
        )

    def _advance(self, block: Block, A: Tensor, b: Tensor, c: Tensor, *streams: Tensor) -> tuple[Tensor, ...]:
        """One block; A (K, m, m), b and c (K, m)."""
        return self._mixed(self._terms(block, streams, c), A, b)

    def _slope(self, block: Block, c: Tensor, weights: Tensor, *tensors: Tensor) -> tuple[Tensor, ...]:
        """Compute f of a block, and the tensors to hand on: those given or, at a change of shape, all streams."""
        seen, tensors = read_streams(c, weights, tensors, self.replicas)
        activated = block.f.activate(seen)
        if not block.changes_shape:
            return block.slope(activated, History(tensors)), *tensors
        streams = []
        for own in weights.unbind(1):
            stream, tensors = sum_of_terms(own, tensors, self.replicas)
            streams.append(stream)
        kept, first = self._projected(block, streams, activated)
        return block.slope(activated, first), *kept

    def _terms(self, block: Block, streams: Sequence[Tensor], c: Tensor, silent: bool = False) -> tuple[Tensor, ...]:
        """Compute all streams in the shape of the sum, and f, or zeros in its place."""
        activated = block.f.activate(weighted_sum(c.unbind(1), streams, self.replicas))
        kept, first = self._projected(block, streams, activated)
        return (*kept, torch.zeros_like(kept[0]) if silent else block.slope(activated, first))

    def _projected(
        self, block: Block, streams: Sequence[Tensor], activated: Tensor
    ) -> tuple[tuple[Tensor, ...], History]:
        """Bring all streams to the shape of the sum; return them, and the first one as a block takes it."""
        first = block.project(History((streams[0],)), activated)
        return (*first.states, *(self._project(block, j, streams[j]) for j in range(1, len(streams)))), first

    def _mixed(self, terms: tuple[Tensor, ...], A: Tensor, b: Tensor) -> tuple[Tensor, ...]:
        return tuple(weighted_sum((*A[:, i].unbind(1), b[:, i]), terms, self.replicas) for i in range(len(terms) - 1))

    def _project(self, block: Block, j: int, stream: Tensor) -> Tensor:
        if block.opening is not None:
            return block.opening(stream).to(stream.dtype)
        convolutions = list(self.others[block.plan.index].children())
        return convolutions[j - 1](stream).to(stream.dtype) if convolutions else stream

    def scaled_convolutions(self, like: Tensor) -> list[tuple[Conv, Coefficient]]:
        return [(block.f.last, 1.0) for block in self.steps]

    def schemes(self) -> list[list[Scheme]]:
        return self.coefficients.schemes()

    def rows(self, like: Tensor) -> NoReturn:
        raise no_scheme("rows of coefficients")
