"""Plain CPU training on cores that other programs use, too: seconds of an epoch, beside one thread per network.

Other programs are loops in processes of their own, two per core. Threads that fight for cores with them took up to
84 s an epoch on two cores; `--deterministic`, which takes one thread per network, is the measure of what is possible.
"""

import json
import multiprocessing
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.record import on_cpu
from zerosnet.environment import usable_cores

EPOCHS = 4
PER_CORE = 2
WAYS: dict[str, list[str]] = {"plain": [], "deterministic": ["--deterministic"]}
suffix = on_cpu


def run() -> dict[str, Any]:
    cases = []
    for others in (0, PER_CORE * usable_cores()):
        with _busy(others):
            load = os.getloadavg()[0]
            for way, options in WAYS.items():
                case = {"others": others, "way": way, "load": round(load, 1), **_epochs(options)}
                print(f"   {others} other processes, {way}: {case['epoch_seconds']} s an epoch", flush=True)
                cases.append(case)
    return {"epochs": EPOCHS, "cases": cases}


def _epochs(options: list[str]) -> dict[str, Any]:
    """Train a small network; return the median of its epochs, and the slowest one."""
    given = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}
    with tempfile.TemporaryDirectory() as store:
        words = f"train zerosnet20_opt --dataset digits --device cpu --recipe quick --epochs {EPOCHS}".split()
        command = [sys.executable, "-m", "zerosnet", *words, "--store", store, *options]
        subprocess.run(command, env=given, check=True, capture_output=True)
        lines = next(Path(store).glob("*/metrics.jsonl")).read_text().splitlines()
    seconds = [json.loads(line)["seconds"] for line in lines]
    return {"epoch_seconds": round(statistics.median(seconds), 2), "slowest_epoch_seconds": round(max(seconds), 2)}


@contextmanager
def _busy(count: int) -> Iterator[None]:
    """Keep so many processes at work."""
    context = multiprocessing.get_context("spawn")
    others = [context.Process(target=_spin, daemon=True) for _ in range(count)]
    for process in others:
        process.start()
    try:
        yield
    finally:
        for process in others:
            process.kill()
            process.join()


def _spin() -> None:
    while True:
        pass
