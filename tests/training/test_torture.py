"""The torture benchmark itself: its model of a disk, its faults, and a small part of it."""

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks.torture import power
from benchmarks.torture.disk import Event, Full, Log, watch

ROOT = Path(__file__).parents[2]
SMALL = {"train, in the middle of a write": 6, "sweep, two processes on one store": 3, "full disk": 2, "power cut": 2}
PART = f"""
import json
from benchmarks import torture
if __name__ == "__main__":
    for record in torture.run(plan={SMALL!r}):
        pass
    print(json.dumps(record))
"""


def changes(run: str, *, flush_content: bool = True, flush_name: bool = True) -> list[Event]:
    """List the changes that write a result, with or without one of the flushes."""
    events = [Event("mkdir", "/s"), Event("mkdir", run), Event("fsync", "/s")]
    for name in (*power.NEEDED, "result.json"):
        path, temporary = f"{run}/{name}", f"{run}/.{name}.tmp"
        events += [Event("create", temporary), Event("write", temporary, b"content\n")]
        events += [Event("fsync", temporary)] if flush_content else []
        events += [Event("replace", path, source=temporary)]
        events += [Event("fsync", run)] if flush_name or name == "result.json" else []
    return [*events, Event("unlink", f"{run}/nothing"), Event("unlink", f"{run}/nothing")]


def test_the_order_of_our_flushes_loses_nothing() -> None:
    assert power.states("/s", changes("/s/run"), lots=50)["wrong"] == []


@pytest.mark.parametrize("missing", ["flush_content", "flush_name"])
def test_a_missing_flush_is_found(missing: str) -> None:
    assert power.states("/s", changes("/s/run", **{missing: False}), lots=50)["wrong"]


def test_a_folder_whose_entry_is_not_flushed_may_take_a_finished_run_with_it() -> None:
    events = [event for event in changes("/s/run") if event.path != "/s" or event.what == "mkdir"]
    wrong = power.states("/s", events, lots=50)["wrong"]
    assert any("result.json was promised and is gone" in line for line in wrong)


def test_what_was_not_flushed_is_there_in_part_or_not_at_all() -> None:
    inode, drawn = power.Inode(b"0123456789", b"012"), random.Random(0)
    left = {inode.after_cut(drawn) for _ in range(100)}
    assert {b"012", b"0123456789"} < left
    assert all(inode.content.startswith(content) and len(content) >= 3 for content in left)


def in_a_child(folder: Path, fault: Log | Full) -> list[str]:
    """Write a file in a process with a fault; return the changes, or the error."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            watch(folder, fault)
            (folder / "a").mkdir()
            (folder / "a" / "metrics.jsonl").write_bytes(b"0123456789")
            (folder / "a" / "metrics.jsonl").replace(folder / "a" / "b")
            said = [event.what for event in getattr(fault, "events", [])]
        except OSError as error:
            said = [str(error)]
        os.write(writer, json.dumps(said).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as file:
        said = list(json.loads(file.read()))
    os.waitpid(pid, 0)
    return said


def test_every_change_of_a_file_is_seen(tmp_path: Path) -> None:
    assert in_a_child(tmp_path, Log()) == ["mkdir", "create", "write", "replace"]


def test_a_full_disk_takes_half_a_write(tmp_path: Path) -> None:
    with Path(os.devnull).open("wb") as null:
        assert "No space left" in in_a_child(tmp_path, Full(number=3, note=null.fileno()))[0]
    assert (tmp_path / "a" / "metrics.jsonl").read_bytes() == b"01234"


@pytest.mark.slow
def test_a_small_part_of_the_torture_is_survived() -> None:
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(map(str, (ROOT, ROOT / "src")))}
    done = subprocess.run(
        [sys.executable, "-c", PART], env=environment, cwd=ROOT, capture_output=True, text=True, timeout=900
    )
    assert done.returncode == 0, done.stderr
    record = json.loads(done.stdout.splitlines()[-1])
    assert record["failures"] == []
    assert record["kills"] >= 9 and record["full_disks"] >= 2 and record["power_cuts"] >= 2
