"""What a network is besides its scheme: its input size, its kind of block, and how many blocks each stage has."""

from dataclasses import dataclass
from typing import Any, Protocol

from torch import nn

from zerosnet.errors import InputError


class Stem(Protocol):
    """Builds the module that turns images into the first state y_0."""

    def __call__(self, in_chans: int, channels: int, *, replicas: int) -> nn.Module: ...


@dataclass(frozen=True)
class Size:
    """The traits that all networks for images of one size share."""

    stem: Stem
    stem_channels: int
    stem_stride: int
    """By how much y_0 is smaller than the images."""
    widths: tuple[int, ...]
    """Channels inside f, one number a stage; every stage but the first halves the resolution."""
    activated_projection: bool
    """At a change of shape y_n is projected after f's first BN-ReLU (older states always raw)."""
    raw_opening: bool
    """Where block 0 widens the state, its skip is a BN-ReLU-convolution of its own and the raw y_0 is handed on."""
    final_norm: bool
    """BN-ReLU before the average pool."""
    num_classes: int
    image: tuple[int, int]
    crop: float
    """How much of an image is looked at in a test."""
    mean: tuple[float, float, float]
    std: tuple[float, float, float]


SIZES: dict[str, Size] = {}
"""Filled by `cifar` and `imagenet`."""

EXPANSION = {"basic": 1, "bottleneck": 4}
"""Channels of the state for each channel inside f."""

LAYERS = {"basic": 2, "bottleneck": 3}
"""Convolutions of f."""


@dataclass(frozen=True)
class Structure:
    """A network without scheme and weights, as a value that goes into JSON and comes back."""

    size: str
    block: str
    blocks: tuple[int, ...]

    def __post_init__(self) -> None:
        for argument, table in (("size", SIZES), ("block", EXPANSION)):
            if getattr(self, argument) not in table:
                raise InputError(f"{argument} is {getattr(self, argument)!r}; expected one of {', '.join(table)}")
        stages = len(self.traits.widths)
        if len(self.blocks) != stages or any(not isinstance(n, int) or n < 1 for n in self.blocks):
            raise InputError(f"blocks is {self.blocks!r}; expected {stages} positive integers, one a stage")

    @property
    def traits(self) -> Size:
        return SIZES[self.size]

    @property
    def expansion(self) -> int:
        return EXPANSION[self.block]

    @property
    def features(self) -> int:
        """Channels of the last state."""
        return self.traits.widths[-1] * self.expansion

    @property
    def depth(self) -> int:
        """Layers with weights along f, the stem and the classifier included."""
        return LAYERS[self.block] * sum(self.blocks) + 2

    def to_json(self) -> dict[str, Any]:
        return {"size": self.size, "block": self.block, "blocks": list(self.blocks)}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "Structure":
        return cls(data["size"], data["block"], tuple(data["blocks"]))
