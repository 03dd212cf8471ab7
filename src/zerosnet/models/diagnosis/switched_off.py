"""Networks with f switched off: from block n on, or in block n alone, for every n."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import torch
from torch import Tensor, nn

from zerosnet.models.layers.replicated import BatchNorm
from zerosnet.models.network import Network
from zerosnet.models.stepping.history import History
from zerosnet.models.stepping.stack import BlockStep


class Tail(NamedTuple):
    """The logits with f off from block n on, and the step of block n in the whole network.

    Attributes:
        logits: (B, classes), of a fused network (B, K, classes).
        step: None after the last block, where the logits are those of the whole network.
    """

    logits: Tensor
    step: BlockStep | None


@torch.no_grad()
def tails(network: Network, images: Tensor, *, reestimate: bool = False) -> Iterator[Tail]:
    """Yield one tail per block, then the whole network, as the network is: its mode, its types, all its replicas.

    Every tail starts where the whole network is at block n, so that it costs no convolution but projections.

    With `reestimate`, batch norms behind block n (the head's and those of projections) take mean and variance from
    these images. Those before it read what they always read, so they stay as they are.
    """
    stack = network.stack
    history = stack.begin(network.first_state(images))
    blocks, rows = stack.steps, stack.step_rows(history.states[0])
    for n, (block, row) in enumerate(zip(blocks, rows)):
        with _statistics_of_batch(network, n if reestimate else None):
            tail = history
            for later, its_row in zip(blocks[n:], rows[n:]):
                _, tail = stack.step(later, tail, its_row, silent=True)
            logits = network.logits(stack.read(tail))
        step, history = stack.step(block, history, row)
        yield Tail(logits, step)
    with _statistics_of_batch(network, len(blocks) if reestimate else None):
        logits = network.logits(stack.read(history))
    yield Tail(logits, None)


@torch.no_grad()
def logits_without_each(network: Network, images: Tensor) -> Iterator[Tensor]:
    """Compute the logits with f off in block n alone, for every n; the blocks before it are computed once."""
    stack, history = network.stack, History((network.first_state(images),))
    blocks, rows = stack.steps, stack.rows(history.states[0])
    for n, (block, row) in enumerate(zip(blocks, rows)):
        _, rest = stack.step(block, history, row, silent=True)
        for later, its_row in zip(blocks[n + 1 :], rows[n + 1 :]):
            rest = stack.advancing(later)(rest, its_row)
        yield network.logits(rest.states[0])
        _, history = stack.step(block, history, row)


@contextmanager
def _statistics_of_batch(network: Network, first: int | None) -> Iterator[None]:
    """Let batch norms from block `first` on use the batch, their running statistics kept; None changes nothing."""
    parts: list[nn.Module] = [] if first is None else [*network.stack.blocks[first:]]
    if first is not None and network.bn is not None:
        parts.append(network.bn)
    norms = [module for part in parts for module in part.modules() if isinstance(module, BatchNorm)]
    before = [(norm.training, norm.momentum) for norm in norms]
    for norm in norms:
        norm.training = True
        norm.momentum = 0.0
    try:
        yield
    finally:
        for norm, (training, momentum) in zip(norms, before):
            norm.training = training
            norm.momentum = momentum
