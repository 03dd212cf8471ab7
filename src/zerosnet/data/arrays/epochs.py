"""The plan of an epoch: the order of the images, their crops and their flips, as arrays."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from zerosnet.data.randomness import stream
from zerosnet.errors import InputError


@dataclass(frozen=True)
class Augmentation:
    """Random crop after zero padding of `crop` pixels on each side (0: none), and horizontal flip with chance 1/2.

    Data sets that are decoded while they are used have another crop: a box with a part of the image's area between
    the two numbers of `area` and a ratio of width to height between those of `aspect`, resized to a square.
    """

    crop: int = 0
    flip: bool = False
    area: tuple[float, float] | None = None
    aspect: tuple[float, float] = (0.8, 1.25)

    def __post_init__(self) -> None:
        if isinstance(self.crop, bool) or not isinstance(self.crop, int) or not 0 <= self.crop <= 100:
            raise InputError(f"augmentation crop is {self.crop!r}; expected a number of pixels, 0 to 100")
        if not isinstance(self.flip, bool):
            raise InputError(f"augmentation flip is {self.flip!r}; expected true or false")
        for name, least, most in (("area", 0.0, 1.0), ("aspect", 0.0, math.inf)):
            value = getattr(self, name)
            if value is not None or name == "aspect":
                object.__setattr__(self, name, _interval(name, value, least, most))
        if self.area is not None and self.crop:
            raise InputError(f"augmentation has crop {self.crop} and area {list(self.area)}; expected one of them")

    def describe(self) -> str:
        words = [
            f"crop after padding by {self.crop}" if self.crop else "",
            "crop of {} to {} of the area, aspect {} to {}".format(*self.area, *self.aspect) if self.area else "",
            "flip" if self.flip else "",
        ]
        return ", ".join(word for word in words if word) or "no augmentation"

    def to_json(self) -> dict[str, Any]:
        """Write all that distinguishes it; area and aspect only if they are not at their default."""
        record: dict[str, Any] = {"crop": self.crop, "flip": self.flip}
        if self.area is not None:
            record["area"] = list(self.area)
        if self.area is not None or self.aspect != Augmentation.aspect:
            record["aspect"] = list(self.aspect)
        return record


@dataclass(frozen=True, eq=False)
class EpochPlan:
    """The plan of one epoch for one network, or with `stack` for K of them; small tensors on the CPU.

    `order` holds the index of each image in the order of use. `dy` and `dx`, int8 from -crop to crop, shift the crop
    window against the image; None where nothing is cropped. `flip` says which images are mirrored; None where none is.
    For one network the tensors are flat, (steps*batch,); stacked they are (steps, K, batch), so that
    ``plan.order[step]`` is the (K, batch) index that `gather` takes.
    """

    order: Tensor
    dy: Tensor | None
    dx: Tensor | None
    flip: Tensor | None
    steps: int
    batch: int

    def to(self, device: torch.device | str) -> "EpochPlan":
        order, dy, dx, flip = (None if t is None else t.to(device, non_blocking=True) for t in self._tensors())
        assert order is not None
        return EpochPlan(order, dy, dx, flip, self.steps, self.batch)

    def _tensors(self) -> tuple[Tensor | None, ...]:
        return self.order, self.dy, self.dx, self.flip


def epoch_plan(seed: int, epoch: int, n: int, *, batch: int, augmentation: Augmentation) -> EpochPlan:
    """Draw epoch `epoch` (counted from 0) of the network with seed `seed` over `n` images.

    A pure function of its arguments. Every image is used at most once an epoch; the n mod batch images that do not
    fill a batch are dropped, other ones in each epoch, as the order is shuffled anew.
    """
    steps = n // batch
    if steps < 1:
        raise InputError(f"batch is {batch}, but there are only {n} training images; expected at most as many")
    if augmentation.area is not None:
        raise InputError(f"augmentation area is {list(augmentation.area)}; it is for images decoded while training")
    count = steps * batch
    order = torch.randperm(n, generator=stream(seed, "shuffle", epoch))[:count]
    dy = dx = flip = None
    if augmentation.crop:
        far = augmentation.crop
        offsets = torch.randint(-far, far + 1, (2, n), generator=stream(seed, "crop", epoch), dtype=torch.int8)
        dy, dx = offsets[0, :count].clone(), offsets[1, :count].clone()
    if augmentation.flip:
        flip = torch.randint(2, (n,), generator=stream(seed, "flip", epoch), dtype=torch.uint8)[:count].bool()
    return EpochPlan(order, dy, dx, flip, steps, batch)


def _interval(name: str, value: Any, least: float, most: float) -> tuple[float, float]:
    ends = tuple(value) if isinstance(value, list | tuple) else ()
    numbers = all(isinstance(end, int | float) and not isinstance(end, bool) for end in ends)
    if len(ends) != 2 or not numbers or not least < ends[0] <= ends[1] <= most:
        raise InputError(f"augmentation {name} is {value!r}; expected two increasing numbers above 0, at most {most}")
    return float(ends[0]), float(ends[1])


def stack(plans: Sequence[EpochPlan]) -> EpochPlan:
    """The plans of K replicas as one, with tensors of shape (steps, K, batch)."""
    steps, batch = plans[0].steps, plans[0].batch
    if any((p.steps, p.batch) != (steps, batch) for p in plans):
        raise InputError("replicas can share a step only where they have the same batch and number of steps")
    parts = zip(*(p._tensors() for p in plans), strict=True)
    order, dy, dx, flip = (_stack([t for t in part if t is not None], len(plans), steps, batch) for part in parts)
    assert order is not None
    return EpochPlan(order, dy, dx, flip, steps, batch)


def _stack(tensors: list[Tensor], replicas: int, steps: int, batch: int) -> Tensor | None:
    if not tensors:
        return None
    if len(tensors) != replicas:
        raise InputError("replicas can share a step only where they have the same augmentation")
    return torch.stack([t.view(steps, batch) for t in tensors], dim=1)
