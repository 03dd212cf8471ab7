"""The results of a function, call after call till it gives None, made before they are asked for."""

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Result = TypeVar("Result")


def one_ahead(function: Callable[[], Result | None]) -> Iterator[Result]:
    """Each result, as soon as the one after it has been asked for."""
    result = function()
    while result is not None:
        now, result = result, function()
        yield now


def by_a_thread(function: Callable[[], Result | None], ahead: int) -> Iterator[Result]:
    """Each result, in order, from a thread that is so many of them ahead; it ends with the iterator."""
    with ThreadPoolExecutor(1, thread_name_prefix="ahead") as pool:
        waiting = deque(pool.submit(function) for _ in range(ahead))
        try:
            while (result := waiting.popleft().result()) is not None:
                waiting.append(pool.submit(function))
                yield result
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
