"""MNIST and Fashion-MNIST from their official idx files.

An idx file is a big-endian header (a magic number for "unsigned bytes, d dimensions", then d sizes) and the bytes.
"""

import hashlib
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch

from zerosnet.data.dataset import ImageSet, read_bytes
from zerosnet.errors import InputError


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
    folder="FashionMNIST/raw", foreign={md5: f"MNIST's {name}" for name, md5 in MNIST.md5.items()}
)


def read_idx(root: Path, layout: IdxLayout) -> tuple[ImageSet, ImageSet]:
    """Training and test set from ROOT/<layout.folder>/."""
    return _read(root, layout, "train", layout.train), _read(root, layout, "t10k", layout.test)


def _read(root: Path, layout: IdxLayout, split: str, count: int) -> ImageSet:
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
    found = hashlib.md5(content, usedforsecurity=False).hexdigest()
    if found in layout.foreign:
        raise InputError(f"{path} is {layout.foreign[found]} (MD5 {found}); expected this data set's own file")
    if found != (expected := layout.md5.get(path.name, found)):
        raise InputError(f"{path} is not the official file: its MD5 is {found}, expected {expected}")
