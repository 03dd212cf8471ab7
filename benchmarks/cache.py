"""Compile several networks at once, each in a process of its own that leaves what it made in the compiler's cache."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any


def fill_cache(compile_one: Callable[..., None], jobs: Sequence[tuple[Any, ...]], at_once: int | None = None) -> None:
    """Call `compile_one(*job)` for every job; both must be picklable. The cores are shared out among the processes."""
    if not jobs:
        return
    at_once = min(at_once or len(jobs), len(jobs))
    os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", str(max(2, len(os.sched_getaffinity(0)) // at_once)))
    with ProcessPoolExecutor(at_once, mp_context=get_context("spawn"), max_tasks_per_child=1) as pool:
        for done in [pool.submit(compile_one, *job) for job in jobs]:
            done.result()
