"""Input scalings and augmentation of images, as values."""

import math
from dataclasses import dataclass
from typing import Any

from zerosnet.errors import InputError

# input scaling -> mean and std that bring pixels of [0, 1] there; None: the data set's own
SCALINGS: dict[str, tuple[float, float] | None] = {"normalised": None, "unit": (0.0, 1.0), "signed": (0.5, 0.5)}


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


def _interval(name: str, value: Any, least: float, most: float) -> tuple[float, float]:
    ends = tuple(value) if isinstance(value, list | tuple) else ()
    numbers = all(isinstance(end, int | float) and not isinstance(end, bool) for end in ends)
    if len(ends) != 2 or not numbers or not least < ends[0] <= ends[1] <= most:
        raise InputError(f"augmentation {name} is {value!r}; expected two increasing numbers above 0, at most {most}")
    return float(ends[0]), float(ends[1])
