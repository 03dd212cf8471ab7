import threading
import time

import pytest

from zerosnet.training import BackgroundWriter


def test_jobs_run_in_order_beside_the_caller():
    done, gate = [], threading.Event()
    with BackgroundWriter() as writer:
        writer.submit([gate.wait, lambda: done.append(1), lambda: done.append(2)])
        assert done == []
        gate.set()
        writer.submit([lambda: done.append(3)])
        writer.wait()
        assert done == [1, 2, 3]


def test_leaving_waits_until_everything_is_written():
    done = []
    with BackgroundWriter() as writer:
        writer.submit([lambda: time.sleep(0.05), lambda: done.append(1)])
    assert done == [1]


def test_a_failure_is_raised_by_the_next_call_and_costs_the_others_nothing():
    def fail():
        raise OSError("the disk is full")

    done = []
    with BackgroundWriter() as writer:
        writer.submit([fail, lambda: done.append(1)])
        with pytest.raises(OSError, match="the disk is full"):
            writer.submit([lambda: done.append(2)])
        writer.submit([lambda: done.append(3)])
    assert done == [1, 3]


def test_the_error_of_the_training_is_not_hidden_by_that_of_the_writer():
    def fail():
        raise OSError("the disk is full")

    with pytest.raises(ZeroDivisionError), BackgroundWriter() as writer:
        writer.submit([fail])
        raise ZeroDivisionError
