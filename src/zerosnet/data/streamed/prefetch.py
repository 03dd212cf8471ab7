"""Prefetch: call a function ahead of time until it returns None."""

import threading
from collections.abc import Callable, Iterator
from queue import SimpleQueue
from typing import TypeVar

Result = TypeVar("Result")
PARTING = 5.0  # seconds to wait for a running call when the iterator is closed


def one_ahead(function: Callable[[], Result | None]) -> Iterator[Result]:
    """Yield each result once the one after it has been asked for."""
    result = function()
    while result is not None:
        now, result = result, function()
        yield now


def by_a_thread(
    function: Callable[[], Result | None], ahead: int, begin: Callable[[], None] = lambda: None
) -> Iterator[Result]:
    """Yield each result, in order, from a thread that is `ahead` of them; it calls `begin` first.

    An error takes the place of a result and ends the thread. Closing the iterator does not wait for a call that hangs.
    """
    wanted: SimpleQueue[None] = SimpleQueue()
    made: SimpleQueue[tuple[Result | None, BaseException | None]] = SimpleQueue()
    over = threading.Event()

    def work() -> None:
        try:
            begin()
            while True:
                wanted.get()
                if over.is_set():
                    return
                result = function()
                made.put((result, None))
                if result is None:
                    return
        except BaseException as caught:  # handed to whoever waits
            made.put((None, caught))

    thread = threading.Thread(target=work, name="ahead", daemon=True)
    thread.start()
    try:
        for _ in range(ahead):
            wanted.put(None)
        while True:
            result, error = made.get()
            if error is not None:
                raise error
            if result is None:
                return
            wanted.put(None)
            yield result
    finally:
        over.set()
        wanted.put(None)
        thread.join(PARTING)
