"""Common corruptions (Hendrycks and Dietterich, 2019): CIFAR-10-C, or any set in its layout.

A folder with `labels.npy`, (5 n,), and one `<corruption>.npy` for each corruption, uint8 (5 n, H, W[, C]): five
severities of the same n images, one after the other.
"""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from zerosnet.errors import InputError
from zerosnet.robustness.result import Measured
from zerosnet.robustness.subject import Subject, under

SEVERITIES = 5


class NotGiven(Exception):
    """A protocol that needs files of the user's was called without: it is reported as not run."""


@dataclass(frozen=True)
class Corruptions:
    """The corruptions found in a folder."""

    folder: Path
    names: tuple[str, ...]
    per_severity: int


def find_corruptions(folder: Path) -> Corruptions | None:
    """The corruptions in a folder, or in its subfolder CIFAR-10-C; None where there are none."""
    for place in (folder, folder / "CIFAR-10-C"):
        if (place / "labels.npy").exists():
            names = tuple(sorted(path.stem for path in place.glob("*.npy") if path.stem != "labels"))
            count = len(_read(place / "labels.npy"))
            if not names or count % SEVERITIES:
                raise InputError(
                    f"{place} holds {len(names)} corruptions of {count} images; expected some, five severities"
                )
            return Corruptions(place, names, count // SEVERITIES)
    return None


def under_corruptions(target: Subject, found: Corruptions) -> list[Measured]:
    """Accuracy for each corruption and severity; the images of the subject are not used, its network is."""
    labels = torch.from_numpy(_read(found.folder / "labels.npy").astype(np.int64))
    rows = []
    for name in found.names:
        pixels = _pixels(found.folder / f"{name}.npy", target.images.shape[1:], len(labels))
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
            right = under(there, 1, lambda images, labels, index: [images])[0]
            settings = {"corruption": name, "severity": severity + 1}
            rows.append(Measured(f"{name}, severity {severity + 1}", "corruption", right, settings=settings))
    return rows


def _pixels(path: Path, shape: torch.Size, count: int) -> Tensor:
    array = _read(path)
    array = array[..., None] if array.ndim == 3 else array
    height_width_channels = (count, *shape[1:], shape[0])
    if array.dtype != np.uint8 or array.shape != height_width_channels:
        raise InputError(f"{path} holds {array.dtype} of shape {array.shape}; expected uint8 {height_width_channels}")
    return torch.from_numpy(array).permute(0, 3, 1, 2).contiguous()


def _read(path: Path) -> np.ndarray:
    try:
        return np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise InputError(f"{path} cannot be read as an array: {error}") from None
