"""A share that finds its place by itself, in a simulation of workers, a device and a trainer."""

import time

import pytest
import torch.multiprocessing as multiprocessing
from hypothesis import given
from hypothesis import strategies as st

from zerosnet.data.streamed.balance import START, Balance


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def started(clock=time.monotonic):
    balance = Balance(clock=clock)
    for _ in range(START):
        balance.waited(0.0)
    return balance


def trained(*, workers_ms, device_ms, compute_ms, batches=3000, ahead=15):
    """Batches a second once the share has settled, and the share.

    All workers together take `workers_ms` for a whole batch, the device `device_ms`, beside `compute_ms` for training.
    The workers are at most so many batches ahead, and decide about the share when they begin one.
    """
    clock = Clock()
    balance = Balance(clock=clock)
    done, free, began = [], 0.0, 0.0

    def begin(now):
        nonlocal free
        free = max(free, now) + (1 - balance.share) * workers_ms / 1e3
        done.append((free, balance.share))

    for _ in range(ahead):
        begin(0.0)
    for number in range(batches):
        ready, share = done[number]
        waited = max(0.0, ready - clock.now)
        clock.now += waited
        balance.waited(waited, pieces=0)
        begin(clock.now)
        clock.now += (compute_ms + share * device_ms) / 1e3
        if number == batches // 2:
            began = clock.now
    return (batches - 1 - batches // 2) / (clock.now - began), balance.share


@given(st.floats(1, 400), st.floats(1, 60), st.floats(5, 80))
def test_it_comes_near_the_best_share(workers_ms, device_ms, compute_ms):
    rate, _ = trained(workers_ms=workers_ms, device_ms=device_ms, compute_ms=compute_ms)
    best = min(max((1 - s / 200) * workers_ms, compute_ms + s / 200 * device_ms) for s in range(201))
    assert rate >= 0.93 * 1e3 / best


def test_workers_that_manage_are_left_alone():
    rate, share = trained(workers_ms=20, device_ms=12, compute_ms=37)
    assert share == 0 and rate == pytest.approx(1e3 / 37, rel=1e-3)


def test_a_pause_changes_little():
    clock = Clock()
    balance = started(clock)
    balance.waited(0.8)
    before = balance.share
    clock.now += 600
    balance.waited(0.0)
    assert before > 0.3 and balance.share == pytest.approx(before, abs=0.02)


def test_what_workers_take_to_start_does_not_count():
    balance = Balance()
    for _ in range(START):
        balance.waited(3.0)
    assert balance.share == 0
    balance.waited(60.0)
    assert balance.share == pytest.approx(0.5, abs=0.02)  # a second of it, not a minute
    balance.begin()
    balance.waited(3.0)
    assert balance.share == pytest.approx(0.5, abs=0.02)


def test_pieces_that_are_there_are_not_waited_for():
    balance = started(Clock())
    for _ in range(100):
        balance.waited(0.003, pieces=4)
    assert balance.share == 0


def test_a_given_share_stays():
    balance = Balance(0.25)
    balance.waited(100.0)
    assert balance.share == 0.25
    assert sum(balance.device_decodes(index) for index in range(1000)) == pytest.approx(250, abs=2)


def share_of(balance, answers):
    answers.put(balance.share)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_other_processes_see_it(method):
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"no {method} here")
    context = multiprocessing.get_context(method)
    balance, answers = started(), context.SimpleQueue()
    process = context.Process(target=share_of, args=(balance, answers))
    balance.waited(1.0)
    process.start()
    assert answers.get() == pytest.approx(balance.share, abs=1e-6) and balance.share > 0.4
    process.join()
