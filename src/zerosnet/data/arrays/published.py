"""Readers of published data sets: MNIST and Fashion-MNIST (idx files), CIFAR (pickles).

An idx file is a big-endian header (a magic number for "unsigned bytes, d dimensions", then d sizes) and the bytes.
CIFAR's files are pickles, and unpickling runs the code in a file. So nothing is unpickled before its MD5 was compared
with the published one.
"""

import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from hashlib import md5
from pathlib import Path
from typing import Any

import numpy as np
import torch

from zerosnet import files
from zerosnet.data.dataset import ImageSet
from zerosnet.errors import InputError


def read_bytes(path: Path) -> bytes:
    """Read an official file of a data set; a missing or unreadable one is the user's mistake."""
    try:
        return files.read_bytes(path)
    except FileNotFoundError:
        raise InputError(
            f"{path} is missing; expected the official files below the data folder "
            "(--data DIR; train and evaluate fetch the public data sets with --download)"
        ) from None
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}); expected an official data file") from None


@dataclass(frozen=True)
class IdxLayout:
    """The place of the files below the data folder, how many images of which size they hold, and known MD5 sums.

    md5       sums of the official files that are known, by a file's name
    foreign   names of other data sets whose files look just like these, by a file's sum
    """

    folder: str
    train: int = 60_000
    test: int = 10_000
    size: tuple[int, int] = (28, 28)
    num_classes: int = 10
    md5: dict[str, str] = field(default_factory=dict)
    foreign: dict[str, str] = field(default_factory=dict)


MNIST = IdxLayout(
    folder="MNIST/raw",
    md5={
        "train-images-idx3-ubyte": "6bbc9ace898e44ae57da46a324031adb",
        "train-labels-idx1-ubyte": "a25bea736e30d166cdddb491f175f624",
        "t10k-images-idx3-ubyte": "2646ac647ad5339dbf082846283269ea",
        "t10k-labels-idx1-ubyte": "27ae3e4e09519cfbb04c329615203637",
    },
)
FASHION_MNIST = IdxLayout(
    folder="FashionMNIST/raw", foreign={known: f"MNIST's {name}" for name, known in MNIST.md5.items()}
)


def read_idx(root: Path, layout: IdxLayout) -> tuple[ImageSet, ImageSet]:
    """Training and test set from ROOT/<layout.folder>/."""
    return _read_split(root, layout, "train", layout.train), _read_split(root, layout, "t10k", layout.test)


def _read_split(root: Path, layout: IdxLayout, split: str, count: int) -> ImageSet:
    folder = root / layout.folder
    images = _array(folder / f"{split}-images-idx3-ubyte", (count, *layout.size), layout)
    labels = _array(folder / f"{split}-labels-idx1-ubyte", (count,), layout)
    if labels.max(initial=0) >= layout.num_classes:
        raise InputError(f"{folder / f'{split}-labels-idx1-ubyte'} holds label {labels.max()}; expected 0 to 9")
    return ImageSet(torch.from_numpy(images).unsqueeze(1), torch.from_numpy(labels.astype(np.int64)))


def _array(path: Path, shape: tuple[int, ...], layout: IdxLayout) -> np.ndarray:
    content = read_bytes(path)
    header = b"".join(n.to_bytes(4, "big") for n in (0x800 + len(shape), *shape))
    sizes = " x ".join(map(str, shape))
    if content[: len(header)] != header:
        raise InputError(f"{path} does not begin like an idx file of {sizes} bytes: truncated, or another file")
    expected = len(header) + int(np.prod(shape))
    if len(content) != expected:
        raise InputError(f"{path} has {len(content)} bytes; expected {expected} ({sizes} and a header): damaged")
    _check_origin(path, content, layout)
    return np.frombuffer(content, np.uint8, offset=len(header)).reshape(shape).copy()


def _check_origin(path: Path, content: bytes, layout: IdxLayout) -> None:
    """Files of these data sets differ in nothing but their content."""
    found = md5(content, usedforsecurity=False).hexdigest()
    if found in layout.foreign:
        raise InputError(f"{path} is {layout.foreign[found]} (MD5 {found}); expected this data set's own file")
    if found != (expected := layout.md5.get(path.name, found)):
        raise InputError(f"{path} is not the official file: its MD5 is {found}, expected {expected}")


@dataclass(frozen=True)
class CifarLayout:
    """The place of the files below the data folder, their published MD5, and the key of their labels."""

    folder: str
    label: str
    train: dict[str, str]
    test: dict[str, str]


CIFAR10 = CifarLayout(
    folder="cifar-10-batches-py",
    label="labels",
    train={
        "data_batch_1": "c99cafc152244af753f735de768cd75f",
        "data_batch_2": "d4bba439e000b95fd0a9bffe97cbabec",
        "data_batch_3": "54ebc095f3ab1f0389bbae665268c751",
        "data_batch_4": "634d18415352ddfa80567beed471001a",
        "data_batch_5": "482c414d41f54cd18b22e5b47cb7c3cb",
    },
    test={"test_batch": "40351d587109b95175f43aff81a1287e"},
)
CIFAR100 = CifarLayout(
    folder="cifar-100-python",
    label="fine_labels",
    train={"train": "16019d7e3df5f24257cddd939b257f8d"},
    test={"test": "f0ef6b0ae62326f3e7ffdfab6717acfc"},
)


def read_cifar(root: Path, layout: CifarLayout) -> tuple[ImageSet, ImageSet]:
    """Training and test set from ROOT/<layout.folder>/."""
    folder = root / layout.folder
    return _read_batches(folder, layout.train, layout.label), _read_batches(folder, layout.test, layout.label)


def _read_batches(folder: Path, files: dict[str, str], label: str) -> ImageSet:
    with ThreadPoolExecutor(len(files)) as pool:  # most of it is reading and checksums, beside one another
        batches = list(pool.map(_unpickle_checked, [folder / name for name in files], files.values()))
    images = np.concatenate([np.asarray(batch["data"], np.uint8) for batch in batches]).reshape(-1, 3, 32, 32)
    labels = np.concatenate([np.asarray(batch[label], np.int64) for batch in batches])
    return ImageSet(torch.from_numpy(images), torch.from_numpy(labels))


def _unpickle_checked(path: Path, known: str) -> dict[str, Any]:
    content = read_bytes(path)
    found = md5(content, usedforsecurity=False).hexdigest()
    if found != known:
        raise InputError(f"{path} is damaged or not the official file: its MD5 is {found}, expected {known}")
    return pickle.loads(content, encoding="latin1")


def _idx_files(layout: IdxLayout) -> list[str]:
    return [
        f"{layout.folder}/{part}-{kind}-ubyte" for part in ("train", "t10k") for kind in ("images-idx3", "labels-idx1")
    ]


def _cifar_files(layout: CifarLayout) -> list[str]:
    return [f"{layout.folder}/{name}" for name in (*layout.train, *layout.test)]


FILES: dict[str, list[str]] = {
    "mnist": _idx_files(MNIST),
    "fashion-mnist": _idx_files(FASHION_MNIST),
    "cifar10": _cifar_files(CIFAR10),
    "cifar100": _cifar_files(CIFAR100),
}
"""All files that a reader reads, below the data folder."""

FINGERPRINTS = {"mnist": "3076a0ea8eb1aa3f", "cifar10": "76f8df5b4bb6903e", "cifar100": "5c2b728216a97089"}
"""Fingerprints of the data sets that readers make of files with known MD5 sums."""

READERS: dict[str, Callable[[Path], tuple[ImageSet, ImageSet]]] = {
    "mnist": partial(read_idx, layout=MNIST),
    "fashion-mnist": partial(read_idx, layout=FASHION_MNIST),
    "cifar10": partial(read_cifar, layout=CIFAR10),
    "cifar100": partial(read_cifar, layout=CIFAR100),
}
"""Read training and test set from the folder that holds the files, by the name of the data set."""


def fetch_missing(name: str, kind: str, root: Path) -> None:
    """Fetch the files of a data set if one is missing, with torchvision's class of this name."""
    if not all((root / file).exists() for file in FILES[name]):
        _fetch(name, kind, root)


def read_or_fetch(name: str, kind: str, root: Path) -> tuple[ImageSet, ImageSet]:
    """Read a data set; if its files are damaged, fetch them again."""
    try:
        return READERS[name](root)
    except InputError:
        _fetch(name, kind, root)
        return READERS[name](root)


def _fetch(name: str, kind: str, root: Path) -> None:
    from torchvision import datasets

    try:
        for train in (True, False):
            getattr(datasets, kind)(root=str(root), train=train, download=True)
    except (OSError, RuntimeError) as error:
        raise InputError(f"dataset {name!r} could not be downloaded to {root}: {error}") from None
