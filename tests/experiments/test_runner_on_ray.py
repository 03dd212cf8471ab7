"""Experiments over a real Ray cluster of this machine: the same store, the same table, nothing twice."""

import json
import os
import signal
import sys
from functools import partial
from pathlib import Path

import pytest
import torch
from tests.experiments.conftest import TINY

from zerosnet.cli.main import run as command
from zerosnet.experiments import collect, read_evidence, reproduce, what_is_left
from zerosnet.training import Clock, Options, Store

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def cluster():
    ray = pytest.importorskip("ray")
    from zerosnet.training.cluster import Cluster

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="error")
    yield Cluster(ray)
    ray.shutdown()


def collected():
    from zerosnet.training.cluster import Collected

    return Collected()


def test_a_cluster_trains_attacks_and_ablates_into_the_same_store(cluster, small, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    store, said = Store("runs"), collected()
    evidence = reproduce([small], TINY, store, Options("cpu"), Clock(), said, cluster)
    assert what_is_left([small], TINY, evidence).nothing
    assert sum(line.startswith("training") for line in said.lines) == 2
    assert {line.partition(":")[0] for line in said.lines} >= {"paper-noise", "paper-fgsm", "switching blocks off"}
    assert collect(small, read_evidence(store), TINY).complete
    assert all(run.ablation.blocks == 9 for run in read_evidence(store).runs)
    again = collected()
    evidence = reproduce([small], TINY, store, Options("cpu"), Clock(), again, cluster)
    assert what_is_left([small], TINY, evidence).nothing
    assert again.lines == []


def dies_once(marker: Path, clock: Clock, report) -> None:
    """A measurement whose worker is killed in the middle of it, the first time."""
    if not marker.exists():
        marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    report("measured")


def fails(clock: Clock, report) -> None:
    raise OSError("the disk is full")


def test_the_job_of_a_killed_worker_is_done_again(cluster, tmp_path):
    said = collected()
    cluster.do([partial(dies_once, tmp_path / "marker")], CPU, Clock(), said)
    assert (tmp_path / "marker").exists() and said.lines.count("measured") == 1


def test_a_job_that_fails_is_an_error_here(cluster):
    with pytest.raises(OSError, match="the disk is full"):
        cluster.do([fails], CPU, Clock(), collected())


def test_no_job_begins_when_the_time_is_up(cluster, tmp_path):
    said = collected()
    cluster.do([partial(dies_once, tmp_path / "marker")], CPU, Clock(1e-9), said)
    assert not (tmp_path / "marker").exists() and "measured" not in said.lines


def test_the_command_runs_a_table_on_the_cluster_that_is_there(cluster, tmp_path, capsys):
    where = ["--store", str(tmp_path / "runs"), "-o", str(tmp_path / "r.html"), "--engine", "ray", "--json"]
    assert command(["reproduce", "table-fgsm", "--max-seconds", "0.001", *where]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)[0]["scale"] == "demo" and "the same command goes on with" in err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--engine", "slurm"], "engine is 'slurm'; expected one of local, ray"),
        (["--address", "here:6379"], "it is for --engine ray"),
        (["--engine", "ray"], "ray is not installed; it comes with: pip install 'zerosnet[ray]'"),
    ],
)
def test_bad_input_is_one_line_and_leaves_nothing(tmp_path, capsys, monkeypatch, arguments, words):
    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.chdir(tmp_path)
    assert command(["reproduce", *arguments]) == 2
    error = capsys.readouterr().err
    assert words in error and error.count("\n") == 1 and not list(tmp_path.iterdir())
