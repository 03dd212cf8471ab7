"""Work on several groups of networks at a time, in threads."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from typing import TypeVar

import torch

from zerosnet.environment import usable_cores

Item = TypeVar("Item")
LOOK = 0.5  # seconds; a signal that comes as Python begins to wait for other threads is noticed when it looks up


def cores() -> int:
    """Count the cores that torch uses in this process."""
    return min(torch.get_num_threads(), usable_cores())


def in_parallel(
    work: Callable[[Item], object],
    items: Sequence[Item],
    workers: int,
    *,
    one_thread: bool,
    stop: threading.Event | None = None,
) -> None:
    """Work on groups: on the CPU several at a time, each in a thread of its own with its share of the cores.

    Many small operations share cores badly, whole networks share them well. How many threads an operation uses can
    change its last bits: if bits matter it is always one, whatever runs beside it. Once a group has failed, or the
    user has interrupted, no other is begun, and `stop` tells those at work.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1 if one_thread else max(1, before // max(workers, 1)))
    try:
        if workers <= 1:
            for item in items:
                work(item)
            return
        with ThreadPoolExecutor(workers, thread_name_prefix="group") as pool:
            try:
                futures = [pool.submit(work, item) for item in items]
                ended: set[Future[object]] = set()
                while len(ended) < len(futures) and not any(future.exception() for future in ended):
                    ended = wait(futures, LOOK, return_when=FIRST_EXCEPTION).done
                for future in futures:
                    if future in ended:
                        future.result()
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)  # first: who is told to stop would take the next one
                if stop is not None:
                    stop.set()
                raise
    finally:
        torch.set_num_threads(before)
