"""`zerosnet sweep --dry-run`."""

import json
from multiprocessing import Pipe

import pytest

from zerosnet.cli.main import run
from zerosnet.training import Result, Store, read_sweep

GRID = {
    "model": "zerosnet20",
    "scheme": ["zerosnet(-9/5)", "1,1,1;1"],
    "dataset": "digits",
    "recipe": {"name": "quick", "epochs": 4},
    "seed": [1, 2],
}


@pytest.fixture
def sweep(tmp_path):
    path = tmp_path / "sweep.json"
    path.write_text(json.dumps({"grid": GRID}))
    return path


def dry_run(capsys, sweep, *arguments):
    assert run(["sweep", str(sweep), "--dry-run", "--device", "cpu", *arguments]) == 0
    return capsys.readouterr().out


def test_groups_schemes_and_time_are_listed_and_nothing_is_written(capsys, sweep, tmp_path):
    out = dry_run(capsys, sweep, "--store", str(tmp_path / "store"))
    assert out.startswith("4 runs: 0 have ended, 0 to be continued, 4 new\n")
    assert "zerosnet20, zerosnet(-9/5): seed" in out and "zerosnet20, 1,1,1;1: seed" in out
    assert "4 epochs, about 0:" in out
    assert not (tmp_path / "store").exists()


def test_networks_that_differ_in_their_wiring_are_told_apart(capsys, tmp_path):
    path = tmp_path / "sweep.json"
    path.write_text(json.dumps({"grid": {**GRID, "beta_growth": ["1", "1.839"], "stage_change": "restart", "seed": 1}}))
    out = dry_run(capsys, path, "--store", str(tmp_path / "store"))
    assert "zerosnet20, stage change restart, 1,1,1;1: seed 1\n" in out
    assert "zerosnet20, stage change restart, beta growth 1839/1000, 1,1,1;1: seed 1\n" in out


def test_without_data_runs_and_their_time_on_a_gpu_are_listed(capsys, tmp_path):
    path = tmp_path / "sweep.json"
    path.write_text(json.dumps({"grid": {**GRID, "dataset": "cifar10"}}))
    out = dry_run(capsys, path, "--store", str(tmp_path / "store"))
    assert out.startswith("4 runs: 0 have ended, 0 to be continued, 4 new\n")
    assert "\ncifar10, 4 epochs\n  zerosnet20, zerosnet(-9/5): seeds 1, 2\n" in out
    assert "on one H200 in full groups (by rates that come with the package)" in out and "give --data DIR" in out
    document = json.loads(dry_run(capsys, path, "--store", str(tmp_path / "store"), "--json"))
    assert len(document["waiting"]) == 4 and document["groups"] is None and document["seconds_on_one_h200"] > 0


def test_times_of_several_streams_are_marked_as_not_timed(capsys, tmp_path):
    path = tmp_path / "sweep.json"
    path.write_text(json.dumps([{"model": "streams20", "dataset": "cifar10", "recipe": "paper"}]))
    assert "which were not timed" in dry_run(capsys, path, "--store", str(tmp_path / "store"))


def test_data_without_a_known_size_have_no_time(capsys, tmp_path):
    path = tmp_path / "sweep.json"
    path.write_text(json.dumps([{"model": "zerosnet20_opt", "dataset": "folder:flowers", "recipe": "quick"}]))
    assert "In all no time known." in dry_run(capsys, path, "--store", str(tmp_path / "store"))


def test_an_unknown_network_is_refused_without_data(capsys, tmp_path):
    path = tmp_path / "sweep.json"
    path.write_text(json.dumps([{"model": "zerosnet21", "dataset": "cifar10", "recipe": "paper"}]))
    assert run(["sweep", str(path), "--dry-run"]) == 2
    assert "zerosnet21" in capsys.readouterr().err


def test_finished_runs_are_left_out_and_tell_how_long_others_take(capsys, sweep, tmp_path):
    store = Store(tmp_path / "store")
    with store.claim(read_sweep(sweep)[0]) as claimed:
        claimed.finish(Result("finished", 4, 40.0, test_accuracy=0.9))
    document = json.loads(dry_run(capsys, sweep, "--store", str(store.root), "--json"))
    assert len(document["ended"]) == 1
    assert sum(len(group["runs"]) for group in document["groups"]) == 3
    assert sum(group["seconds"] for group in document["groups"]) == pytest.approx(3 * 40)
    assert document["seconds"] == pytest.approx(3 * 40 / document["groups_at_once"])


def test_groups_are_shared_out_among_all_devices_as_in_training(capsys, sweep, tmp_path, monkeypatch):
    shared, used = [], ["cpu", "cpu"]
    monkeypatch.setattr("zerosnet.training.engine.all_devices", lambda name: used)
    monkeypatch.setattr("zerosnet.training.devices._hand_out", lambda groups, *_: shared.extend(groups))
    monkeypatch.setattr("zerosnet.training.devices._start", lambda *_: (Pipe()[0], None))
    words = ["--store", str(tmp_path / "store"), "--replicas", "3"]
    document = json.loads(dry_run(capsys, sweep, *words, "--json"))
    assert run(["sweep", str(sweep), "--device", "cpu", *words]) == 0
    assert document["groups_at_once"] == 2 and len(shared) == 2
    assert [group["runs"] for group in document["groups"]] == [[spec.id for spec in group] for group in shared]
    seconds = sum(group["seconds"] for group in document["groups"])
    assert document["seconds"] == pytest.approx(seconds / 2)
