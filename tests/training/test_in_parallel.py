"""Groups side by side, and what an interrupt does to them."""

import os
import queue
import signal
import threading
import time

import pytest

from zerosnet.training.parallel import in_parallel


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
