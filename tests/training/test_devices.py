"""Several devices of one machine: a process each, and one store. The devices here are the CPU, twice."""

import errno
import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from multiprocessing import Pipe, get_context
from pathlib import Path

import pytest
import torch
from tests.data.pictures import write_folder
from tests.training.processes import options as streamed_options
from tests.training.processes import spec as streamed_spec
from tests.training.test_kill import outcome

from zerosnet import InputError
from zerosnet.cli.main import run
from zerosnet.errors import MissingExtra
from zerosnet.numerics import Scheme
from zerosnet.training import Clock, Options, RunSpec, SaveInterval, Store, devices, recipe, train
from zerosnet.training.cluster import Collected
from zerosnet.training.devices import ToldClock, train_on_devices
from zerosnet.training.engine import Local, Plan
from zerosnet.training.machine import all_devices, process_seconds, torch_settings

OPTIONS = Options("cpu", replicas=1, deterministic=True, checkpoint_every=SaveInterval(seconds=0.1))


def specs(epochs: int = 1) -> list[RunSpec]:
    book = recipe("quick", "digits", epochs=epochs)
    return [RunSpec("zerosnet20", "digits", book, 1, Scheme.parse(f"zerosnet({value})")) for value in ("1/2", "10")]


@pytest.mark.parametrize(
    ("name", "gpus", "expected"),
    [
        ("auto", 3, ["cuda:0", "cuda:1", "cuda:2"]),
        ("auto", 1, ["auto"]),
        ("auto", 0, ["auto"]),
        ("cuda:1", 3, ["cuda:1"]),
        ("cpu", 3, ["cpu"]),
    ],
)
def test_auto_stands_for_all_gpus(monkeypatch, name, gpus, expected):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: gpus)
    assert all_devices(name) == expected


def test_the_gpu_that_trains_is_the_current_one(monkeypatch):
    current = []

    @contextmanager
    def device(chosen):
        current.append(chosen)
        yield
        current.pop()

    monkeypatch.setattr(torch.cuda, "device", device)
    with torch_settings(torch.device("cuda:1"), deterministic=False):
        assert current == [torch.device("cuda:1")]
    with torch_settings(torch.device("cpu"), deterministic=False):
        assert current == []


def test_several_runs_are_shared_out_and_one_is_not(monkeypatch, tmp_path):
    calls = []
    monkeypatch.setattr("zerosnet.training.engine.all_devices", lambda name: ["cpu", "cpu"])
    monkeypatch.setattr("zerosnet.training.devices.train_on_devices", lambda *given: calls.append("devices"))
    monkeypatch.setattr(
        "zerosnet.training.engine.plan_arrays", lambda *given: calls.append("here") or Plan([], {}, {}, None)
    )
    for count in (1, 2):
        Local().train(specs()[:count], Store(tmp_path), OPTIONS, Clock(), Collected())
    train(specs(), Store(tmp_path), OPTIONS)
    assert calls == ["here", "devices", "here"]


@pytest.mark.parametrize(("asked", "expected"), [([], [["cuda:0", "cuda:1"]]), (["--device", "cpu"], [])])
def test_a_sweep_uses_all_gpus_without_being_told(monkeypatch, tmp_path, asked, expected):
    used = []
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr("zerosnet.training.devices.train_on_devices", lambda names, *given: used.append(names))
    (tmp_path / "sweep.json").write_text(json.dumps([spec.to_json() for spec in specs()]))
    assert run(["sweep", str(tmp_path / "sweep.json"), "--store", str(tmp_path / "runs"), *asked]) == 0
    assert used == expected and len(list(tmp_path.glob("runs/*/result.json"))) == (0 if expected else 2)


def test_two_processes_train_what_one_would(tmp_path: Path):
    before = process_seconds()
    said = Collected()
    profiled = replace(OPTIONS, profile_start=True)
    train_on_devices(["cpu", "cpu"], specs(), Store(tmp_path / "two"), profiled, Clock(), said)
    (start,) = [line for line in said.lines if line.startswith("start: ")]
    assert float(start.split()[1]) > before
    train(specs(), Store(tmp_path / "one"), OPTIONS)
    assert "2 group(s) of networks on cpu, cpu" in said.lines
    assert outcome(tmp_path / "two") == outcome(tmp_path / "one")
    train_on_devices(["cpu", "cpu"], specs(), Store(tmp_path / "two"), OPTIONS, Clock(), said)  # nothing is left to do


MANY = [replace(spec, seed=seed) for spec in specs(200) for seed in (1, 2, 3)]


@pytest.fixture
def held_up(monkeypatch, tmp_path: Path) -> Path:
    """Processes that train nothing: each notes that it has begun, and waits until its clock tells it to stop."""

    def wait_for_the_clock(members, store, options, clock, progress):
        (store.root / members[0].id).mkdir()
        progress.report(f"begun {members[0].id}")
        if options.device == "cuda:7":
            raise InputError("device is cuda:7; expected another")
        with clock:
            end = time.monotonic() + 60
            while not clock.must_stop() and time.monotonic() < end:
                time.sleep(0.01)

    monkeypatch.setattr(devices, "get_context", lambda name: get_context("fork"))
    monkeypatch.setattr(devices, "train", wait_for_the_clock)
    return tmp_path


def send_when_begun(store: Path, number: signal.Signals, process: int, files: str = "*") -> None:
    def send() -> None:
        while len(list(store.glob(files))) < 2:
            time.sleep(0.02)
        os.kill(process, number)

    threading.Thread(target=send, daemon=True).start()


@pytest.mark.parametrize("cause", ["signal", "time limit", "failure"])
def test_what_stops_the_groups_at_work_begins_no_other(held_up: Path, cause: str):
    clock, said, names = Clock(1.5 if cause == "time limit" else None), Collected(), ["cpu", "cpu"]
    if cause == "signal":
        send_when_begun(held_up, signal.SIGTERM, os.getpid())
    failure = pytest.raises(InputError, match="device is cuda:7") if cause == "failure" else nullcontext()
    with failure:
        names = ["cpu", "cuda:7"] if cause == "failure" else names
        train_on_devices(names, MANY, Store(held_up), OPTIONS, clock, said)
    begun = [path.name for path in held_up.iterdir()]
    assert len(begun) <= 2 and {f"begun {name}" for name in begun} <= set(said.lines)
    assert clock.must_stop() and (clock.signal is not None) == (cause == "signal")


def test_the_death_of_a_process_stops_the_others(held_up: Path, monkeypatch):
    working = devices.train

    def die(members, *given):
        if members == [MANY[0]]:
            os.kill(os.getpid(), signal.SIGKILL)
        working(members, *given)

    monkeypatch.setattr(devices, "train", die)
    with pytest.raises(OSError, match="ended with code -9; run the command again"):
        train_on_devices(["cpu", "cpu"], MANY, Store(held_up), OPTIONS, Clock(), Collected())
    assert len(list(held_up.iterdir())) <= 1


def test_the_last_words_of_a_process_are_heard(held_up: Path, monkeypatch):
    said, lines = Collected(), [f"line {number}" for number in range(50)]

    def fail(members, store, options, clock, progress):
        for line in lines:
            progress.report(line)
        raise InputError("the end")

    monkeypatch.setattr(devices, "train", fail)
    monkeypatch.setattr(said, "report", lambda line: (time.sleep(0.005), said.lines.append(line)))
    with pytest.raises(InputError, match="the end"):
        train_on_devices(["cpu"], MANY, Store(held_up), OPTIONS, Clock(), said)
    assert said.lines[-50:] == lines


def test_a_process_stops_when_it_is_told_or_left_alone():
    for stop in (lambda line: line.send(None), lambda line: line.close()):
        ours, theirs = Pipe()
        clock = ToldClock(theirs, None)
        assert not clock.must_stop()
        stop(ours)
        assert clock.must_stop() and clock.signal is None
    assert ToldClock(Pipe()[0], time.time() - 1).must_stop()


def test_devices_are_used_from_any_thread(held_up: Path):
    done = []

    def beside() -> None:
        train_on_devices(["cpu", "cpu"], MANY, Store(held_up), OPTIONS, Clock(0.5), Collected())
        done.append(True)

    thread = threading.Thread(target=beside)
    thread.start()
    thread.join()
    assert done and len(list(held_up.iterdir())) <= 2


def test_an_interrupt_is_not_noticed_by_a_process_that_loads(held_up: Path, monkeypatch, capfd):
    working = devices._work

    def interrupted(*given):
        os.kill(os.getpid(), signal.SIGINT)
        working(*given)

    monkeypatch.setattr(devices, "_work", interrupted)
    monkeypatch.setattr(devices, "train", lambda members, *_: (held_up / members[0].id).touch())
    train_on_devices(["cpu", "cpu"], MANY, Store(held_up), OPTIONS, Clock(), Collected())
    assert len(list(held_up.iterdir())) == len(MANY) and capfd.readouterr() == ("", "")
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
def test_processes_that_fail_together_print_nothing(held_up: Path, monkeypatch, capfd, error):
    def fail(*_):
        raise error

    monkeypatch.setattr(devices, "train", fail)
    expected = pytest.raises(OSError, match="No space") if isinstance(error, OSError) else nullcontext()
    with expected:
        train_on_devices(["cpu", "cpu"], MANY, Store(held_up), OPTIONS, Clock(), Collected())
    assert capfd.readouterr() == ("", "")


class TwoWords(RuntimeError):
    """An error that is written, but not read: pickle gives its message to a class that expects two words."""

    def __init__(self, one: str, other: str) -> None:
        super().__init__(f"{one} {other}")


class Attached(RuntimeError):
    """An error that cannot be written: it holds a function without a name."""

    def __init__(self) -> None:
        super().__init__("compiler failed")
        self.function = lambda: None


@pytest.mark.parametrize(
    ("error", "kind", "message"),
    [
        (TwoWords("compiler", "failed"), RuntimeError, "TwoWords: compiler failed"),
        (Attached(), RuntimeError, "Attached: compiler failed"),
        (MissingExtra("ray", "ray"), InputError, str(MissingExtra("ray", "ray"))),
        (OSError(errno.ENOSPC, "full"), OSError, "[Errno 28] full"),
    ],
)
def test_errors_that_cannot_be_sent_come_as_their_message(held_up: Path, monkeypatch, error, kind, message):
    def fail(*_):
        raise error

    monkeypatch.setattr(devices, "train", fail)
    with pytest.raises(kind) as caught:
        train_on_devices(["cpu", "cpu"], MANY, Store(held_up), OPTIONS, Clock(), Collected())
    assert type(caught.value) is kind and str(caught.value) == message


PARENT = """
import sys
from tests.training.test_devices import MANY, OPTIONS
from zerosnet.training import Clock, Store
from zerosnet.training.cluster import Collected
from zerosnet.training.devices import train_on_devices
if __name__ == "__main__":
    train_on_devices(["cpu", "cpu"], MANY, Store(sys.argv[1]), OPTIONS, Clock(), Collected())
"""


@pytest.mark.slow
def test_processes_whose_parent_was_killed_stop_with_checkpoints(tmp_path: Path):
    store, program = tmp_path / "store", tmp_path / "program.py"
    program.write_text(PARENT)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen([sys.executable, str(program), str(store)], env=environment) as process:
        while len(list(store.glob("*/metrics.jsonl"))) < 2:
            time.sleep(0.1)
        process.kill()
    deadline = time.monotonic() + 60
    while any(record.status == "running" for record in Store(store).records()):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    begun = Store(store).records()
    assert len(begun) == 2
    assert all(record.result is None and list(record.folder.glob("checkpoint*")) for record in begun)


@pytest.mark.slow
def test_a_signal_stops_all_processes_with_checkpoints(tmp_path: Path):
    store, clock = Store(tmp_path), Clock()

    send_when_begun(tmp_path, signal.SIGTERM, os.getpid(), "*/metrics.jsonl")
    train_on_devices(["cpu", "cpu"], MANY, store, OPTIONS, clock, Collected())
    assert clock.signal == signal.SIGTERM and len(store.records()) == 2
    assert all(record.result is None and list(record.folder.glob("checkpoint*")) for record in store.records())


@pytest.mark.slow
def test_the_failure_of_a_process_is_raised(tmp_path: Path):
    with pytest.raises((InputError, OSError)):
        train_on_devices(["cpu", "cuda:7"], MANY, Store(tmp_path), OPTIONS, Clock(), Collected())


@pytest.mark.slow
def test_processes_may_have_workers_that_load_images(tmp_path: Path):
    folder, runs = write_folder(tmp_path / "images"), [replace(streamed_spec(), seed=seed) for seed in (1, 2)]
    runs = [replace(run, precision="fp32") for run in runs]
    given = streamed_options(folder, workers=1)
    train_on_devices(["cpu", "cpu"], runs, Store(tmp_path / "runs"), given, Clock(), Collected())
    assert [record.status for record in Store(tmp_path / "runs").records()] == ["finished"] * 2
