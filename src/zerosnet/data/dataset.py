"""Data sets as arrays: every image of a small set in one uint8 tensor, ready to live on the device.

Two of them need no files: digits and mosaics.
"""

import gzip
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from zerosnet.data.arrays.epochs import stream, stream_seed
from zerosnet.data.registry import SCALINGS
from zerosnet.errors import InputError

FILE = "datasets/data/digits.csv.gz"  # in scikit-learn
_TEST_PART = 5  # one image in five of each digit is for testing
CLASSES = SYMBOLS = 8
WORDS = 5
"""Words per symbol."""
LEVELS = 3
TRAIN, TEST = 6_000, 1_000
_LETTERS = 4  # symbols of a word, a square of 2 x 2
_WEYL, _FIRST, _SECOND = (np.uint64(n) for n in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))
Integers = npt.NDArray[np.int64]


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


def read_digits() -> tuple[ImageSet, ImageSet]:
    """Read the data set that needs no files: 1,442 training and 355 test images of 8 x 8, every digit split 4 to 1.

    Which image goes where is fixed for good: the images of a digit are ranked by a hash of their position in the
    data set, and the first fifth is the test set. It depends on no version of any random number generator.
    Grey values, 0 to 16 in the source, are stretched to 0 to 255.
    """
    table = _table()
    images = np.rint(table[:, :-1].reshape(-1, 1, 8, 8) * (255 / 16)).astype(np.uint8)
    labels = table[:, -1].astype(np.int64)
    test = np.zeros(len(labels), dtype=bool)
    for digit in range(10):
        ranked = sorted(np.flatnonzero(labels == digit).tolist(), key=_rank)
        test[ranked[: len(ranked) // _TEST_PART]] = True
    return _set(images[~test], labels[~test]), _set(images[test], labels[test])


def _table() -> np.ndarray:
    """Read 64 grey values and the digit of every image, from scikit-learn's file: importing it takes two seconds."""
    found = find_spec("sklearn")
    path = Path(found.origin).parent / FILE if found is not None and found.origin else None
    if path is not None and path.is_file():
        with gzip.open(path) as file:
            return np.loadtxt(file, delimiter=",")
    from sklearn.datasets import load_digits

    source = load_digits()
    return np.column_stack([source.data, source.target])


def _rank(position: int) -> bytes:
    return blake2b(f"digits/{position}".encode(), digest_size=8).digest()


def _set(images: np.ndarray, labels: np.ndarray) -> ImageSet:
    return ImageSet(torch.from_numpy(images), torch.from_numpy(labels))


def read_mosaics() -> tuple[ImageSet, ImageSet]:
    """6,000 training and 1,000 test images of 3 x 8 x 8 pixels, of eight classes; the same on every machine.

    They need depth: 8 x 8 coloured tiles, written by a grammar of three levels. A class is a symbol. Three times every
    symbol is replaced by a word, a square of 2 x 2 symbols, so that 1 becomes 4, 16 and 64 symbols: the tiles. At every
    level each of the eight symbols has five words, and no word belongs to two symbols. One of the five is drawn at
    random every time, so that a tile alone tells next to nothing about the class: it has to be read from words, then
    from words of words, then from the whole. A network that uses many of its blocks learns to do so sooner. (Such data
    are known as a random hierarchy model.)

    The eight symbols are the corners of the RGB cube: bit k of a symbol is channel k, 0 or 255.
    """
    grammar = [_words(level) for level in range(LEVELS)]
    train, test = _written(grammar, "train", TRAIN), _written(grammar, "test", TEST)
    return train, test


def _written(grammar: Sequence[Integers], purpose: str, count: int) -> ImageSet:
    """Draw classes, and write a mosaic for each."""
    labels = _draw(f"mosaics/{purpose}/classes", count, CLASSES)
    tiles = labels.reshape(count, 1, 1)
    for level, words in enumerate(grammar):
        side = 2**level
        chosen = _draw(f"mosaics/{purpose}/{level}", tiles.size, WORDS).reshape(tiles.shape)
        squares = words[tiles, chosen].reshape(count, side, side, 2, 2)
        tiles = squares.transpose(0, 1, 3, 2, 4).reshape(count, 2 * side, 2 * side)
    channels = np.stack([(tiles >> bit & 1) * 255 for bit in range(3)], axis=1)
    return ImageSet(torch.from_numpy(channels.astype(np.uint8)), torch.from_numpy(labels))


def _words(level: int) -> Integers:
    """The words of every symbol at a level, of shape (symbols, words, letters): all of them different."""
    drawn = _draw(f"mosaics/words/{level}", 4 * SYMBOLS * WORDS, SYMBOLS**_LETTERS)
    different = np.array(list(dict.fromkeys(drawn.tolist()))[: SYMBOLS * WORDS])
    letters = np.stack([different // SYMBOLS**place % SYMBOLS for place in range(_LETTERS)], axis=-1)
    return letters.reshape(SYMBOLS, WORDS, _LETTERS)


def _draw(purpose: str, count: int, below: int) -> Integers:
    """Draw numbers from 0 to below - 1, by splitmix64: they depend on no version of any generator."""
    state = np.uint64(stream_seed(0, purpose)) + _WEYL * np.arange(1, count + 1, dtype=np.uint64)
    state = (state ^ state >> np.uint64(30)) * _FIRST
    state = (state ^ state >> np.uint64(27)) * _SECOND
    return ((state ^ state >> np.uint64(31)) % np.uint64(below)).astype(np.int64)


READERS: dict[str, Callable[[Path], tuple[ImageSet, ImageSet]]] = {
    "digits": lambda root: read_digits(),
    "mosaics": lambda root: read_mosaics(),
}
"""Make training and test set, by the name of the data set; the folder is not looked at."""
