"""Where the start of a training goes."""

import re

import pytest
from tests.training.test_fused import MakeSpecs

from zerosnet.training import Options, Store, train
from zerosnet.training.screen import clocks as start
from zerosnet.training.screen.displays import Lines


def test_parts_of_the_start_are_listed_in_order_each_with_its_own_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = iter([1.0, 3.5, 3.6, 9.0])
    monkeypatch.setattr(start, "_MARKS", {})
    monkeypatch.setattr(start, "process_seconds", lambda: next(seconds))
    for done in ("imports", "data", "first step", "imports"):
        start.mark(done)
    assert start.start_line() == "start: 3.6 s (imports 1.0, data 2.5, first step 0.1)"


def test_a_process_is_as_old_as_it_is() -> None:
    before = start.process_seconds()
    assert 0 < before <= start.process_seconds() < before + 60


def test_a_training_prints_its_start_if_asked(make_specs: MakeSpecs, tmp_path, capsys, monkeypatch) -> None:
    monkeypatch.setattr(start, "_MARKS", {})
    train(make_specs(1), Store(tmp_path), Options(device="cpu", profile_start=True), progress=Lines())
    printed = capsys.readouterr().err
    assert re.search(r"start: [\d.]+ s \(imports [\d.]+, data [\d.]+, network and kernels .*first step", printed)


def test_digits_are_those_of_scikit_learn() -> None:
    from sklearn.datasets import load_digits

    from zerosnet.data.arrays.published import _table

    source = load_digits()
    assert (_table()[:, :-1] == source.data).all() and (_table()[:, -1] == source.target).all()
