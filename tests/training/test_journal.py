"""The record of a run after every epoch: its metrics, its end, and loggers beside them."""

import sys
import time
from collections.abc import Callable
from dataclasses import replace
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

import pytest
import torch

from zerosnet import InputError
from zerosnet.data import DataSet
from zerosnet.training import Run, RunSpec, Store, recipe
from zerosnet.training.engine import train
from zerosnet.training.fused.passes import Evaluation
from zerosnet.training.fused.trainer import FusedTrainer
from zerosnet.training.options import Options
from zerosnet.training.runs.loggers import LOGGERS, check_loggers, open_loggers


def test_coefficients_that_are_not_finite_end_their_run_and_no_other(
    tmp_path: Path, tiny: DataSet, make_specs: Callable[..., list[RunSpec]], monkeypatch: pytest.MonkeyPatch
) -> None:
    begin = FusedTrainer.begin_epoch

    def spoil(self: FusedTrainer, epoch: int, first: int) -> None:
        begin(self, epoch, first)
        (values,) = self.model.coefficient_parameters()
        with torch.no_grad():
            values[-1] = torch.nan  # the last block of the last replica

    monkeypatch.setattr(FusedTrainer, "begin_epoch", spoil)
    specs = [replace(spec, model="zerosnet20_tra", scheme=None) for spec in make_specs(2)]
    store = Store(tmp_path)
    train(specs, store, Options("cpu"))
    good, bad = (store.find(spec.id) for spec in specs)
    assert (good.status, bad.status) == ("finished", "diverged")
    assert [len(row["coefficients"]) for row in good.metrics()] == [9, 9]
    assert ["coefficients" in row for row in bad.metrics()] == [False]


def test_the_seconds_of_an_epoch_include_its_evaluation(
    tmp_path: Path, tiny: DataSet, make_specs: Callable[..., list[RunSpec]], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Evaluation.run

    def slow(self: Evaluation) -> None:
        time.sleep(0.3)
        run(self)

    monkeypatch.setattr(Evaluation, "run", slow)
    store = Store(tmp_path)
    train(make_specs(1), store, Options("cpu"))
    (record,) = store.records()
    epochs = [row["seconds"] for row in record.metrics()]
    assert min(epochs) > 0.3
    assert record.result is not None and record.result.seconds > sum(epochs) + 0.3  # the training set, at the end


ROWS = [
    {"epoch": epoch, "lr": 0.1, "test_accuracy": epoch / 10, "test_top5_accuracy": 0.5, "coefficients": [["1/2"]]}
    for epoch in (1, 2, 3)
]
SCALARS = {"lr", "test/accuracy", "test/top5_accuracy"}


def claimed(folder: Path) -> Run:
    run = Store(folder).claim(RunSpec("zerosnet20_opt", "digits", recipe("quick", "digits"), 1))
    assert run is not None
    return run


def log(name: str, run: Run, rows: list[dict]) -> None:
    (logger,) = open_loggers([name, name], run)
    for row in rows:
        run.append_metrics(row)
        logger.log(row)
    logger.close()


def test_nothing_is_logged_unless_asked_for(tmp_path: Path) -> None:
    with claimed(tmp_path) as run:
        assert open_loggers([], run) == []


def test_an_unknown_logger_is_bad_input() -> None:
    with pytest.raises(InputError, match="log is 'paper'; expected one of tensorboard, wandb, trackio"):
        check_loggers(["paper"])


@pytest.mark.parametrize("name", LOGGERS)
def test_the_extra_is_named_if_a_package_is_not_installed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(InputError, match=rf"{name} is not installed; .*'zerosnet\[{name}\]'"):
        check_loggers([name])


def test_a_folder_of_that_name_is_no_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "wandb").mkdir()
    monkeypatch.delitem(sys.modules, "wandb", raising=False)
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    with pytest.raises(InputError, match="wandb is not installed"):
        check_loggers(["wandb"])


def test_tensorboard_shows_every_epoch_once_after_an_interruption(tmp_path: Path) -> None:
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    with claimed(tmp_path) as run:
        log("tensorboard", run, ROWS[:2])
        run.rewind(1)
        log("tensorboard", run, ROWS[1:])
        events = accumulator.EventAccumulator(str(run.folder / "tensorboard")).Reload()
        assert set(events.Tags()["scalars"]) == SCALARS
        assert [event.step for event in events.Scalars("test/accuracy")] == [1, 2, 3]
        assert events.Scalars("test/accuracy")[-1].value == pytest.approx(0.3)


def test_wandb_offline_keeps_a_run_one_run_after_an_interruption(tmp_path: Path, monkeypatch) -> None:
    pytest.importorskip("wandb")
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB__SERVICE_WAIT", "300")  # for its own process, which starts slowly on a busy machine
    with claimed(tmp_path) as run:
        log("wandb", run, ROWS[:2])
        log("wandb", run, ROWS[2:])
        known = (run.folder / "wandb" / "id").read_text()
        files = list(run.folder.glob(f"wandb/offline-run-*-{known}*/run-{known}.wandb"))
        assert files and len(list(run.folder.glob("wandb/offline-run-*"))) == len(files)
        written = b"".join(file.read_bytes() for file in files)
        assert all(name.encode() in written for name in SCALARS | {run.id}) and b"coefficients" not in written


def test_wandb_without_an_account_is_one_line(tmp_path: Path, monkeypatch) -> None:
    wandb = pytest.importorskip("wandb")

    def refuse(**options: object) -> None:
        raise wandb.errors.UsageError("No API key configured.\nUse `wandb login`.")

    monkeypatch.setattr(wandb, "init", refuse)
    with claimed(tmp_path) as run, pytest.raises(InputError) as caught:
        open_loggers(["wandb"], run)
    assert str(caught.value) == (
        "wandb cannot log: No API key configured. Use `wandb login`; WANDB_MODE=offline needs no account"
    )


def test_trackio_keeps_a_run_one_run_and_stays_off_stdout(tmp_path: Path, monkeypatch, capsys) -> None:
    calls: list[tuple] = []

    class FakeRun:
        def log(self, metrics: dict, step: int) -> None:
            calls.append(("log", step, metrics))

        def finish(self) -> None:
            print("* Run finished")
            calls.append(("finish",))

    def init(**options: object) -> FakeRun:
        print("* Trackio project initialized")
        calls.append(("init", options["project"], options["name"], options["resume"], options["config"]))
        return FakeRun()

    fake = ModuleType("trackio")
    fake.init = init
    fake.__spec__ = ModuleSpec("trackio", None, origin="trackio/__init__.py")
    monkeypatch.setitem(sys.modules, "trackio", fake)
    with claimed(tmp_path) as run:
        log("trackio", run, ROWS[:2])
        log("trackio", run, ROWS[2:])
        assert [call[:4] for call in calls if call[0] == "init"] == [("init", "zerosnet", run.id, "allow")] * 2
        assert calls[0][4] == run.spec.to_json()
    logged = [call for call in calls if call[0] == "log"]
    assert [step for _, step, _ in logged] == [1, 2, 3] and set(logged[0][2]) == SCALARS
    assert sum(call == ("finish",) for call in calls) == 2
    assert capsys.readouterr().out == ""
