"""Groups of networks side by side on the cores of a CPU, in threads."""

import os
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import TypeVar

import torch

from zerosnet.training.machine import cores, torch_threads

Item = TypeVar("Item")
WATCH = 0.2  # seconds in which the load of the cores is looked at
LOOK = 0.5  # seconds; a signal that comes as Python begins to wait for other threads is noticed when it looks up


def share_of_cores(workers: int) -> int:
    """Count the threads for the operations of each of so many workers: its share of the idle cores."""
    return 1 if torch.get_num_threads() <= workers else max(1, idle_cores() // max(workers, 1))


def idle_cores() -> int:
    """Count the usable cores that other programs leave idle, watched for a moment; at least one.

    Threads of one operation wait for one another: on cores that are busy with other work two of them were 5 to 20 times
    slower than one. All cores count as idle if the system does not tell.
    """
    before = _times()
    time.sleep(WATCH if before else 0.0)
    after = _times()
    idle = 0.0
    for core, (rest, total) in after.items():
        rest_before, total_before = before.get(core, (rest, total))
        idle += (rest - rest_before) / (total - total_before) if total > total_before else 1.0
    return max(1, min(cores(), round(idle))) if after else cores()


def _times() -> dict[int, tuple[int, int]]:
    """Read for every usable core how long it has rested and been there, in ticks of the clock; nothing but on Linux."""
    try:
        lines = Path("/proc/stat").read_text().splitlines()
        usable = os.sched_getaffinity(0)
    except (OSError, AttributeError):
        return {}
    times = {}
    for line in lines:
        name, *numbers = line.split()
        if name.startswith("cpu") and name[3:].isdigit() and int(name[3:]) in usable:
            ticks = [int(number) for number in numbers[:8]]  # user, nice, system, idle, iowait, irq, softirq, steal
            times[int(name[3:])] = (ticks[3] + ticks[4], sum(ticks))
    return times


def in_parallel(
    work: Callable[[Item], object],
    items: Sequence[Item],
    workers: int,
    *,
    one_thread: bool,
    stop: threading.Event | None = None,
) -> None:
    """Work on groups: on the CPU several at a time, each in a thread of its own with its share of the idle cores.

    Many small operations share cores badly, whole networks share them well. How many threads an operation uses can
    change its last bits: if bits matter it is always one, whatever runs beside it. Once a group has failed, or the
    user has interrupted, no other is begun, and `stop` tells those at work.
    """
    with torch_threads(1 if one_thread else share_of_cores(workers)):
        if workers > 1:
            in_threads(work, items, workers, stop)
        else:
            for item in items:
                work(item)


def in_threads(
    work: Callable[[Item], object], items: Sequence[Item], workers: int, stop: threading.Event | None = None
) -> None:
    """Work on several groups at a time; see `in_parallel`."""
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
