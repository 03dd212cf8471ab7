"""CIFAR-10 and CIFAR-100 from their official "python version" files.

These files are pickles, and unpickling runs the code in a file. So nothing is unpickled before its MD5 was compared
with the published one.
"""

import hashlib
import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from zerosnet.data.dataset import ImageSet, read_bytes
from zerosnet.errors import InputError


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
    return _read(folder, layout.train, layout.label), _read(folder, layout.test, layout.label)


def _read(folder: Path, files: dict[str, str], label: str) -> ImageSet:
    batches = [_unpickle_checked(folder / name, md5) for name, md5 in files.items()]
    images = np.concatenate([np.asarray(batch["data"], np.uint8) for batch in batches]).reshape(-1, 3, 32, 32)
    labels = np.concatenate([np.asarray(batch[label], np.int64) for batch in batches])
    return ImageSet(torch.from_numpy(images), torch.from_numpy(labels))


def _unpickle_checked(path: Path, md5: str) -> dict[str, Any]:
    content = read_bytes(path)
    found = hashlib.md5(content, usedforsecurity=False).hexdigest()
    if found != md5:
        raise InputError(f"{path} is damaged or not the official file: its MD5 is {found}, expected {md5}")
    return pickle.loads(content, encoding="latin1")
