"""The record of a forward pass that the backward pass needs."""

from dataclasses import dataclass, field

from torch import Tensor, nn

from zerosnet.kernels.interface import Kernels, State
from zerosnet.kernels.patches import PointConvolution, StridedConvolution


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
class BlockTape:
    """The record of one block that the backward pass needs."""

    source: Node
    inner: Tensor
    result: Node
    strided: StridedConvolution | None
    projected: list[Projected]


@dataclass(eq=False)
class Tape:
    """A forward pass, and how far its backward pass has come."""

    coefficients: Tensor
    images: Tensor
    blocks: list[BlockTape]
    training: bool
    gradients: dict[int, Tensor] = field(default_factory=dict)  # of blocks' results, while older states need them

    @property
    def last(self) -> Node:
        return self.blocks[-1].result
