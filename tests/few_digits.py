"""Trainings small enough for tests: a few digits, one thread."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import torch

from zerosnet.data import DataSet, load


def few_digits(train: int, test: int) -> DataSet:
    """The first images of digits."""
    data = load("digits")
    return replace(data, train=data.train.subset(torch.arange(train)), test=data.test.subset(torch.arange(test)))


@contextmanager
def one_thread() -> Iterator[None]:
    """Bits depend on the number of threads; times on how many others use the cores."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
