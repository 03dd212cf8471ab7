"""Real processes that are killed, stopped and run side by side, and what is left of their runs: everything."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file

SEEDS = ("1", "2")
COMMAND = ("train", "zerosnet20_opt", "--dataset", "digits", "--recipe", "quick", "--epochs", "2", "--device", "cpu")
PLAIN = ("-m", "zerosnet")
# holds itself up in its first epoch, so that it cannot be over before a signal comes
HELD_UP = """
import itertools, os, signal
from zerosnet.training import Clock

asked, times = Clock.must_stop, itertools.count(1)

def must_stop(clock):
    if next(times) == 20:
        os.kill(os.getpid(), signal.SIGSTOP)
    return asked(clock)

Clock.must_stop = must_stop
from zerosnet.__main__ import main
main()
"""


def start(store: Path, *options: str, program: tuple[str, str] = PLAIN) -> subprocess.Popen[str]:
    chosen = [word for seed in SEEDS for word in ("--seed", seed)]
    command = [sys.executable, *program, *COMMAND, *chosen, "--deterministic", "--store", str(store), *options]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(process: subprocess.Popen[str], code: int = 0) -> tuple[str, str]:
    out, err = process.communicate(timeout=600)
    assert process.returncode == code, err
    return out, err


def begun(store: Path, process: subprocess.Popen[str]) -> None:
    """Wait until the process trains."""
    deadline = time.monotonic() + 300
    while not list(store.glob("*/environment.json")) and process.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def outcome(store: Path) -> dict[str, Any]:
    found = {}
    for folder in sorted(store.iterdir()):
        rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
        weights = {name: t.numpy().tobytes() for name, t in load_file(folder / "weights.safetensors").items()}
        found[folder.name] = ([{k: v for k, v in row.items() if k != "seconds"} for row in rows], weights)
    return found


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    store = tmp_path_factory.mktemp("undisturbed")
    finish(start(store))
    return outcome(store)


def test_a_run_killed_at_random_moments_ends_as_if_it_had_never_been(
    tmp_path: Path, undisturbed: dict[str, Any]
) -> None:
    moments = random.Random(0)
    for _ in range(2):
        process = start(tmp_path, "--checkpoint-every", "0.1s")
        begun(tmp_path, process)
        time.sleep(moments.uniform(0.2, 1.0))
        process.send_signal(signal.SIGKILL)
        process.communicate()
    finish(start(tmp_path, "--checkpoint-every", "0.1s"))
    assert outcome(tmp_path) == undisturbed


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), pytest.param(signal.SIGTERM, 143, marks=pytest.mark.slow)]
)
def test_a_signal_stops_cleanly_and_the_same_command_goes_on(
    number: signal.Signals, code: int, tmp_path: Path, undisturbed: dict[str, Any]
) -> None:
    process = start(tmp_path, program=("-c", HELD_UP))
    assert os.WIFSTOPPED(os.waitpid(process.pid, os.WUNTRACED)[1])
    process.send_signal(number)
    process.send_signal(signal.SIGCONT)
    _, err = finish(process, code)
    assert f"stopped by {number.name}; the same command goes on" in err
    assert list(tmp_path.glob("*/checkpoints/*.safetensors"))
    finish(start(tmp_path))
    assert outcome(tmp_path) == undisturbed


@pytest.mark.slow
def test_a_time_limit_stops_cleanly_and_is_no_failure(tmp_path: Path, undisturbed: dict[str, Any]) -> None:
    process = start(tmp_path, "--max-seconds", "0.5", "--json")
    out, err = finish(process)
    statuses = [run["status"] for run in json.loads(out)]
    assert set(statuses) <= {"stopped", "waiting"} and "time limit" in err
    finish(start(tmp_path))
    assert outcome(tmp_path) == undisturbed


def test_two_processes_on_one_store_share_the_work(tmp_path: Path, undisturbed: dict[str, Any]) -> None:
    processes = [start(tmp_path, "--replicas", "1", "--json") for _ in range(2)]
    errors = [finish(process)[1] for process in processes]
    if len(list(tmp_path.glob("*/result.json"))) < len(SEEDS):  # one was in hands that were about to let it go
        finish(start(tmp_path))
    assert outcome(tmp_path) == undisturbed
    trained = [line for error in errors for line in error.splitlines() if line.startswith("training")]
    assert len(trained) == len(set(trained)) == len(SEEDS)
