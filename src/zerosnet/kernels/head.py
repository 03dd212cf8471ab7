"""The record of a forward pass, and its head: from the last state to logits and losses, and back to its gradient."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from zerosnet.kernels.interface import Kernels, NormGradient, Slope, State
from zerosnet.kernels.patches import PointConvolution, StridedConvolution
from zerosnet.models import Linear


@dataclass(eq=False)
class Node:
    """A state of the network, the blocks that read it, and its gradient once that is known."""

    state: State
    kernels: Kernels
    users: list[tuple[int, int]] = field(default_factory=list)  # (block, lag): alpha[lag] of that block multiplies it
    through: Tensor | None = None  # the gradient that comes through its projection, at every second pixel
    gradient: Tensor | None = None


@dataclass(eq=False)
class Projected:
    """A state that was brought to a new shape."""

    source: Node
    weight: nn.Parameter
    convolution: PointConvolution
    node: Node


@dataclass(eq=False)
class Opened:
    """A state as the branch f sees it, and f's first convolution of it."""

    y: Tensor
    inner: Tensor
    strided: StridedConvolution | None


@dataclass(eq=False)
class Tape(ABC):
    """The record of a forward pass, as far as the head needs it."""

    coefficients: Tensor
    images: Tensor
    training: bool

    @property
    @abstractmethod
    def last(self) -> Node: ...


@dataclass(eq=False)
class BlockTape:
    """The record of one block that the backward pass needs."""

    source: Node
    opened: Opened
    result: Node
    projected: list[Projected]


@dataclass(eq=False)
class MultistepTape(Tape):
    """A forward pass of multistep blocks, and how far its backward pass has come."""

    blocks: list[BlockTape] = field(default_factory=list)
    gradients: dict[int, Tensor] = field(default_factory=dict)  # of blocks' results, while older states need them

    @property
    def last(self) -> Node:
        return self.blocks[-1].result


class Head:
    """The head of a network.

    Args:
        fc: The classifier.
        norm: The batch norm before the pool.
        gradients: Places for the gradients of the classifier; None: they are not computed.
    """

    def __init__(self, fc: Linear, norm: NormGradient, gradients: tuple[Tensor, Tensor] | None) -> None:
        self.fc, self.norm, self.gradients = fc, norm, gradients
        self.replicas = fc.replicas

    @torch.no_grad()
    def logits(self, tape: Tape) -> Tensor:
        """Compute the logits (K, B, classes), without gradients."""
        return self._classify(self._pool(tape))

    def losses(self, tape: Tape, objective: Callable[[Tensor], Tensor]) -> tuple[Tensor, Tensor]:
        """Compute losses (K,), an objective of the logits (K, B, classes), and those logits.

        The gradient of the sum of losses is left in the last state, for the way back through the blocks.
        """
        parameters = [self.fc.weight, self.fc.bias] if self.gradients is not None else []
        with torch.enable_grad():
            pooled = self._pool(tape).requires_grad_()
            logits = self._classify(pooled)
            losses = objective(logits)
            gradient, *others = torch.autograd.grad(losses.sum(), [pooled, *parameters])
        for place, other in zip(self.gradients or (), others):
            place.copy_(other)
        self._backward(tape, gradient)
        return losses.detach(), logits.detach()

    def from_logits(self, tape: Tape, gradient: Tensor) -> None:
        """Compute the gradient of the last state, and leave it there, from that of the logits (K, B, classes)."""
        matrix = self.fc.weight.detach().unflatten(0, (self.replicas, -1))
        self._backward(tape, torch.bmm(gradient.to(matrix.dtype), matrix))

    def _pool(self, tape: Tape) -> Tensor:
        return tape.last.kernels.pool(tape.last.state.high, self.norm.norm)

    def _classify(self, pooled: Tensor) -> Tensor:
        matrix, bias = (t.unflatten(0, (self.replicas, -1)) for t in (self.fc.weight, self.fc.bias))
        return torch.baddbmm(bias[:, None], pooled, matrix.transpose(1, 2))

    def _backward(self, tape: Tape, gradient: Tensor) -> None:
        last = tape.last
        dy = last.kernels.pool_backward(gradient, last.state.high, self.norm, tape.training)
        last.gradient = last.kernels.norm_backward(Slope(dy, last.state.high, self.norm.table))
