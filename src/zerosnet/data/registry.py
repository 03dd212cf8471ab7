"""The table of data sets with their usual augmentation, and `load`, the one way to get one."""

import math
import os
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zerosnet.errors import InputError, did_you_mean
from zerosnet.files import is_number, is_whole

if TYPE_CHECKING:
    from zerosnet.data.dataset import DataSet, ImageSet
    from zerosnet.data.streamed.imagefolder import FolderData


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
        if not is_whole(self.crop) or not 0 <= self.crop <= 100:
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

    @classmethod
    def from_json(cls, data: Any) -> "Augmentation":
        """Read what `to_json` writes; None is no augmentation."""
        if data is not None and (not isinstance(data, dict) or not set(data) <= {f.name for f in fields(cls)}):
            raise InputError(
                f"augmentation is {data!r}; expected an object with crop (pixels), flip (true or false), area and "
                "aspect (two numbers each)"
            )
        return cls(**data or {})

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
    if len(ends) != 2 or not all(map(is_number, ends)) or not least < ends[0] <= ends[1] <= most:
        raise InputError(f"augmentation {name} is {value!r}; expected two increasing numbers above 0, at most {most}")
    return float(ends[0]), float(ends[1])


_PLAIN = Augmentation()
_CROP_AND_FLIP = Augmentation(crop=4, flip=True)
_PHOTOGRAPHS = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


@dataclass(frozen=True)
class Source:
    """A way to read a data set, and its constants.

    `mean` and `std` are those of the pixels of the training set, in [0, 1], rounded to four places. `augmentation` does
    not change the meaning of its images: digits are not mirrored. `download` names torchvision's class that
    fetches the files. A `streamed` set is too large for the memory: it is decoded while it is used, see `open_folder`.
    """

    mean: tuple[float, ...]
    std: tuple[float, ...]
    read: "Callable[[Path], tuple[ImageSet, ImageSet]] | None" = None
    num_classes: int = 10
    augmentation: Augmentation = _PLAIN
    download: str | None = None
    streamed: bool = False
    embedded: bool = False
    """It comes with the package and needs no files."""
    size: int | None = None
    """Height and width of the images if the files decide them."""


def _reader(name: str, module: str = "arrays.published") -> "Callable[[Path], tuple[ImageSet, ImageSet]]":
    """Make a reader that is imported when it is called, so that a data set's name is checked without torch."""

    def read(root: Path) -> "tuple[ImageSet, ImageSet]":
        images: tuple[ImageSet, ImageSet] = import_module(f"zerosnet.data.{module}").READERS[name](root)
        return images

    return read


SOURCES: dict[str, Source] = {
    "digits": Source(mean=(0.3051,), std=(0.3759,), read=_reader("digits", "dataset"), embedded=True, size=8),
    "mosaics": Source(
        mean=(0.4750, 0.5349, 0.3984),
        std=(0.4994, 0.4988, 0.4896),
        read=_reader("mosaics", "dataset"),
        num_classes=8,
        embedded=True,
        size=8,
    ),
    "mnist": Source(mean=(0.1307,), std=(0.3081,), read=_reader("mnist"), download="MNIST", size=28),
    "fashion-mnist": Source(
        mean=(0.2860,),
        std=(0.3530,),
        read=_reader("fashion-mnist"),
        augmentation=_CROP_AND_FLIP,
        download="FashionMNIST",
        size=28,
    ),
    "cifar10": Source(
        mean=(0.4914, 0.4822, 0.4465),
        std=(0.2470, 0.2435, 0.2616),
        read=_reader("cifar10"),
        augmentation=_CROP_AND_FLIP,
        download="CIFAR10",
        size=32,
    ),
    "cifar100": Source(
        mean=(0.5071, 0.4865, 0.4409),
        std=(0.2673, 0.2564, 0.2762),
        read=_reader("cifar100"),
        num_classes=100,
        augmentation=_CROP_AND_FLIP,
        download="CIFAR100",
        size=32,
    ),
    # any small folder of images; the statistics are ImageNet's, as is usual for photographs
    "folder": Source(mean=_PHOTOGRAPHS[0], std=_PHOTOGRAPHS[1], augmentation=_CROP_AND_FLIP),
    # folders of any size, ImageNet above all; crops as in the authors' training
    "imagefolder": Source(
        mean=_PHOTOGRAPHS[0],
        std=_PHOTOGRAPHS[1],
        augmentation=Augmentation(flip=True, area=(0.1, 1.0), aspect=(0.8, 1.25)),
        streamed=True,
    ),
}
_FOLDER_SIZES = {"folder": 32, "imagefolder": 224}


def list_datasets() -> list[str]:
    return list(SOURCES)


def source(name: str) -> Source:
    """Find the entry of a data set name, such as "cifar10" or "folder:flowers@64"."""
    key = parse_name(name)[0] if isinstance(name, str) else ""
    if key not in SOURCES:
        known = f"one of {', '.join(SOURCES)} ([image]folder[:NAME][@SIZE])"
        raise InputError(f"dataset is {name!r}{did_you_mean(name, SOURCES)}; expected {known}")
    return SOURCES[key]


def image_size(name: str) -> tuple[int, int]:
    """Find height and width of a data set's images from its name, without its files.

    Examples:
        >>> image_size("mnist"), image_size("folder:flowers@64")
        ((28, 28), (64, 64))
    """
    side = source(name).size or parse_name(name)[2]
    return side, side


def parse_name(name: str) -> tuple[str, str, int]:
    """Split "folder:NAME@SIZE" into its parts; a name without them is itself.

    Examples:
        >>> parse_name("folder:flowers@64"), parse_name("cifar10")
        (('folder', 'flowers', 64), ('cifar10', '', 32))
    """
    kind = name.partition(":")[0].partition("@")[0]
    if kind not in _FOLDER_SIZES:
        return name, "", _FOLDER_SIZES["folder"]
    key, _, size = name.partition("@")
    if size and not (size.isascii() and size.isdigit() and 1 <= int(size) <= 1024):
        raise InputError(f"dataset is {name!r}: size {size!r} is not a number of pixels, 1 to 1024")
    return kind, key.partition(":")[2], int(size) if size else _FOLDER_SIZES[kind]


def load(
    name: str, root: Any = None, *, download: bool = False, validation: float = 0.0, split_seed: int = 0
) -> "DataSet":
    """Read a data set: "digits", "mosaics", "mnist", "fashion-mnist", "cifar10", "cifar100" or `folder[:NAME][@SIZE]`.

    `root` is the folder that holds the official files (as torchvision lays them out), or the folder of images, or
    with a NAME the folder above it. With `download` files that are missing or damaged are fetched. `validation` cuts
    that fraction off the training set, by `split_seed`.

    Examples:
        >>> load("digits").train.images.shape
        torch.Size([1442, 1, 8, 8])
    """
    entry = source(name)
    _, folder, size = parse_name(name)
    place = Path() if entry.embedded else _place(name, root)
    if entry.streamed:
        raise InputError(
            f"dataset is {name!r}, which is too large to be held as arrays; it can be trained on and attacked"
        )
    from zerosnet.data.dataset import DataSet

    if entry.read is None:
        from zerosnet.data.arrays.folder import read_folder

        train, test, classes = read_folder(place / folder, size)
        data = DataSet(name, train, test, len(classes), entry.mean, entry.std)
    else:
        make = partial(DataSet, name, num_classes=entry.num_classes, mean=entry.mean, std=entry.std)
        if entry.embedded:
            data = make(*entry.read(place))
        else:
            from zerosnet.data.arrays.cache import remembered
            from zerosnet.data.arrays.published import FILES, FINGERPRINTS, fetch_missing, read_or_fetch

            files, read = [place / file for file in FILES[name]], partial(entry.read, place)
            if download and entry.download is not None:
                fetch_missing(name, entry.download, place)
                read = partial(read_or_fetch, name, entry.download, place)
            data = remembered(name, files, read, make, FINGERPRINTS.get(name))
    return data.split(validation, split_seed) if validation else data


def open_folder(name: str, root: Any = None, *, validation: float = 0.0, split_seed: int = 0) -> "FolderData":
    """Open a streamed data set, `imagefolder[:NAME][@SIZE]`: list its files, which are decoded when they are used."""
    entry = source(name)
    _, folder, size = parse_name(name)
    if not entry.streamed:
        raise InputError(f"dataset is {name!r}; expected imagefolder[:NAME][@SIZE]")
    from zerosnet.data.streamed.imagefolder import scan_imagefolder

    data = scan_imagefolder(_place(name, root) / folder, name, size, (entry.mean, entry.std))
    return data.split(validation, split_seed) if validation else data


def check_place(name: str, root: Any) -> None:
    """Raise an error, without reading anything, if a data set needs a folder and none is given."""
    if not source(name).embedded:
        _place(name, root)


def _place(name: str, root: Any) -> Path:
    if root is None:
        raise InputError(f"dataset {name!r} is read from files; give the folder that holds them (--data DIR)")
    try:
        place = Path(root)
        os.fsencode(place)
        place.exists()
    except (OSError, TypeError, ValueError):  # a name that is too long, or a surrogate
        raise InputError(f"data is {str(root)[:60]!r}; expected the path of a folder") from None
    return place
