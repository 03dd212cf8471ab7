"""Networks without weights: the structures that have a name, the names, and the schemes that go with them.

All of it is known without torch: what is wrong with a name is told before that is loaded.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from zerosnet.errors import InputError, did_you_mean
from zerosnet.numerics import EULER, OPTIMUM, Scheme

BASIC_DEPTHS = (20, 32, 44, 56, 110)
BOTTLENECK_DEPTHS = (164, 326, 650, 1298)
IMAGENET_DEPTHS = (18, 34, 50, 101, 152)
_DEPTHS = tuple(sorted(BASIC_DEPTHS + BOTTLENECK_DEPTHS + IMAGENET_DEPTHS))


@dataclass(frozen=True)
class Size:
    """The traits that all networks for images of one size share."""

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


CIFAR = Size(
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


@dataclass(frozen=True)
class NameForm:
    """The networks whose names differ in depth only, and the schemes that they take.

    Attributes:
        depths: What may stand for the depth.
        takes_scheme: Whether a scheme can be given.
        needs_scheme: Whether one must be given.
        steps: The number of steps that it must have; None for any.
        scheme: The fixed scheme if none is given; None if one is needed, or coefficients are trained.
    """

    depths: tuple[int, ...] = _DEPTHS
    takes_scheme: bool = True
    needs_scheme: bool = False
    steps: int | None = None
    scheme: Scheme | None = None


FORMS: Mapping[tuple[str, str], NameForm] = {
    ("preresnet", ""): NameForm(steps=1, scheme=EULER),
    ("lmresnet", ""): NameForm(steps=2),
    ("zerosnet", ""): NameForm(needs_scheme=True),
    ("zerosnet", "_opt"): NameForm(takes_scheme=False, scheme=OPTIMUM),
    ("zerosnet", "_tra"): NameForm(takes_scheme=False),
    ("zerosnet", "_stable"): NameForm(takes_scheme=False),
    ("zerosnet", "_simplex"): NameForm(BASIC_DEPTHS, takes_scheme=False),
    ("preresnet", "_gains"): NameForm(BASIC_DEPTHS, takes_scheme=False),
    ("preresnet", "_scaled"): NameForm(BASIC_DEPTHS, takes_scheme=False),
    ("preresnet", "_x0"): NameForm(BASIC_DEPTHS, takes_scheme=False),
    ("streams", ""): NameForm(BASIC_DEPTHS, takes_scheme=False),
    ("streams", "_sinkhorn"): NameForm(BASIC_DEPTHS, takes_scheme=False),
    ("preresnet", "_nonorm"): NameForm(BASIC_DEPTHS, steps=1, scheme=EULER),
    ("zerosnet", "_nonorm"): NameForm(BASIC_DEPTHS, needs_scheme=True),
}
"""(front, back) of a name; the depth stands between them."""

NAMES: Mapping[str, tuple[NameForm, int]] = {
    f"{front}{depth}{back}": (form, depth) for (front, back), form in FORMS.items() for depth in form.depths
}
"""All names of networks: form and depth of each."""

_OTHER_FRONTS = dict.fromkeys(("resnet", "resnet-", "resnetv2_", "preactresnet", "preact_resnet"), "preresnet")
"""How a name begins elsewhere, and here."""


def find_name(name: str) -> tuple[NameForm, int]:
    """Find form and depth of a network by its name."""
    if not isinstance(name, str) or name not in NAMES:
        nearest = nearest_depth(str(name))
        near = did_you_mean(our_name(str(name)), NAMES) if nearest is None else f" (did you mean {nearest}?)"
        raise InputError(f"unknown model {name!r}{near}; expected {'; or '.join(_forms())}")
    return NAMES[name]


def nearest_depth(name: str) -> str | None:
    """Name the network whose depth is nearest, if a name is wrong in its depth only.

    Examples:
        >>> nearest_depth("zerosnet21"), nearest_depth("zerosnet57_opt"), nearest_depth("zerosnet20_op")
        ('zerosnet20', 'zerosnet56_opt', None)
    """
    parts = re.fullmatch(r"(\D+)(\d{1,9})(.*)", our_name(name))
    form = None if parts is None else FORMS.get((parts[1], parts[3]))
    if parts is None or form is None:
        return None
    depth = int(parts[2])
    return f"{parts[1]}{min(form.depths, key=lambda known: abs(known - depth))}{parts[3]}"


def our_name(name: str) -> str:
    """Write the name of a ResNet as it would be here; other names stay.

    Examples:
        >>> our_name("resnet20"), our_name("zerosnet20_op")
        ('preresnet20', 'zerosnet20_op')
    """
    front = name.rstrip("0123456789")
    return _OTHER_FRONTS.get(front.lower(), front) + name[len(front) :]


def check_model(name: str, scheme: Scheme | None = None, *, block_schemes: bool = False) -> None:
    """Raise an error if there is no network of that name, or none with this scheme.

    Args:
        name: The network's name.
        scheme: The scheme that it is to have; None for its own.
        block_schemes: Whether it is to have a scheme per block instead.
    """
    form, _ = find_name(name)
    given = scheme is not None or block_schemes
    if given and not form.takes_scheme:
        raise InputError(f"{name} takes no scheme; the bare {name.rpartition('_')[0]} does")
    if form.needs_scheme and not given:
        without = f"; {name}_opt needs none" if f"{name}_opt" in NAMES else ""
        raise InputError(f'{name} needs a scheme, such as "zerosnet(-9/5)"{without}')
    if scheme is not None and form.steps not in (None, scheme.steps):
        raise InputError(
            f"scheme is {scheme}, with {scheme.steps} steps; expected {form.steps}, or use the bare zerosnet"
        )


def _forms() -> Iterator[str]:
    """List the forms of names, those with the same depths together."""
    for depths in dict.fromkeys(form.depths for form in FORMS.values()):
        alike = ", ".join(f"{front}N{back}" for (front, back), form in FORMS.items() if form.depths == depths)
        yield f"{alike} with N one of {', '.join(map(str, depths))}"
