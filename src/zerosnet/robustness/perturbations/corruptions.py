"""Common corruptions (Hendrycks and Dietterich, 2019): CIFAR-10-C, or any set in its layout, or made by code.

Published files go before regenerated ones. A folder holds `labels.npy`, (5 n,), and one `<corruption>.npy` for each
corruption, uint8 (5 n, H, W[, C]): five severities of the same n images, one after the other.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from zerosnet.errors import InputError
from zerosnet.robustness.classifiers import unit_images
from zerosnet.robustness.corruptions.regenerated import CORRUPTIONS, SEVERITIES, SIZE, corrupt
from zerosnet.robustness.protocols.attacked import Subject, under
from zerosnet.robustness.protocols.result import Measurement

PUBLISHED, REGENERATED = "published", "regenerated"


class NotGiven(Exception):
    """A protocol that needs files from the user was called without them; it is reported as not run."""


@dataclass(frozen=True)
class Corruptions:
    """The corruptions found in a folder."""

    folder: Path
    names: tuple[str, ...]
    per_severity: int


LABELS = "labels.npy"
FOLDERS = {"cifar10": "CIFAR-10-C", "cifar100": "CIFAR-100-C"}  # as published; other data sets: NAME-C


def folder_of(dataset: str) -> str:
    """Name the folder of a data set's corruptions."""
    return FOLDERS.get(dataset, f"{dataset}-C")


def find_corruptions(folder: Path, dataset: str = "cifar10") -> Corruptions | None:
    """Find the corruptions of a data set in a folder, or in its subfolder such as CIFAR-10-C; None without any.

    Raises:
        InputError: There is a folder of that name, and it is not whole.
    """
    own = folder / folder_of(dataset)
    if own.exists():
        return _whole(own)
    if folder.name != own.name and folder.name in FOLDERS.values():
        return None  # of another data set
    is_own = folder.name == own.name and folder.exists()
    return _whole(folder) if is_own or (folder / LABELS).exists() else None


def _whole(place: Path) -> Corruptions:
    """Read what a folder holds; it must have labels, and at least one corruption."""
    files = sorted(path.name for path in place.glob("*.npy"))
    names = tuple(Path(name).stem for name in files if name != LABELS)
    lacking = [LABELS] * (LABELS not in files) + ["the files of corruptions, such as fog.npy"] * (not names)
    if lacking:
        raise InputError(
            f"{place} lacks {' and '.join(lacking)}; expected {LABELS} and one npy file per corruption, or no folder "
            f"{place.name}"
        )
    count = _read(place / LABELS).size
    if not count or count % SEVERITIES:
        raise InputError(f"{place} holds {len(names)} corruptions of {count} images; expected some, five severities")
    return Corruptions(place, names, count // SEVERITIES)


def require_fitting(found: Corruptions, target: Subject) -> None:
    """Raise an error unless the files hold images and labels as the subject has them; only their heads are read."""
    labels = _read(found.folder / LABELS)
    if labels.ndim != 1 or labels.dtype.kind not in "iu" or not 0 <= labels.min() <= labels.max() < target.num_classes:
        raise InputError(
            f"{found.folder / LABELS} holds {labels.dtype} of shape {labels.shape}, from {labels.min()} to "
            f"{labels.max()}; expected one dimension of classes, 0 to {target.num_classes - 1}"
        )
    channels, *size = target.images.shape[1:]
    shapes = [(len(labels), *size, channels)] + [(len(labels), *size)] * (channels == 1)
    for name in found.names:
        path = found.folder / f"{name}.npy"
        array = _read(path, whole=False)
        if array.dtype != np.uint8 or array.shape not in shapes:
            raise InputError(f"{path} holds {array.dtype} of shape {array.shape}; expected uint8 {shapes[0]}")


def under_corruptions(target: Subject, found: Corruptions, count: int | None = None) -> list[Measurement]:
    """Measure the accuracy per corruption and severity, always on the same `count` images (all by default).

    The images of the subject are not used, its network is.
    """
    labels = torch.from_numpy(_read(found.folder / LABELS).astype(np.int64))
    rows = []
    for name in found.names:
        pixels = _pixels(found.folder / f"{name}.npy")
        for severity in range(SEVERITIES):
            part = slice(severity * found.per_severity, (severity + 1) * found.per_severity)
            device = target.images.device
            there = replace(
                target,
                images=pixels[part].to(device),
                labels=labels[part].to(device),
                index=torch.arange(found.per_severity),
                batch=min(target.batch, found.per_severity),
            )
            right = under(there.chosen(count), 1, lambda images, labels, index: [images])[0]
            settings = {"corruption": name, "severity": severity + 1, "source": PUBLISHED}
            rows.append(Measurement(f"{name}, severity {severity + 1}", "corruption", right, settings=settings))
    return rows


def require_regenerable(target: Subject, dataset: str) -> None:
    """Raise `NotGiven` unless corruptions can be made of the subject's images by code: they have CIFAR's size."""
    if tuple(target.images.shape[1:]) != SIZE:
        folder, (shape, needed) = folder_of(dataset), ("x".join(map(str, s)) for s in (target.images.shape[1:], SIZE))
        raise NotGiven(
            f"{folder} is not there, and only images of {needed} are corrupted by code, not {shape}; "
            f"put its npy files into DIR/{folder} and give --data DIR"
        )


def under_regenerated(target: Subject) -> list[Measurement]:
    """Measure the accuracy per corruption and severity on the subject's images, corrupted on the device, by index."""
    settings = [(name, severity) for name in CORRUPTIONS for severity in range(1, SEVERITIES + 1)]

    def versions(images: Tensor, labels: Tensor, index: Tensor) -> Iterator[Tensor]:
        pixels = (images * 255).round().to(torch.uint8)
        for name, severity in settings:
            yield unit_images(corrupt(pixels, name, severity, index=index))

    return [
        Measurement(
            f"{name}, severity {severity}",
            "corruption",
            right,
            settings={"corruption": name, "severity": severity, "source": REGENERATED},
        )
        for (name, severity), right in zip(settings, under(target, len(settings), versions))
    ]


def _pixels(path: Path) -> Tensor:
    array = _read(path)
    array = array[..., None] if array.ndim == 3 else array
    return torch.from_numpy(array).permute(0, 3, 1, 2).contiguous()


def _read(path: Path, whole: bool = True) -> np.ndarray:
    try:
        return np.load(path, mmap_mode=None if whole else "r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise InputError(f"{path} cannot be read as an array: {error}") from None
