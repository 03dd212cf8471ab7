import errno
import json
import pickle
import struct
import subprocess
import sys
import threading
import time

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from zerosnet import files
from zerosnet.training import BackgroundWriter, CheckpointError, join, read_checkpoint, snapshot, write_checkpoint
from zerosnet.training.runs.checkpoint import positions

TENSORS = {
    "weight": torch.randn(4, 3, generator=torch.Generator().manual_seed(0)),
    "momentum": torch.full((2,), float("nan")),
    "count": torch.tensor([7], dtype=torch.int64),
    "half": torch.ones(3, dtype=torch.bfloat16),
    "flags": torch.tensor([True, False]),
    "nothing": torch.zeros(0),
}


def equal(a, b):
    return a.keys() == b.keys() and all(
        a[k].dtype == b[k].dtype and torch.equal(a[k].nan_to_num(nan=3.0), b[k].nan_to_num(nan=3.0)) for k in a
    )


def test_a_checkpoint_is_read_back_bit_for_bit(tmp_path):
    state = {"epoch": 3, "loss": 0.1 + 0.2, "name": "ü", "none": None}
    write_checkpoint(tmp_path, 42, TENSORS, state)
    found = read_checkpoint(tmp_path)
    assert (found.position, found.state, found.damaged) == (42, state, ())
    assert equal(found.tensors, TENSORS)


def test_no_checkpoint_is_none(tmp_path):
    assert read_checkpoint(tmp_path / "none") is None


def test_the_last_two_are_kept(tmp_path):
    for position in (1, 2, 10, 30):
        write_checkpoint(tmp_path, position, TENSORS, {})
    assert positions(tmp_path) == [10, 30]


def test_an_older_one_can_be_asked_for(tmp_path):
    for position in (10, 20):
        write_checkpoint(tmp_path, position, TENSORS, {"at": position})
    assert [read_checkpoint(tmp_path, at_most=p).state["at"] for p in (20, 19, 10)] == [20, 10, 10]
    assert read_checkpoint(tmp_path, at_most=9) is None


def test_a_run_continued_from_before_a_damaged_one_forgets_the_damaged_one(tmp_path):
    for position in (10, 20):
        write_checkpoint(tmp_path, position, TENSORS, {"at": position})
    (tmp_path / "000000000020.safetensors").write_bytes(b"damaged")
    write_checkpoint(tmp_path, 15, TENSORS, {"at": 15})
    assert read_checkpoint(tmp_path).state == {"at": 15}
    assert positions(tmp_path) == [10, 15]


def damaged_copies(content: bytes):
    header = struct.unpack("<Q", content[:8])[0]
    middle = 8 + header + (len(content) - 8 - header) // 2
    yield "empty", b""
    yield "truncated header", content[:20]
    yield "truncated data", content[: len(content) - 5]
    yield "flipped bit in the data", content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]
    yield "changed state", content.replace(b'epoch\\": 2', b'epoch\\": 9')
    yield "zeros", bytes(len(content))
    yield "a pickle", pickle.dumps({"a": 1})
    yield "longer", content + b"\0"


def test_a_damaged_checkpoint_is_recognised_and_the_one_before_it_used(tmp_path):
    write_checkpoint(tmp_path, 1, TENSORS, {"epoch": 1})
    path = write_checkpoint(tmp_path, 2, TENSORS, {"epoch": 2})
    whole = path.read_bytes()
    for kind, content in damaged_copies(whole):
        assert content != whole, kind
        path.write_bytes(content)
        found = read_checkpoint(tmp_path)
        assert found is not None and found.state == {"epoch": 1}, kind
        assert len(found.damaged) == 1 and path.name in found.damaged[0], kind


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_changed_byte_is_recognised(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("flip")
    path = write_checkpoint(folder, 1, {"w": torch.arange(10.0)}, {"epoch": 1})
    content = bytearray(path.read_bytes())
    place = data.draw(st.integers(0, len(content) - 1))
    content[place] ^= data.draw(st.integers(1, 255))
    path.write_bytes(content)
    found = read_checkpoint(folder)
    assert found is None or (torch.equal(found.tensors["w"], torch.arange(10.0)) and found.state == {"epoch": 1})


def test_a_checkpoint_renamed_to_another_position_is_not_believed(tmp_path):
    path = write_checkpoint(tmp_path, 1, TENSORS, {})
    path.rename(tmp_path / "000000000009.safetensors")
    assert read_checkpoint(tmp_path) is None


def test_all_damaged_is_none(tmp_path):
    write_checkpoint(tmp_path, 1, TENSORS, {}).write_bytes(b"")
    assert read_checkpoint(tmp_path) is None


def test_a_full_disk_is_reported_and_leaves_the_previous_checkpoint(tmp_path, monkeypatch):
    folder = tmp_path / "run-s1" / "checkpoints"
    write_checkpoint(folder, 1, TENSORS, {"epoch": 1})

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(
        CheckpointError, match="run-s1 at step 2 not written: the disk is full; the one at step 1 is intact"
    ):
        write_checkpoint(folder, 2, TENSORS, {"epoch": 2})
    monkeypatch.undo()
    assert read_checkpoint(folder).state == {"epoch": 1}
    assert [p.name for p in folder.iterdir()] == ["000000000001.safetensors"]


def test_a_write_that_breaks_off_half_way_leaves_the_previous_one(tmp_path):
    """A real short write: the kernel refuses to let the file grow any further."""
    code = (
        "import resource, sys, torch; from pathlib import Path; from zerosnet.training import write_checkpoint\n"
        "folder = Path(sys.argv[1]); write_checkpoint(folder, 1, {'w': torch.ones(1000)}, {'epoch': 1})\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, resource.RLIM_INFINITY))\n"
        "try: write_checkpoint(folder, 2, {'w': torch.ones(1_000_000)}, {'epoch': 2})\n"
        "except OSError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True)
    assert "step 2 not written: the disk is full; the one at step 1 is intact" in done.stdout
    assert [p.name for p in tmp_path.iterdir()] == ["000000000001.safetensors"]
    assert read_checkpoint(tmp_path).state == {"epoch": 1}


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 5), st.integers(0, 5))
def test_snapshots_are_the_replicas_parts_and_join_gives_the_whole(replicas, more):
    whole = {
        "a": torch.randn(replicas * 3, 2, 2),
        "b": torch.arange(replicas),
        "c": torch.randn(replicas, more),
        "d": torch.randn(replicas * 2, dtype=torch.float64),
    }
    parts = snapshot(whole, replicas)
    assert len(parts) == replicas and all(part["a"].shape == (3, 2, 2) for part in parts)
    for name, tensor in whole.items():
        for k, part in enumerate(parts):
            assert torch.equal(part[name].reshape(-1), tensor.reshape(replicas, -1)[k])
            assert part[name].dtype == tensor.dtype
    joined = join(parts)
    assert all(torch.equal(joined[name], whole[name]) for name in whole)


def test_a_snapshot_does_not_follow_the_training(tmp_path):
    whole = {"a": torch.zeros(4)}
    (part,) = snapshot(whole, 1)
    whole["a"].add_(1)
    assert torch.equal(part["a"], torch.zeros(4))


def test_the_file_is_plain_safetensors_with_json_inside(tmp_path):
    from safetensors import safe_open

    path = write_checkpoint(tmp_path, 5, TENSORS, {"epoch": 5})
    with safe_open(path, framework="pt") as file:
        assert json.loads(file.metadata()["state"]) == {"epoch": 5}
        assert set(file.keys()) == set(TENSORS)


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
