"""The structure of a network without its scheme: input size, kind of block, and number of blocks per stage."""

from dataclasses import dataclass
from typing import Any, Protocol

from torch import Tensor, nn, relu_
from torch.nn import functional

from zerosnet.errors import InputError
from zerosnet.models.layers.replicated import BatchNorm, Conv
from zerosnet.models.names import BASIC_DEPTHS, BOTTLENECK_DEPTHS


class Stem(Protocol):
    """Builds the module that turns images into the first state y_0."""

    def __call__(self, in_chans: int, channels: int, *, replicas: int) -> nn.Module: ...


@dataclass(frozen=True)
class Size:
    """The traits that all networks for images of one size share."""

    stem: Stem
    stem_channels: int
    stem_stride: int
    """The factor by which y_0 is smaller than the images."""
    widths: tuple[int, ...]
    """Channels inside f, one number per stage; every stage but the first halves the resolution."""
    activated_projection: bool
    """At a change of shape y_n is projected after f's first BN-ReLU (older states always raw)."""
    raw_opening: bool
    """If block 0 widens the state, its skip is a BN-ReLU-convolution of its own and the raw y_0 is handed on."""
    final_norm: bool
    """BN-ReLU before the average pool."""
    num_classes: int
    image: tuple[int, int]
    crop: float
    """The fraction of an image that a test looks at."""
    mean: tuple[float, float, float]
    std: tuple[float, float, float]


class CifarStem(nn.Module):
    """One 3x3 convolution, without batch norm."""

    def __init__(self, in_chans: int, channels: int, *, replicas: int) -> None:
        super().__init__()
        self.conv = Conv(in_chans, channels, 3, replicas=replicas)

    def forward(self, images: Tensor) -> Tensor:
        return self.conv(images)


class ImageNetStem(nn.Module):
    """7x7 convolution, BN, ReLU and a 3x3 max pool, with stride 2 each."""

    def __init__(self, in_chans: int, channels: int, *, replicas: int) -> None:
        super().__init__()
        self.conv = Conv(in_chans, channels, 7, stride=2, replicas=replicas)
        self.bn = BatchNorm(channels, replicas=replicas)

    def forward(self, images: Tensor) -> Tensor:
        return functional.max_pool2d(relu_(self.bn(self.conv(images))), 3, stride=2, padding=1)


CIFAR = Size(
    stem=CifarStem,
    stem_channels=16,
    stem_stride=1,
    widths=(16, 32, 64),
    activated_projection=False,
    raw_opening=True,
    final_norm=True,
    num_classes=10,
    image=(32, 32),
    crop=1.0,
    mean=(0.4914, 0.4822, 0.4465),
    std=(0.2470, 0.2435, 0.2616),
)
"""3x3 stem, stages of 16, 32, 64 channels, BN-ReLU before the pool."""

IMAGENET = Size(
    stem=ImageNetStem,
    stem_channels=64,
    stem_stride=4,
    widths=(64, 128, 256, 512),
    activated_projection=True,
    raw_opening=False,
    final_norm=False,
    num_classes=1000,
    image=(224, 224),
    crop=0.875,
    mean=(0.485, 0.456, 0.406),
    std=(0.229, 0.224, 0.225),
)
"""7x7 stem with max pool, stages of 64 to 512 channels, no BN-ReLU before the pool."""

SIZES: dict[str, Size] = {"cifar": CIFAR, "imagenet": IMAGENET}

EXPANSION = {"basic": 1, "bottleneck": 4, "fixup": 1}
"""Channels of the state for each channel inside f; "fixup" is "basic" without normalisation, at CIFAR size only."""

LAYERS = {"basic": 2, "bottleneck": 3, "fixup": 2}
"""Convolutions of f."""


@dataclass(frozen=True)
class Structure:
    """A network without scheme and weights, as a value that goes into JSON and comes back."""

    size: str
    block: str
    blocks: tuple[int, ...]

    def __post_init__(self) -> None:
        for argument, table in (("size", SIZES), ("block", EXPANSION)):
            if not isinstance(getattr(self, argument), str) or getattr(self, argument) not in table:
                raise InputError(f"{argument} is {getattr(self, argument)!r}; expected one of {', '.join(table)}")
        if not self.normalised and self.size != "cifar":
            raise InputError(f"block is {self.block!r} with size {self.size!r}; expected size 'cifar'")
        stages = len(self.traits.widths)
        if len(self.blocks) != stages or any(type(n) is not int or n < 1 for n in self.blocks):
            raise InputError(f"blocks is {self.blocks!r}; expected {stages} positive integers, one per stage")

    @property
    def traits(self) -> Size:
        return SIZES[self.size]

    @property
    def normalised(self) -> bool:
        """The branches and the head begin with a batch norm; otherwise nothing is normalised."""
        return self.block != "fixup"

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
    def from_json(cls, data: Any) -> "Structure":
        if (
            not isinstance(data, dict)
            or set(data) != {"size", "block", "blocks"}
            or not isinstance(data["blocks"], list)
        ):
            raise InputError("expected an object with size, block and a list of blocks")
        return cls(data["size"], data["block"], tuple(data["blocks"]))


def cifar(depth: int, block: str = "basic") -> Structure:
    """Make the structure with `depth` layers: 6n + 2 with basic blocks, 9n + 2 with bottlenecks, n blocks per stage."""
    period = 3 * LAYERS[block]
    n, rest = divmod(depth - 2, period)
    if rest or n < 1:
        raise InputError(f"depth is {depth}; expected {period}n + 2 layers with {block} blocks")
    return Structure("cifar", block, (n, n, n))


CIFAR_STRUCTURES: dict[int, Structure] = {
    **{depth: cifar(depth) for depth in BASIC_DEPTHS},
    **{depth: cifar(depth, "bottleneck") for depth in BOTTLENECK_DEPTHS},
}

FIXUP_STRUCTURES: dict[int, Structure] = {depth: cifar(depth, "fixup") for depth in BASIC_DEPTHS}

IMAGENET_STRUCTURES: dict[int, Structure] = {
    18: Structure("imagenet", "basic", (2, 2, 2, 2)),
    34: Structure("imagenet", "basic", (3, 4, 6, 3)),
    50: Structure("imagenet", "bottleneck", (3, 4, 6, 3)),
    101: Structure("imagenet", "bottleneck", (3, 4, 23, 3)),
    152: Structure("imagenet", "bottleneck", (3, 8, 36, 3)),
}

STRUCTURES: dict[int, Structure] = {**CIFAR_STRUCTURES, **IMAGENET_STRUCTURES}
"""All structures that have a name, by their depth."""
