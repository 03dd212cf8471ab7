"""Where the runs of a group go on after a kill: together, as they began."""

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.training.engines import OPTIONS, MakeSpecs, outcome

from zerosnet.data import DataSet
from zerosnet.training import RunSpec, Store, plan
from zerosnet.training.engine import train
from zerosnet.training.fused.trainer import FusedTrainer
from zerosnet.training.grouping import FIRST_OF, company, meeting_points
from zerosnet.training.machine import World
from zerosnet.training.runs.run import Run
from zerosnet.training.screen.displays import Lines


def test_runs_begun_together_go_back_to_the_beginning_if_one_has_no_checkpoint_yet(
    tmp_path: Path, make_specs: MakeSpecs
) -> None:
    store = Store(tmp_path)
    runs = [run for spec in make_specs(3) if (run := store.claim(spec)) is not None]
    for run, noted in zip(runs, [{FIRST_OF: company(runs)}, {FIRST_OF: company(runs[:2])}]):
        run.save_checkpoint(6, {"x": torch.zeros(1)}, noted)
    meetings = meeting_points(runs, {run.spec: 100 for run in runs}, World(), Lines(quiet=True))
    seeds = [(position, [spec.seed for spec in members]) for position, members in meetings]
    assert seeds == [(0, [0, 2]), (6, [1])]
    for run in runs:
        run.release()


def test_a_kill_among_the_first_checkpoints_or_the_results_leaves_a_group_together(
    tmp_path: Path, tiny: DataSet, make_specs: MakeSpecs, monkeypatch: pytest.MonkeyPatch
) -> None:
    groups: list[list[int]] = []

    class Watched(FusedTrainer):
        def __init__(self, specs: Sequence[RunSpec], *arguments: Any, **options: Any) -> None:
            super().__init__(specs, *arguments, **options)
            groups.append([len(specs), 0])

        def begin_epoch(self, epoch: int, step: int) -> None:
            super().begin_epoch(epoch, step)
            groups[-1][1] += 1

    def kill_at(name: str, call: int) -> None:
        real, calls = getattr(Run, name), itertools.count(1)

        def method(*arguments: Any) -> None:
            if next(calls) >= call:
                raise KeyboardInterrupt
            real(*arguments)

        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(Run, name, method)
            train(specs, pieces, OPTIONS)

    monkeypatch.setattr(plan, "FusedTrainer", Watched)
    whole, pieces, specs = Store(tmp_path / "whole"), Store(tmp_path / "pieces"), make_specs(3)
    train(specs, whole, OPTIONS)
    groups.clear()
    kill_at("save_checkpoint", 2)
    kill_at("finish", 2)
    train(specs, pieces, OPTIONS)
    assert outcome(whole) == outcome(pieces)
    assert groups == [[3, 2], [3, 2], [2, 0]]


def test_checkpoints_that_a_kill_after_the_end_has_left_are_removed(
    tmp_path: Path, tiny: DataSet, make_specs: MakeSpecs
) -> None:
    store, (spec,) = Store(tmp_path), make_specs(1, epochs=1)
    train([spec], store, OPTIONS)
    left = store.folder(spec) / "checkpoints"
    left.mkdir()
    (left / "000000000003.safetensors").write_bytes(b"old")
    train([spec], store, OPTIONS)
    assert not left.exists()
