import doctest
import importlib
import pkgutil

import pytest

import zerosnet.numerics

MODULES = [module.name for module in pkgutil.walk_packages(zerosnet.numerics.__path__, "zerosnet.numerics.")]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_are_true(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_there_are_examples():
    assert sum(doctest.testmod(importlib.import_module(name)).attempted for name in MODULES) > 25
