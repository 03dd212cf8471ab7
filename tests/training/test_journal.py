"""What is written down about a run after every epoch."""

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from zerosnet.data import DataSet
from zerosnet.training import RunSpec, Store
from zerosnet.training.engine import train
from zerosnet.training.fused.passes import Evaluation
from zerosnet.training.fused.trainer import FusedTrainer
from zerosnet.training.options import Options


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
