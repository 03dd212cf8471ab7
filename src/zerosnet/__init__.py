"""Networks from numerical schemes.

A residual network is a linear multistep scheme y_{n+1} = sum_i alpha_i y_{n-i} + h sum_j beta_j f(y_{n-j}).
The scheme is a value, `Scheme`; every room of the package (numerics, models, training, ...) receives it.

Public names are loaded on first use, so that ``import zerosnet`` costs nothing.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

# name -> the room it lives in
_PUBLIC = {
    "InputError": "zerosnet.errors",
    "Scheme": "zerosnet.numerics",
}
_ROOMS = ("data", "experiments", "explorer", "models", "numerics", "report", "robustness", "training")

__all__ = [*_PUBLIC, *_ROOMS, "__version__"]


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        return getattr(import_module(_PUBLIC[name]), name)
    if name in _ROOMS:
        return import_module(f"zerosnet.{name}")
    raise AttributeError(f"module 'zerosnet' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
