"""A lock around sympy and mpmath, for one thread at a time: both keep numbers where all threads see them.

sympy caches the interval about a root and changes its sign for a moment to read an end; a thread that comes by then
refines the wrong interval, without end. The precision of `mpmath.mp` is one for all threads.
"""

from collections.abc import Callable
from functools import wraps
from threading import RLock
from typing import ParamSpec, TypeVar

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
_SHARED = RLock()


def one_at_a_time(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """The same function, which waits until no other of these is at work in another thread."""

    @wraps(function)
    def waiting(*arguments: Arguments.args, **options: Arguments.kwargs) -> Result:
        with _SHARED:
            return function(*arguments, **options)

    return waiting
