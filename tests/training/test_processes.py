"""Several processes that train one network: the same network as one process would."""

import os
import signal
import time

import pytest
from tests.data.pictures import write_folder
from tests.training.processes import losses_of, options, spec, start, with_batch, world_of

from zerosnet import InputError
from zerosnet.training import Store, train

SHARED = {"micro_batch": 4}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_folder(tmp_path_factory.mktemp("pictures"), train=12, val=7)


@pytest.fixture(scope="module")
def alone(folder, tmp_path_factory):
    """One process that adds up the gradients of the same micro-batches."""
    store = tmp_path_factory.mktemp("alone")
    return losses_of(store, spec(), options(folder, **SHARED)), Store(store).records()[0]


@pytest.mark.parametrize("size", [2, 4])
def test_processes_have_the_loss_curve_of_one_that_accumulates(size, folder, alone, tmp_path):
    curve, record = alone
    found = world_of(size, losses_of, tmp_path, spec(), options(folder, **SHARED))
    assert found == [found[0]] * size  # every process knows the loss of the whole batch
    assert found[0] == pytest.approx(curve, rel=1e-9)
    (together,) = Store(tmp_path).records()
    assert together.result.test_loss == pytest.approx(record.result.test_loss, rel=1e-8)
    assert together.result.test_accuracy == record.result.test_accuracy
    assert together.result.train_loss == pytest.approx(record.result.train_loss, rel=1e-8)


def test_a_run_goes_on_with_another_number_of_processes(folder, alone, tmp_path):
    curve, record = alone
    first = world_of(4, losses_of, tmp_path, spec(), options(folder, **SHARED), 1)[0]
    assert Store(tmp_path).records()[0].status == "stopped"
    second = world_of(2, losses_of, tmp_path, spec(), options(folder, **SHARED), 2)[0]
    rest = losses_of(tmp_path, spec(), options(folder, **SHARED))
    assert [len(first), len(second), len(rest)] == [1, 2, 1]
    assert first + second + rest == pytest.approx(curve, rel=1e-9)
    assert Store(tmp_path).records()[0].result.test_loss == pytest.approx(record.result.test_loss, rel=1e-8)


def test_synchronised_batch_norm_sees_the_whole_batch(folder, tmp_path):
    whole = losses_of(tmp_path / "one", spec(), options(folder))
    found = world_of(2, losses_of, tmp_path / "two", spec(), options(folder, sync_bn=True))
    assert found[0] == pytest.approx(whole, rel=1e-9)
    one, two = (Store(tmp_path / name).records()[0].result for name in ("one", "two"))
    assert two.test_loss == pytest.approx(one.test_loss, rel=1e-8)


def test_an_uneven_share_of_the_batch_is_reported_once(folder, tmp_path):
    found = world_of(2, losses_of, tmp_path / "runs", with_batch(spec(), 15), options(folder))
    assert found[0] == "InputError: 2 processes do not share a batch of 15 evenly; expected a divisor of it"
    assert found[1] == "SystemExit: 2"
    assert not (tmp_path / "runs").exists()


def test_a_dead_process_ends_the_others_and_the_run_goes_on_later(folder, alone, tmp_path):
    run = spec(epochs=4000)  # hours: it is not over before a process is killed
    each, answers = start(2, losses_of, tmp_path, run, options(folder, every="0.01s", **SHARED))
    deadline = time.monotonic() + 300
    while not list(tmp_path.glob("*/checkpoints/*.safetensors")):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    os.kill(each[1].pid, signal.SIGKILL)
    rank, answer = answers.get(timeout=300)
    assert rank == 0 and answer.startswith("LostProcess") and "the same command goes on from there" in answer
    for process in each:
        process.join(timeout=60)
    (record,) = Store(tmp_path).records()
    assert record.status == "stopped"
    rest = losses_of(tmp_path, run, options(folder, **SHARED), stop_after=2)
    assert len(rest) == 2
    assert len(record.metrics()) < 4000


def test_smaller_data_sets_are_not_for_torchrun(monkeypatch, tmp_path, make_specs):
    for name in ("RANK", "LOCAL_RANK"):
        monkeypatch.setenv(name, "0")
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("MASTER_ADDR", "localhost")
    from dataclasses import replace

    from zerosnet.training.options import StreamOptions

    settings = replace(options(tmp_path), stream=StreamOptions())
    with pytest.raises(InputError, match="torchrun is for imagefolder"):
        train(make_specs(1), Store(tmp_path), settings)
