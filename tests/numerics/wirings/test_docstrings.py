import doctest
import importlib
import pkgutil

import pytest

import zerosnet.numerics.wirings

MODULES = [
    f"{zerosnet.numerics.wirings.__name__}.{m.name}" for m in pkgutil.iter_modules(zerosnet.numerics.wirings.__path__)
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_are_true(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_there_are_examples() -> None:
    assert sum(doctest.testmod(importlib.import_module(name)).attempted for name in MODULES) > 10
