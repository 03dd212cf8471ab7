"""Tiny data for the documentation's commands: a few digits, and a fake CIFAR-10 in the official layout."""

import hashlib
import pickle
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from zerosnet.data import DataSet, load
from zerosnet.data.cifar import CIFAR10


@pytest.fixture(scope="session")
def small_digits() -> DataSet:
    data = load("digits")
    return replace(data, train=data.train.subset(torch.arange(64)), test=data.test.subset(torch.arange(30)))


@pytest.fixture
def tiny(
    small_digits: DataSet, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Path]:
    """The folder of the fake data; wherever digits are loaded, there are few of them."""

    def read(name: str, *arguments: Any, **options: Any) -> DataSet:
        return small_digits if name == "digits" else load(name, *arguments, **options)

    for module in ("zerosnet.data", "zerosnet.training.engine", "zerosnet.training.attack"):
        monkeypatch.setattr(f"{module}.load", read)
    folder = tmp_path_factory.mktemp("data")
    for table, count in ((CIFAR10.train, 26), (CIFAR10.test, 20)):
        for seed, name in enumerate(table):
            monkeypatch.setitem(table, name, _write_batch(folder / CIFAR10.folder / name, seed, count))
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield folder
    torch.set_num_threads(threads)


def _write_batch(path: Path, seed: int, count: int) -> str:
    """A small file in the official format; returns its MD5."""
    rng = np.random.default_rng(seed)
    batch = {"data": rng.integers(0, 256, (count, 3072), dtype=np.uint8), "labels": rng.integers(0, 10, count).tolist()}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(pickle.dumps(batch, protocol=2))
    return hashlib.md5(path.read_bytes()).hexdigest()
