"""A network with f switched off from block n on, for every n: what is left where only the first n blocks work."""

from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from zerosnet.models.network import Network
from zerosnet.models.stepping.stack import BlockStep
from zerosnet.models.stepping.sums import History


class Tail(NamedTuple):
    """The logits with f off from block n on, and the step of block n in the whole network.

    logits   (B, classes), of a fused network (B, K, classes)
    step     None after the last block, where the logits are those of the whole network
    """

    logits: Tensor
    step: BlockStep | None


@torch.no_grad()
def tails(network: Network, images: Tensor) -> Iterator[Tail]:
    """One tail a block, and the whole network at the end, as the network is: its mode, its types, all its replicas.

    Every tail starts where the whole network is at block n, so that it costs no convolution but projections.
    """
    stack, history = network.stack, History((network.first_state(images),))
    blocks, rows = stack.steps, stack.rows(history.states[0])
    for n, (block, row) in enumerate(zip(blocks, rows)):
        tail = history
        for later, its_row in zip(blocks[n:], rows[n:]):
            _, tail = stack.step(later, tail, its_row, silent=True)
        step, history = stack.step(block, history, row)
        yield Tail(network.logits(tail.states[0]), step)
    yield Tail(network.logits(history.states[0]), None)
