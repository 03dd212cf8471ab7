"""Kills, full disks and competing processes, with real processes."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest
import torch
from tests.read_only import read_only

from zerosnet import InputError
from zerosnet.training import CheckpointError, RunSpec, Store, read_checkpoint, write_checkpoint

SPEC = RunSpec.from_json({"model": "zerosnet20_opt", "dataset": "digits", "recipe": "quick", "seed": 1})

WORKER = """
import json, sys, time
from dataclasses import replace
from zerosnet.training import Result, RunSpec, Store
store, spec = Store(sys.argv[1]), RunSpec.from_json(json.loads(sys.argv[2]))
print("ready", flush=True)
sys.stdin.readline()
for seed in range(12):
    run = store.claim(replace(spec, seed=seed))
    if run is None:
        continue
    with run:
        if run.result() is None:
            run.append_metrics({"epoch": 1, "by": sys.argv[3]})
            time.sleep(0.01)
            run.finish(Result("finished", epochs=1, seconds=0.01, test_accuracy=0.5), lambda p: p.write_bytes(b"w"))
"""

ENDLESS = """
import sys, torch
import json
from zerosnet.training import RunSpec, Store
run = Store(sys.argv[1]).claim(RunSpec.from_json(json.loads(sys.argv[2])))
found = run.load_checkpoint()
position = found.position if found else 0
run.rewind(position)
print("from", position, flush=True)
while True:
    position += 1
    run.append_metrics({"epoch": position})
    run.save_checkpoint(position, {"w": torch.full((200_000,), float(position))}, {"epoch": position})
    print(position, flush=True)
"""


def start(code, *arguments):
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)


def test_two_processes_on_one_store_run_every_spec_once_and_lose_none(tmp_path):
    workers = [start(WORKER, tmp_path, json.dumps(SPEC.to_json()), name) for name in "ab"]
    for worker in workers:
        assert worker.stdout.readline() == "ready\n"
    for worker in workers:
        worker.stdin.write("go\n")
        worker.stdin.flush()
    assert [worker.wait(timeout=300) for worker in workers] == [0, 0]
    store = Store(tmp_path)
    records = store.records()
    assert sorted(record.spec.seed for record in records) == list(range(12))
    assert all(record.status == "finished" and len(record.metrics()) == 1 for record in records)
    assert all((record.folder / "weights.safetensors").read_bytes() == b"w" for record in records)


def test_after_kill_9_while_writing_checkpoints_nothing_acknowledged_is_lost(tmp_path):
    rng = random.Random(0)
    store, acknowledged = Store(tmp_path), 0
    for _ in range(3):
        process = start(ENDLESS, tmp_path, json.dumps(SPEC.to_json()))
        first = process.stdout.readline().split()
        assert first[0] == "from" and int(first[1]) >= acknowledged
        acknowledged = int(process.stdout.readline())
        assert store.find(SPEC.id).status == "running" and store.claim(SPEC) is None
        time.sleep(rng.uniform(0, 0.05))
        process.send_signal(signal.SIGKILL)
        lines = process.stdout.read().split("\n")
        process.wait()
        acknowledged = max([acknowledged, *map(int, lines[:-1])])
        with store.claim(SPEC) as run:  # the kernel let go of the lock
            found = run.load_checkpoint()
            assert found is not None and found.position >= acknowledged and found.damaged == ()
            assert found.state == {"epoch": found.position}
            assert torch.equal(found.tensors["w"], torch.full((200_000,), float(found.position)))
            assert [row["epoch"] for row in run.metrics()][: found.position] == list(range(1, found.position + 1))
    assert acknowledged > 0


@pytest.fixture
def tiny_disk(tmp_path):
    """A file system of 256 KiB, where this process may mount one."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(place)]
    try:
        done = subprocess.run(mount, capture_output=True, timeout=60)
    except OSError:
        pytest.skip("no mount command")
    if done.returncode:
        pytest.skip("mounting a file system is not allowed here")
    yield place
    subprocess.run(["umount", str(place)], check=True, timeout=60)


def test_a_really_full_disk_leaves_the_checkpoint_before_it(tiny_disk):
    folder = tiny_disk / SPEC.id / "checkpoints"
    write_checkpoint(folder, 1, {"w": torch.ones(30_000)}, {"epoch": 1})
    with pytest.raises(CheckpointError, match=f"{SPEC.id} at step 2 not written: the disk is full"):
        write_checkpoint(folder, 2, {"w": torch.ones(60_000)}, {"epoch": 2})
    assert read_checkpoint(folder).state == {"epoch": 1}
    write_checkpoint(folder, 3, {"w": torch.ones(100)}, {"epoch": 3})  # nothing half-written takes up the room
    assert read_checkpoint(folder).state == {"epoch": 3}


@pytest.mark.parametrize("spec", [SPEC, replace(SPEC, seed=2)], ids=["begun", "new"])
def test_a_store_that_cannot_be_written_is_refused_for_new_runs_and_begun_ones(tmp_path, spec):
    store = Store(tmp_path)
    store.claim(SPEC).release()
    with read_only(tmp_path), pytest.raises(InputError, match=rf"store {tmp_path} cannot be written \("):
        store.claim(spec)
