"""ImageNet's layout, FOLDER/train/<wnid>/*.JPEG and FOLDER/val/<wnid>/*.JPEG, as a list of names."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from zerosnet.data.arrays.folder import LAYOUT, SUFFIXES, find_parts
from zerosnet.data.dataset import split_indices
from zerosnet.errors import InputError


@dataclass(frozen=True, eq=False)
class FileSet:
    """Image files below a folder, and their labels.

    The names are one array of bytes, not a list of a million strings: the workers that read it share its memory.
    """

    root: Path
    names: np.ndarray
    labels: Tensor

    def __len__(self) -> int:
        return len(self.names)

    def path(self, index: int) -> Path:
        return self.root / os.fsdecode(bytes(self.names[index]))

    def subset(self, index: Tensor) -> "FileSet":
        return replace(self, names=self.names[index.numpy()], labels=self.labels[index])


@dataclass(frozen=True, eq=False)
class FolderData:
    """A data set that is decoded while it is used; the network gets square images of `side` pixels."""

    name: str
    train: FileSet
    test: FileSet
    classes: tuple[str, ...]
    side: int
    mean: tuple[float, ...]
    std: tuple[float, ...]
    validation: FileSet | None = None
    in_chans: int = 3

    @property
    def num_classes(self) -> int:
        return len(self.classes)

    @property
    def size(self) -> tuple[int, int]:
        return self.side, self.side

    @cached_property
    def fingerprint(self) -> str:
        """A hash of all names and labels, which tells whether a folder has changed; no image is read."""
        result = blake2b(digest_size=8)
        for part in (self.train, self.test, self.validation):
            for array in () if part is None else (part.names, part.labels.numpy()):
                result.update(f"{array.shape} {array.dtype}".encode())
                result.update(np.ascontiguousarray(array).data)
        return result.hexdigest()

    def split(self, fraction: float, seed: int = 0) -> "FolderData":
        """Cut a random `fraction` of the training set off as validation set; the seed alone decides which images."""
        kept, cut = split_indices(len(self.train), fraction, seed)
        return replace(self, train=self.train.subset(kept), validation=self.train.subset(cut))


def scan_imagefolder(
    folder: Path, name: str, side: int, statistics: tuple[tuple[float, ...], tuple[float, ...]]
) -> FolderData:
    """List a folder of images; nothing is decoded. Classes are numbered in the order of their names."""
    train, test, classes = find_parts(folder)
    return FolderData(name, _scan(train, classes), _scan(test, classes), classes, side, *statistics)


def _scan(part: Path, classes: Sequence[str]) -> FileSet:
    """List the images of a part; every class must have some."""
    names: list[bytes] = []
    labels: list[int] = []
    for label, name in enumerate(classes):
        found = sorted(os.fsencode(f"{name}/{file}") for file in _files(part / name))
        if not found:
            raise InputError(f"{part / name} holds no images ({', '.join(sorted(SUFFIXES))}); {LAYOUT}")
        names += found
        labels += [label] * len(found)
    return FileSet(part, np.array(names), torch.tensor(labels, dtype=torch.int64))


def _files(folder: Path) -> list[str]:
    """List the names of the images in a folder; they must be files, since reading a named pipe never ends.

    A dangling link is kept: the decoder treats it as a broken image.
    """
    with os.scandir(folder) as entries:
        found = [entry for entry in entries if os.path.splitext(entry.name)[1].lower() in SUFFIXES]  # noqa: PTH122
    for entry in found:
        if not entry.is_file() and Path(entry).exists():
            raise InputError(f"{entry.path} is not a regular file; {LAYOUT}")
    return [entry.name for entry in found]
