"""When a training stops and saves, and the seconds of its start."""

import os
import re
import signal
import time
from types import SimpleNamespace

import pytest
from tests.training.test_fused import MakeSpecs

from zerosnet.errors import InputError
from zerosnet.training import Clock, Options, SaveInterval, Store, train
from zerosnet.training import machine as start
from zerosnet.training.loop import FIRST_SAVE, SaveTimer
from zerosnet.training.machine import ECHO
from zerosnet.training.screen.displays import Lines


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A clock on the wall that only the test moves."""
    wall = SimpleNamespace(seconds=1000.0)
    for module in ("machine", "loop"):
        monkeypatch.setattr(f"zerosnet.training.{module}.time", SimpleNamespace(monotonic=lambda: wall.seconds))
    return wall


@pytest.mark.parametrize(
    ("text", "interval"),
    [("5", SaveInterval(epochs=5)), ("60s", SaveInterval(seconds=60)), ("0.5s", SaveInterval(seconds=0.5))],
)
def test_intervals_are_epochs_or_seconds(text: str, interval: SaveInterval) -> None:
    assert SaveInterval.parse(text) == interval and str(interval) == text


@pytest.mark.parametrize("text", ["", "0", "-1", "1.5", "5m", "s", "0s", "nan", "9" * 400, "9" * 400 + "s"])
def test_other_intervals_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="checkpoint-every"):
        SaveInterval.parse(text)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_is_noted_and_the_old_handler_comes_back(number: signal.Signals, now: SimpleNamespace) -> None:
    before = signal.getsignal(number)
    with Clock() as clock:
        assert not clock.must_stop()
        os.kill(os.getpid(), number)
        assert clock.must_stop()
        assert clock.signal == number
        now.seconds += ECHO / 2
        os.kill(os.getpid(), number)  # its echo, from whoever started this process
        now.seconds += ECHO
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), number)
            time.sleep(60)  # which the signal ends
    assert signal.getsignal(number) == before


def test_the_time_limit_is_kept(now: SimpleNamespace) -> None:
    clock = Clock(max_seconds=0.05)
    now.seconds += 0.04
    assert not clock.must_stop()
    now.seconds += 0.02
    assert clock.must_stop()
    for nothing in (0, -1, float("nan")):
        with pytest.raises(InputError, match="max-seconds"):
            Clock(max_seconds=nothing)


def test_an_error_in_one_group_stops_the_others() -> None:
    clock = Clock()
    with pytest.raises(RuntimeError), clock.stopped_by_errors():
        raise RuntimeError
    assert clock.must_stop()


def test_checkpoints_are_due_by_epochs_or_by_seconds(now: SimpleNamespace) -> None:
    by_epochs, by_seconds = SaveTimer(SaveInterval(epochs=3)), SaveTimer(SaveInterval(seconds=0.02))
    assert [by_epochs.due_after_epoch(epoch) for epoch in (1, 2, 3, 6)] == [False, False, True, True]
    assert not by_epochs.due_after_step() and not by_seconds.due_after_step()
    now.seconds += 0.03
    assert by_seconds.due_after_step() and by_seconds.due_after_epoch(1)
    by_seconds.saved()
    assert not by_seconds.due_after_step()


@pytest.mark.parametrize("every", [SaveInterval(seconds=3600), SaveInterval(epochs=5)])
def test_the_first_checkpoint_comes_in_the_first_twenty_seconds(every: SaveInterval, now: SimpleNamespace) -> None:
    timer = SaveTimer(every)
    assert not timer.due_after_step()
    now.seconds += FIRST_SAVE
    assert FIRST_SAVE <= 15 and timer.due_after_step()
    timer.saved()
    now.seconds += FIRST_SAVE
    assert not timer.due_after_step()


def test_parts_of_the_start_are_listed_in_order_each_with_its_own_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = iter([1.0, 3.5, 3.6, 9.0])
    monkeypatch.setattr(start, "_MARKS", {})
    monkeypatch.setattr(start, "process_seconds", lambda: next(seconds))
    monkeypatch.setattr(start.time, "process_time", lambda: 2.9)
    assert [start.mark(done) for done in ("imports", "data", "first step", "imports")] == [True, True, True, False]
    assert start.start_line() == "start: 3.6 s (imports 1.0, data 2.5, first step 0.1), CPU time 2.9 s"


def test_a_process_is_as_old_as_it_is() -> None:
    before = start.process_seconds()
    assert 0 < before <= start.process_seconds() < before + 60


def test_a_process_counts_from_the_start_of_the_command_if_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(start, "_MARKS", {})
    monkeypatch.setattr(start, "_COMMAND", [])
    assert abs(start.own_start().time - (time.time() - start.process_seconds())) < 1
    start.count_from(start.Start(time.time() - 1000, 2000.0))
    start.mark("imports")
    printed = re.fullmatch(r"start: ([\d.]+) s \(imports [\d.]+\), CPU time ([\d.]+) s", start.start_line())
    assert printed is not None and 1000 <= float(printed[1]) < 1060 and float(printed[2]) > 2000


def test_a_training_of_several_groups_prints_its_start_once_if_asked(
    make_specs: MakeSpecs, tmp_path, capsys, monkeypatch
) -> None:
    monkeypatch.setattr(start, "_MARKS", {})
    train(make_specs(2), Store(tmp_path), Options(device="cpu", profile_start=True, replicas=1), progress=Lines())
    printed = capsys.readouterr().err
    assert re.search(
        r"start: [\d.]+ s \(imports [\d.]+, data [\d.]+, network and kernels .*first step.*CPU time [\d.]+ s", printed
    )
    assert printed.count("start:") == 1
