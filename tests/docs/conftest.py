"""Tiny data for the documentation's commands: a few digits, and a fake CIFAR-10 in the official layout."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.data.test_published import write_batch
from tests.few_digits import few_digits, one_thread

from zerosnet.data import DataSet, load
from zerosnet.data.arrays.published import CIFAR10


@pytest.fixture(scope="session")
def small_digits() -> DataSet:
    return few_digits(64, 30)


@pytest.fixture
def tiny(
    small_digits: DataSet, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Path]:
    """The folder of the fake data; wherever digits are loaded, there are few of them."""

    def read(name: str, *arguments: Any, **options: Any) -> DataSet:
        return small_digits if name == "digits" else load(name, *arguments, **options)

    for module in ("zerosnet.data", "zerosnet.data.for_test", "zerosnet.training.plan"):
        monkeypatch.setattr(f"{module}.load", read)
    folder = tmp_path_factory.mktemp("data")
    for table, count in ((CIFAR10.train, 26), (CIFAR10.test, 20)):
        for seed, name in enumerate(table):
            monkeypatch.setitem(table, name, write_batch(folder / CIFAR10.folder / name, seed, count))
    with one_thread():
        yield folder
