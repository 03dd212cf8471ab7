"""Runs over a real Ray cluster of this machine: workers that are killed, and a driver that is interrupted."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.training.test_kill import outcome

from zerosnet import InputError
from zerosnet.numerics import Scheme
from zerosnet.training import Clock, Options, Run, RunSpec, SaveInterval, Store, recipe, train
from zerosnet.training.cluster import Cluster, Collected, connected, share_groups, train_group
from zerosnet.training.options import StreamOptions
from zerosnet.training.screen.displays import Lines

ray = pytest.importorskip("ray")

SPECS = [
    RunSpec("zerosnet20", "digits", recipe("quick", "digits", epochs=1), 1, Scheme.parse(f"zerosnet({value})"))
    for value in ("1/2", "10")
]
OPTIONS = Options("cpu", replicas=1, deterministic=True, checkpoint_every=SaveInterval(seconds=0.1))


@pytest.fixture(scope="module")
def cluster():
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="error")
    yield ray
    ray.shutdown()


def train_there(specs, store, options, clock, said):
    with connected("auto") as cluster:
        cluster.train(specs, store, options, clock, said)


class Heard(Collected):
    """Leaves a file when it hears for the first time how far the runs are."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.file = file

    def report(self, line: str) -> None:
        super().report(line)
        if line.endswith("networks ready"):
            self.file.touch()


def killed_once(specs: list[RunSpec], root: str, options: Options, until: float | None) -> list[str]:
    """What a task does; it waits till it was asked how far it is, and the first run's worker dies at a checkpoint."""
    heard, killed = (Path(root).parent / name for name in ("heard", "killed"))
    wait_for(heard.exists)
    save = Run.save_checkpoint

    def save_and_die(run: Run, *arguments: Any) -> None:
        save(run, *arguments)
        killed.touch()
        os.kill(os.getpid(), signal.SIGKILL)

    if SPECS[0] in specs and not killed.exists():
        Run.save_checkpoint = save_and_die  # type: ignore[method-assign]
    return train_group(specs, root, options, until)


def wait_for(found: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 180
    while not found():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_the_group_of_a_killed_worker_goes_on_from_its_checkpoint(cluster, tmp_path, monkeypatch):
    undisturbed, disturbed = Store(tmp_path / "undisturbed"), Store(tmp_path / "disturbed")
    said = Heard(tmp_path / "heard")
    monkeypatch.setattr("zerosnet.training.cluster.LOOK", 0.0)
    monkeypatch.setattr("zerosnet.training.cluster.train_group", killed_once)
    train_there(SPECS, disturbed, OPTIONS, Clock(), said)
    assert (tmp_path / "killed").exists()
    train(SPECS, undisturbed, OPTIONS)
    assert outcome(disturbed.root) == outcome(undisturbed.root)
    begun = [line for line in said.lines if line.startswith("training")]
    assert "0 of 2 epochs, 0 of 2 networks ready" in said.lines
    assert len(begun) == 2  # the lines of the two tasks that ended
    assert sum("from step" in line for line in begun) >= 1  # the killed one's, which did not begin anew
    stamps = {path: path.stat().st_mtime_ns for path in disturbed.root.glob("*/result.json")}
    again = Collected()
    train_there(SPECS, disturbed, OPTIONS, Clock(), again)
    assert [line for line in again.lines if line.startswith("training")] == []
    assert stamps == {path: path.stat().st_mtime_ns for path in disturbed.root.glob("*/result.json")}


def test_an_error_in_a_task_is_the_error_of_the_whole(cluster, tmp_path):
    impossible = replace(SPECS[0], recipe=replace(SPECS[0].recipe, batch=5000))
    with pytest.raises(InputError, match="only 1442 training images"):
        train_there([impossible], Store(tmp_path), OPTIONS, Clock(), Collected())
    (tmp_path / SPECS[0].id).mkdir()
    (tmp_path / SPECS[0].id / "spec.json").write_text(json.dumps(SPECS[1].to_json()))
    with pytest.raises(InputError, match="holds another spec"):
        train_there(SPECS[:1], Store(tmp_path), OPTIONS, Clock(), Collected())


def test_a_time_limit_leaves_runs_to_be_continued(cluster, tmp_path):
    train_there(SPECS, Store(tmp_path), OPTIONS, Clock(0.01), Collected())
    assert not list(tmp_path.glob("*/result.json"))


def test_a_device_that_the_cluster_has_not_is_refused(cluster):
    assert Cluster(cluster).device("auto") == torch.device("cpu")
    with pytest.raises(InputError, match="no GPUs"):
        Cluster(cluster).device("cuda")
    with pytest.raises(InputError, match="device is 'tpu'"):
        Cluster(cluster).device("tpu")


def test_the_extra_is_named_if_ray_is_not_installed(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(InputError, match=r"zerosnet\[ray\]"), connected("auto"):
        pass


def sweep(folder: Path, *options: str) -> subprocess.Popen[str]:
    grid: dict[str, Any] = {"model": "zerosnet20", "scheme": ["zerosnet(1/2)", "zerosnet(10)"], "seed": [1]}
    grid |= {"dataset": "digits", "recipe": {"name": "quick", "epochs": 20}}
    (folder / "sweep.json").write_text(json.dumps({"grid": grid}))
    command = [sys.executable, "-m", "zerosnet", "sweep", "sweep.json", "--engine", "ray", *options]
    return subprocess.Popen(
        command,
        cwd=folder,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.slow
def test_an_interrupt_leaves_checkpoints_and_nothing_half_done(tmp_path):
    process = sweep(tmp_path, "--address", "local", "--replicas", "1", "--checkpoint-every", "0.5s")
    deadline = time.monotonic() + 180
    while not list((tmp_path / "runs").glob("*/checkpoints/*.safetensors")):
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 130, err
    assert "stopped by SIGINT; the same command goes on" in err
    records = Store(tmp_path / "runs").records()
    assert records and all(record.status == "stopped" for record in records)
    assert all(list(record.folder.glob("checkpoints/*.safetensors")) for record in records)


@pytest.mark.slow
def test_an_address_without_a_cluster_is_bad_input(tmp_path):
    process = sweep(tmp_path, "--address", "127.0.0.1:1")
    _, err = process.communicate(timeout=180)
    assert process.returncode == 2 and err.count("zerosnet: ") == err.count("\n") == 1
    assert "where there is no Ray cluster" in err and not (tmp_path / "runs").exists()


def test_a_cluster_without_gpus_has_no_decoder_on_them(tmp_path):
    run = RunSpec("zerosnet18_opt", "imagefolder", recipe("imagenet", "imagefolder", "zerosnet18_opt"), 1)
    options = Options("cpu", stream=StreamOptions(decoder="gpu"))
    with pytest.raises(InputError, match="the cluster has no GPU"):
        share_groups([run], Store(tmp_path), options, 1, Lines(quiet=True))


def test_a_run_asked_for_twice_is_in_one_group(tmp_path):
    groups = share_groups([*SPECS, SPECS[0]], Store(tmp_path), OPTIONS, 2, Lines(quiet=True))
    assert groups == [[SPECS[0]], [SPECS[1]]]
