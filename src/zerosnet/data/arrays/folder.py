"""Any folder of images, FOLDER/train/<class>/* and FOLDER/test/<class>/* (or val), decoded to one size."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import torch

from zerosnet.data.dataset import ImageSet
from zerosnet.data.pictures import decode_picture
from zerosnet.environment import usable_cores
from zerosnet.errors import InputError

SUFFIXES = frozenset({".bmp", ".gif", ".jpeg", ".jpg", ".pgm", ".png", ".ppm", ".tif", ".tiff", ".webp"})
LAYOUT = "expected FOLDER/train/<class>/<image> and FOLDER/test/<class>/<image> (val will do for test)"


def read_folder(folder: Path, size: int) -> tuple[ImageSet, ImageSet, tuple[str, ...]]:
    """Training set, test set and class names; classes are numbered in the order of their names.

    Images become RGB; the shorter side is resized to `size` (unless it has that size), then the middle is cut out.
    Everything is held in memory as uint8, so this is for small sets.
    """
    train, test, classes = find_parts(folder)
    return _read(train, classes, size), _read(test, classes, size), classes


def find_parts(folder: Path) -> tuple[Path, Path, tuple[str, ...]]:
    """The folders of the training and the test set, and their classes, which must be the same."""
    train = folder / "train"
    test = next((folder / name for name in ("test", "val") if (folder / name).is_dir()), folder / "test")
    for part in (train, test):
        if not part.is_dir():
            raise InputError(f"{part} is not a folder; {LAYOUT}")
    classes, tested = class_names(train), class_names(test)
    for part, names, others, kind in ((test, tested, classes, "training"), (train, classes, tested, "test")):
        alone = sorted(set(names) - set(others))
        if alone:
            raise InputError(f"{part / alone[0]} is a class without {kind} images; {LAYOUT}")
    return train, test, classes


def class_names(part: Path) -> tuple[str, ...]:
    names = tuple(sorted(entry.name for entry in part.iterdir() if entry.is_dir() and not entry.name.startswith(".")))
    if not names:
        raise InputError(f"{part} holds no class folders; {LAYOUT}")
    return names


def _read(part: Path, classes: Sequence[str], size: int) -> ImageSet:
    found = [(path, label) for label, name in enumerate(classes) for path in _images(part / name)]
    with ThreadPoolExecutor(max_workers=min(8, usable_cores())) as pool:
        images = list(pool.map(lambda item: _decode(item[0], size), found))
    labels = torch.tensor([label for _, label in found], dtype=torch.int64)
    return ImageSet(torch.from_numpy(np.stack(images)).permute(0, 3, 1, 2).contiguous(), labels)


def _images(folder: Path) -> list[Path]:
    """List the images of a class, of which there must be some; a link that leads nowhere is one that cannot be read."""
    found = [path for path in folder.rglob("*") if path.suffix.lower() in SUFFIXES and not path.is_dir()]
    for path in found:
        if path.exists() and not path.is_file():
            raise InputError(f"{path} is not a regular file; {LAYOUT}")
    if not found:
        raise InputError(f"{folder} holds no images ({', '.join(sorted(SUFFIXES))}); {LAYOUT}")
    return sorted(found)


def _decode(path: Path, size: int) -> np.ndarray:
    from PIL import Image

    try:
        image = decode_picture(path.read_bytes())
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise InputError(f"{path} cannot be decoded as an image ({reason})") from None
    width, height = image.size
    shorter = min(width, height)
    if shorter != size:
        width, height = (max(size, round(side * size / shorter)) for side in (width, height))
        image = image.resize((width, height), Image.Resampling.BILINEAR)
    left, top = (width - size) // 2, (height - size) // 2
    return np.asarray(image.crop((left, top, left + size, top + size)))
