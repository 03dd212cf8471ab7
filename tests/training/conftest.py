"""A data set and networks small enough to be trained in a test."""

from collections.abc import Callable, Iterator

import pytest
import torch
from tests.few_digits import few_digits, one_thread

from zerosnet.data import DataSet
from zerosnet.numerics import Scheme
from zerosnet.training import Recipe, RunSpec, recipe

CPU = torch.device("cpu")
LAMBDAS = ("-9/5", "1/2", "10")


@pytest.fixture(autouse=True)
def alone() -> Iterator[None]:
    with one_thread():
        yield


@pytest.fixture(autouse=True)
def nothing_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is reported once in a process is reported once in a test."""
    monkeypatch.setattr("zerosnet.training.screen.displays._REPORTED", {})


@pytest.fixture(scope="session")
def small_digits() -> DataSet:
    """96 training and 40 test images of digits."""
    return few_digits(96, 40)


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch, small_digits: DataSet) -> DataSet:
    """Have the engine read the small digits wherever a run asks for digits."""

    def read(name: str, root: object = None, *, download: bool = False, validation: float = 0.0) -> DataSet:
        return small_digits.split(validation) if validation else small_digits

    monkeypatch.setattr("zerosnet.training.plan.load", read)
    return small_digits


def short(**changes: object) -> Recipe:
    """Two epochs of six steps, with random crops and flips."""
    options = {"epochs": 2, "batch": 16, "augmentation": {"crop": 1, "flip": True}} | changes
    return recipe("quick", "digits", **options)


@pytest.fixture
def make_specs() -> Callable[..., list[RunSpec]]:
    def make(count: int = 3, precision: str | None = None, **changes: object) -> list[RunSpec]:
        return [
            RunSpec("zerosnet20", "digits", short(**changes), k, Scheme.parse(f"zerosnet({LAMBDAS[k % 3]})"), precision)
            for k in range(count)
        ]

    return make
