"""Data sets as arrays: every image of a small set in one uint8 tensor, ready to live on the device."""

from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Protocol

import torch
from torch import Tensor

from zerosnet import files
from zerosnet.data.arrays.epochs import stream
from zerosnet.data.registry import SCALINGS
from zerosnet.errors import InputError


@dataclass(frozen=True, eq=False)
class ImageSet:
    """Images, uint8 of shape (N, C, H, W), and their labels, int64 of shape (N,)."""

    images: Tensor
    labels: Tensor

    def __post_init__(self) -> None:
        if self.images.dtype != torch.uint8 or self.images.ndim != 4:
            raise InputError(f"images are {self.images.dtype} of shape {tuple(self.images.shape)}; expected uint8, 4-d")
        if self.labels.dtype != torch.int64 or self.labels.shape != self.images.shape[:1]:
            raise InputError(
                f"labels are {self.labels.dtype} of shape {tuple(self.labels.shape)}; expected int64, (N,)"
            )

    def __len__(self) -> int:
        return len(self.labels)

    def to(self, device: torch.device | str) -> "ImageSet":
        return ImageSet(self.images.to(device), self.labels.to(device))

    def subset(self, index: Tensor) -> "ImageSet":
        return ImageSet(self.images[index], self.labels[index])


def image_weight(images: Tensor) -> int:
    """Count how many images of 32 x 32 one of these weighs, at least one: batches of larger images are smaller."""
    return max(1, images.shape[2] * images.shape[3] // 32**2)


@dataclass(frozen=True, eq=False)
class DataSet:
    """A data set: what to learn from, what to test on, and the pixel statistics of its channels.

    `mean` and `std` are constants of the data set, for pixels in [0, 1]; `size` is (height, width).
    """

    name: str
    train: ImageSet
    test: ImageSet
    num_classes: int
    mean: tuple[float, ...]
    std: tuple[float, ...]
    validation: ImageSet | None = None

    @property
    def in_chans(self) -> int:
        return self.train.images.shape[1]

    @property
    def size(self) -> tuple[int, int]:
        height, width = self.train.images.shape[2:]
        return height, width

    @cached_property
    def fingerprint(self) -> str:
        """A hash of all images and labels, which tells whether data have changed."""
        result = blake2b(digest_size=8)
        for part in (self.train, self.test, self.validation):
            for tensor in () if part is None else (part.images, part.labels):
                result.update(f"{tuple(tensor.shape)}".encode())
                result.update(tensor.cpu().contiguous().numpy().data)
        return result.hexdigest()

    def to(self, device: torch.device | str) -> "DataSet":
        """Copy the data set with its images to a device."""
        held_out = None if self.validation is None else self.validation.to(device)
        return replace(self, train=self.train.to(device), test=self.test.to(device), validation=held_out)

    def split(self, fraction: float, seed: int = 0) -> "DataSet":
        """Cut a random `fraction` of the training set off as validation set; the seed alone decides which images."""
        kept, cut = split_indices(len(self.train), fraction, seed)
        return replace(self, train=self.train.subset(kept), validation=self.train.subset(cut))


def split_indices(n: int, fraction: float, seed: int) -> tuple[Tensor, Tensor]:
    """Split n training images into those that are kept and a random `fraction` that is cut off; both in order."""
    if not 0 < fraction < 1:
        raise InputError(f"validation is {fraction}; expected a fraction between 0 and 1, exclusive")
    count = round(fraction * n)
    if not 0 < count < n:
        raise InputError(f"validation {fraction} of {n} training images leaves one of the parts empty")
    order = torch.randperm(n, generator=stream(seed, "validation"))
    return order[count:].sort().values, order[:count].sort().values


class Pictures(Protocol):
    """A data set of any kind, as far as its pixels are concerned."""

    @property
    def mean(self) -> tuple[float, ...]: ...

    @property
    def std(self) -> tuple[float, ...]: ...

    @property
    def in_chans(self) -> int: ...


def pixel_statistics(data: Pictures, scaling: str) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Choose mean and std of pixels: the data set's own ("normalised"), for [0, 1] ("unit") or [-1, 1] ("signed")."""
    if scaling not in SCALINGS:
        raise InputError(f"scaling is {scaling!r}; expected one of {', '.join(SCALINGS)}")
    fixed = SCALINGS[scaling]
    if fixed is None:
        return data.mean, data.std
    return (fixed[0],) * data.in_chans, (fixed[1],) * data.in_chans


def read_bytes(path: Path) -> bytes:
    """Read an official file of a data set; a missing or unreadable one is the user's mistake."""
    try:
        return files.read_bytes(path)
    except FileNotFoundError:
        raise InputError(
            f"{path} is missing; expected the official files below the data folder "
            "(--data DIR; --download fetches the public data sets)"
        ) from None
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}); expected an official data file") from None
