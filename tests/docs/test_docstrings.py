"""The examples in the docstrings of the package are true."""

import doctest
import importlib
from pathlib import Path

import pytest

import zerosnet.cli.main

SOURCE = Path(zerosnet.__file__).parents[1]
FILES = [path for path in sorted(SOURCE.glob("zerosnet/**/*.py")) if ">>> " in path.read_text(encoding="utf-8")]
MODULES = [".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__") for path in FILES]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_are_true(name: str) -> None:
    found = doctest.testmod(importlib.import_module(name))
    assert found.attempted > 0 and found.failed == 0
