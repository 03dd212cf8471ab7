"""Train on all GPUs of this machine: one process per GPU, and one store."""

import os
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from queue import Empty
from typing import Any

from zerosnet.training.cluster import how_far, share_groups, time_of_day, train_group
from zerosnet.training.machine import Clock
from zerosnet.training.options import Options
from zerosnet.training.runs.spec import RunSpec
from zerosnet.training.runs.store import Store
from zerosnet.training.screen.displays import Progress

POLL = 0.5  # seconds between two looks at the clock
LOOK = 30.0  # seconds between two looks at how far the runs are


def train_on_devices(
    devices: Sequence[str], specs: Sequence[RunSpec], store: Store, options: Options, clock: Clock, progress: Progress
) -> None:
    """Train all runs that have not ended, a process per device; the store holds the outcome.

    Groups are handed out one at a time, long ones first. A signal or the time limit stops every process at the end of a
    step, with checkpoints; so does the failure of one of them, which is raised here.
    """
    groups = share_groups(specs, store, replace(options, device=devices[0]), len(devices), progress)
    if not groups:
        return
    context = get_context("spawn")
    waiting, results = context.Queue(), context.Queue()
    used = devices[: len(groups)]
    for members in groups:
        waiting.put(members)
    for _ in used:
        waiting.put(None)
    until, root = time_of_day(clock), str(store.root.resolve())
    workers = [
        context.Process(
            target=_work, args=(waiting, results, root, replace(options, device=device), until), daemon=True
        )
        for device in used
    ]
    with clock, progress:
        for worker in workers:
            worker.start()
        progress.report(f"{len(groups)} group(s) of networks on {', '.join(used)}")
        runs = [spec for members in groups for spec in members]
        failure = _wait(workers, results, clock, progress, partial(how_far, runs, store))
    if failure is not None:
        raise failure


def _work(waiting: Any, results: Any, root: str, options: Options, until: float | None) -> None:
    """Train one group after the other, in a process of its own, and report the lines or the error of each."""
    while (members := waiting.get()) is not None:
        try:
            results.put(train_group(members, root, options, until))
        except Exception as error:
            results.put(error)
            return


def _wait(
    workers: Sequence[BaseProcess],
    results: Any,
    clock: Clock,
    progress: Progress,
    so_far: Callable[[], str],
) -> Exception | None:
    """Wait for all processes and return the first error, after which the others are stopped cleanly."""
    failure: Exception | None = None
    stopping, looked, seen = False, time.monotonic(), ""
    while any(worker.is_alive() for worker in workers) or not results.empty():
        if time.monotonic() - looked > LOOK:
            looked, before, seen = time.monotonic(), seen, so_far()
            if seen != before:
                progress.report(seen)
        try:
            result = results.get(timeout=POLL)
        except Empty:
            result = []
        if isinstance(result, Exception):
            failure = failure or result
        else:
            for line in result:
                progress.report(line)
        lost = [worker for worker in workers if worker.exitcode not in (None, 0)]
        if lost and failure is None and clock.signal is None:
            failure = OSError(
                f"a process that trains ended with code {lost[0].exitcode}; run the command again to go on"
            )
        clock.failed = clock.failed or failure is not None
        if (clock.failed or clock.signal is not None) and not stopping:
            stopping = True
            for worker in workers:
                if worker.is_alive() and worker.pid is not None:
                    os.kill(worker.pid, signal.SIGINT)  # which a training's own clock notes
    return failure
