"""Several devices of one machine: a process each, and one store. The devices here are the CPU, twice."""

import json
import os
import signal
import threading
import time
from pathlib import Path

import pytest
import torch
from tests.training.test_kill import outcome

from zerosnet import InputError
from zerosnet.cli.main import run
from zerosnet.numerics import Scheme
from zerosnet.training import Clock, Options, RunSpec, SaveInterval, Store, recipe, train
from zerosnet.training.cluster import Collected
from zerosnet.training.devices import train_on_devices
from zerosnet.training.engine import Local, Plan
from zerosnet.training.machine import all_devices

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
    said = Collected()
    train_on_devices(["cpu", "cpu"], specs(), Store(tmp_path / "two"), OPTIONS, Clock(), said)
    train(specs(), Store(tmp_path / "one"), OPTIONS)
    assert "2 group(s) of networks on cpu, cpu" in said.lines
    assert outcome(tmp_path / "two") == outcome(tmp_path / "one")
    train_on_devices(["cpu", "cpu"], specs(), Store(tmp_path / "two"), OPTIONS, Clock(), said)  # nothing is left to do


@pytest.mark.slow
def test_a_signal_stops_all_processes_with_checkpoints(tmp_path: Path):
    store, clock = Store(tmp_path), Clock()

    def interrupt() -> None:
        while len(list(tmp_path.glob("*/metrics.jsonl"))) < 2:
            time.sleep(0.1)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=interrupt, daemon=True).start()
    train_on_devices(["cpu", "cpu"], specs(200), store, OPTIONS, clock, Collected())
    assert clock.signal == signal.SIGTERM
    assert all(record.result is None and list(record.folder.glob("checkpoint*")) for record in store.records())


@pytest.mark.slow
def test_the_failure_of_a_process_is_raised(tmp_path: Path):
    with pytest.raises((InputError, OSError)):
        train_on_devices(["cpu", "cuda:7"], specs(), Store(tmp_path), OPTIONS, Clock(), Collected())
