import doctest
import importlib
import pkgutil

import pytest

import zerosnet.numerics

MODULES = [f"zerosnet.numerics.{module.name}" for module in pkgutil.iter_modules(zerosnet.numerics.__path__)]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_are_true(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_there_are_examples():
    assert sum(doctest.testmod(importlib.import_module(name)).attempted for name in MODULES) > 15
