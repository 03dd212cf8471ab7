"""Load the public names of a room on first use, from the stub file that declares them."""

import ast
import gc
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

freezes = False  # set by a process that is ours alone: what torch brings in is never looked through for garbage


def exports(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Make `__getattr__`, `__dir__` and `__all__` of a package whose `__init__.pyi` lists its public names.

    The stub is the one declaration: type checkers and editors read it, and so does this function. It holds lines such
    as ``from zerosnet.numerics.scheme import Scheme as Scheme``; a module is imported when one of its names is asked
    for, so that ``import zerosnet.training`` loads no torch.
    """
    module = sys.modules[package]
    stub = Path(str(module.__file__)).with_suffix(".pyi")
    statements = [node for node in ast.parse(stub.read_text(encoding="utf-8")).body if isinstance(node, ast.ImportFrom)]
    origins = {alias.asname or alias.name: (node.module, alias.name) for node in statements for alias in node.names}

    def load(name: str) -> Any:
        if name not in origins:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        origin, original = origins[name]
        with _uncollected():
            value = getattr(import_module(str(origin)), original)
        setattr(module, name, value)
        return value

    def names() -> list[str]:
        return sorted({*vars(module), *origins})

    return load, names, sorted(origins)


_resting = 0  # loads that have paused the garbage collector


@contextmanager
def _uncollected() -> Iterator[None]:
    """Pause the garbage collector: modules that load leave no garbage, and looking for it in torch takes a while."""
    global _resting
    running, had_torch = gc.isenabled(), "torch" in sys.modules
    _resting += running
    gc.disable()
    try:
        yield
    finally:
        if freezes and not had_torch and "torch" in sys.modules:  # once, before there is anything that is to go
            gc.freeze()
        if running:
            _resting = max(_resting - 1, 0)
            gc.enable()


def _collect_again() -> None:
    """Wake the garbage collector in a child process: the thread that has paused it may have stayed in the parent."""
    global _resting
    if _resting:
        gc.enable()
    _resting = 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_collect_again)
