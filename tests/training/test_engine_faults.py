"""A full disk, a cut checkpoint, a run killed before its first one: nothing is lost that was kept."""

import errno
from pathlib import Path
from typing import Any

import pytest
from tests.training.engines import OPTIONS, Heard, MakeSpecs, StepClock, outcome

from zerosnet.data import DataSet
from zerosnet.errors import InputError
from zerosnet.training import CheckpointError, Store, read_checkpoint, write_checkpoint
from zerosnet.training.engine import train
from zerosnet.training.runs import checkpoint as checkpoint_module


def test_a_full_disk_stops_the_training_and_costs_nothing_but_the_last_checkpoint(
    tmp_path: Path, tiny: DataSet, make_specs: MakeSpecs, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, store = Store(tmp_path / "whole"), Store(tmp_path / "full")
    train(make_specs(1, epochs=3), whole, OPTIONS)
    original = checkpoint_module.write_checkpoint

    def full(folder: Path, position: int, *rest: Any) -> Path:
        if position >= 12:
            raise CheckpointError(errno.ENOSPC, "the disk is full")
        return original(folder, position, *rest)

    monkeypatch.setattr(checkpoint_module, "write_checkpoint", full)
    with pytest.raises(CheckpointError, match="full"):
        train(make_specs(1, epochs=3), store, OPTIONS)
    monkeypatch.setattr(checkpoint_module, "write_checkpoint", original)
    assert store.records()[0].status == "stopped"
    train(make_specs(1, epochs=3), store, OPTIONS)
    assert outcome(store) == outcome(whole)


def test_a_truncated_checkpoint_is_passed_over(tmp_path: Path, tiny: DataSet, make_specs: MakeSpecs) -> None:
    whole, store = Store(tmp_path / "whole"), Store(tmp_path / "cut")
    train(make_specs(1, epochs=3), whole, OPTIONS)
    train(make_specs(1, epochs=3), store, OPTIONS, StepClock(14))
    newest = max(tmp_path.joinpath("cut").rglob("checkpoints/*.safetensors"))
    newest.write_bytes(newest.read_bytes()[:1000])
    heard = Heard()
    train(make_specs(1, epochs=3), store, OPTIONS, progress=heard)
    assert outcome(store) == outcome(whole)
    said = [line for line in heard.lines if "damaged" in line]
    assert len(said) == 1 and f"at step {int(newest.stem)} is damaged; going on from step" in said[0]


def test_epochs_lost_before_the_first_checkpoint_are_named_and_not_recorded_twice(
    tmp_path: Path, tiny: DataSet, make_specs: MakeSpecs
) -> None:
    store, specs, heard = Store(tmp_path), make_specs(3), Heard()
    for spec, epochs in zip(specs, (0, 1, 2)):  # as a process left them that was killed then
        with store.claim(spec) as run:  # type: ignore[union-attr]
            for epoch in range(1, epochs + 1):
                run.append_metrics({"epoch": epoch, "test_accuracy": 2.0})
    train(specs, store, OPTIONS, progress=heard)
    assert [line for line in heard.lines if "checkpoint" in line] == [
        f"{specs[1].id}: no checkpoint yet, 1 epoch lost; from the start",
        f"{specs[2].id}: no checkpoint yet, 2 epochs lost; from the start",
    ]
    for record in store.records():
        assert [row["epoch"] for row in record.metrics()] == [1, 2]
        assert all(row["test_accuracy"] <= 1 for row in record.metrics())


@pytest.mark.parametrize("line", [0, 1])
@pytest.mark.parametrize("damage", ['{"epoch": 1, "test_acc', "", '{"epoch": 7}'])
def test_an_epoch_whose_metrics_are_damaged_is_trained_again(
    line: int, damage: str, tmp_path: Path, tiny: DataSet, make_specs: MakeSpecs
) -> None:
    whole, store, heard = Store(tmp_path / "whole"), Store(tmp_path / "damaged"), Heard()
    train(make_specs(1, epochs=3), whole, OPTIONS)
    train(make_specs(1, epochs=3), store, OPTIONS, StepClock(13))  # after the second epoch
    (metrics,) = (tmp_path / "damaged").rglob("metrics.jsonl")
    lines = metrics.read_text().splitlines()
    assert len(lines) == 2
    lines[line] = damage
    metrics.write_text("\n".join(lines) + "\n")
    train(make_specs(1, epochs=3), store, OPTIONS, progress=heard)
    assert outcome(store) == outcome(whole)
    said = [text for text in heard.lines if f"metrics.jsonl lacks epoch {line + 1}" in text]
    assert said and f"going on from step {6 if line else 0}" in said[0]


def test_a_checkpoint_of_another_run_is_refused(tmp_path: Path, tiny: DataSet, make_specs: MakeSpecs) -> None:
    store, specs = Store(tmp_path), make_specs(2)
    train(specs, store, OPTIONS, StepClock(9))
    folders = [store.folder(spec) / "checkpoints" for spec in specs]
    spare = tmp_path / "spare"
    for source, target in [(folders[0], spare), (folders[1], folders[0]), (spare, folders[1])]:
        source.rename(target)
    with pytest.raises(InputError, match=f"is a checkpoint of run {specs[1].id}; expected one of run {specs[0].id}"):
        train(specs, store, OPTIONS)


def test_a_checkpoint_that_names_no_run_is_accepted(tmp_path: Path, tiny: DataSet, make_specs: MakeSpecs) -> None:
    whole, store, specs = Store(tmp_path / "whole"), Store(tmp_path / "old"), make_specs(1)
    train(specs, whole, OPTIONS)
    train(specs, store, OPTIONS, StepClock(9))
    folder = store.folder(specs[0]) / "checkpoints"
    found = read_checkpoint(folder)
    assert found is not None
    write_checkpoint(folder, found.position, found.tensors, found.state)  # as versions before wrote it
    train(specs, store, OPTIONS)
    assert outcome(store) == outcome(whole)
