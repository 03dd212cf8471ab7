"""Results that are made before they are asked for: order, errors, and an end."""

import threading

import pytest

from zerosnet.data.streamed.prefetch import by_a_thread, one_ahead


def counting(last):
    numbers = iter(range(1, last + 1))
    return lambda: next(numbers, None)


@pytest.mark.parametrize("way", [one_ahead, lambda function: by_a_thread(function, 3)])
def test_all_results_come_in_order(way):
    assert list(way(counting(20))) == list(range(1, 21))
    assert list(way(counting(0))) == []


def threads():
    return [thread for thread in threading.enumerate() if thread.name == "ahead"]


def test_the_thread_is_so_many_ahead_and_ends_with_the_iterator():
    calls, third = [], threading.Event()

    def count():
        calls.append(len(calls))
        if len(calls) == 4:
            third.set()
        return len(calls)

    results = by_a_thread(count, 3)
    assert next(results) == 1
    assert third.wait(30) and len(calls) == 4  # one taken, three ahead
    results.close()
    assert not threads() and len(calls) == 4


def test_an_error_comes_in_its_place_and_nothing_is_called_after_it():
    calls = []

    def fails():
        calls.append(1)
        if len(calls) == 3:
            raise OSError("gone")
        return len(calls)

    results = by_a_thread(fails, 2)
    assert [next(results), next(results)] == [1, 2]
    with pytest.raises(OSError, match="gone"):
        next(results)
    assert len(calls) == 3 and not threads()


def test_closing_does_not_wait_for_a_call_that_hangs(monkeypatch):
    monkeypatch.setattr("zerosnet.data.streamed.prefetch.PARTING", 0.01)
    hang, began = threading.Event(), threading.Event()

    def function():
        if began.is_set():
            hang.wait(60)
        began.set()
        return 1

    results = by_a_thread(function, 2)
    assert next(results) == 1
    results.close()
    assert len(threads()) == 1
    hang.set()


def test_the_thread_calls_its_initialiser_first():
    names = []
    assert list(by_a_thread(counting(2), 1, lambda: names.append(threading.current_thread().name))) == [1, 2]
    assert names == ["ahead"]
