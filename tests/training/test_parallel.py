"""Groups side by side, and what an interrupt does to them."""

import os
import queue
import signal
import threading
import time

import pytest
import torch

from zerosnet.training import threads as parallel
from zerosnet.training.threads import in_parallel


@pytest.mark.parametrize("pause", [0.0, 0.2], ids=["while groups are handed out", "afterwards"])
def test_an_interrupt_stops_groups_at_work_and_begins_no_other(pause: float):
    stop, begun, told = threading.Event(), [], queue.Queue()

    def work(item: int) -> None:
        begun.append(item)
        if len(begun) == 2:
            time.sleep(pause)
            os.kill(os.getpid(), signal.SIGINT)
        told.put(stop.wait(60))

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            in_parallel(work, range(4), 2, one_thread=False, stop=stop)
    finally:
        signal.signal(signal.SIGINT, before)
    # a thread that was being started when the interrupt came is not waited for
    assert [told.get(timeout=60) for _ in range(2)] == [True, True]
    assert begun == [0, 1]


def stat(*rows: tuple[int, int, int]) -> str:
    """What /proc/stat tells: user, idle and iowait of every core, among others."""
    lines = [f"cpu{core} {user} 0 0 {idle} {wait} 0 0 0 0 0" for core, (user, idle, wait) in enumerate(rows)]
    return "\n".join(["cpu 1 2 3 4 5 6 7 8 9 10", *lines, "intr 5", ""])


@pytest.mark.parametrize(
    ("busy", "expected"), [((0, 0, 0, 0), 4), ((20, 20, 0, 0), 2), ((20, 20, 20, 20), 1), ((8, 8, 0, 0), 3)]
)
def test_threads_are_as_many_as_cores_are_idle(busy, expected, monkeypatch):
    texts = iter([stat(*[(100, 100, 5)] * 4), stat(*[(100 + n, 110 - n, 15) for n in busy])])
    monkeypatch.setattr(parallel, "WATCH", 0.0)
    monkeypatch.setattr(parallel, "cores", lambda: 4)
    monkeypatch.setattr(parallel.os, "sched_getaffinity", lambda _: {0, 1, 2, 3}, raising=False)
    monkeypatch.setattr(parallel.Path, "read_text", lambda _: next(texts))
    assert parallel.idle_cores() == expected


def test_all_cores_count_as_idle_if_the_load_is_unknown(monkeypatch):
    monkeypatch.setattr(parallel, "cores", lambda: 4)
    monkeypatch.setattr(parallel, "_times", dict)
    assert parallel.idle_cores() == 4


@pytest.mark.parametrize(
    ("workers", "one_thread", "expected"), [(1, False, 3), (2, False, 1), (1, True, 1), (4, False, 1)]
)
def test_every_group_has_its_share_of_the_idle_cores(workers, one_thread, expected, monkeypatch):
    monkeypatch.setattr(parallel, "idle_cores", lambda: 3)
    seen = []
    torch.set_num_threads(4)
    in_parallel(lambda item: seen.append(torch.get_num_threads()), [1], workers, one_thread=one_thread)
    assert (seen, torch.get_num_threads()) == ([expected], 4)
