"""Runs from their spec to their end: finished, stopped, continued, diverged, shared with another process."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from tests.training.engines import OPTIONS, Heard, MakeSpecs, StepClock, outcome

from zerosnet.data import DataSet, pixel_statistics
from zerosnet.errors import InputError
from zerosnet.models.io.weights import load_model
from zerosnet.training import Store, recipe
from zerosnet.training.engine import train
from zerosnet.training.finished.networks import evaluate
from zerosnet.training.grouping import meeting_points
from zerosnet.training.machine import World
from zerosnet.training.screen.displays import Lines


def test_a_finished_run_holds_all_that_was_promised(tmp_path: Path, tiny: DataSet, make_specs: MakeSpecs) -> None:
    store, specs = Store(tmp_path), make_specs(2)
    train(specs, store, OPTIONS)
    for spec in specs:
        record = store.find(spec.id)
        assert record.status == "finished"
        assert [row["epoch"] for row in record.metrics()] == [1, 2]
        row = record.metrics()[-1]
        assert {"lr", "train_loss", "train_accuracy", "test_loss", "test_accuracy", "seconds"} <= set(row)
        result = record.result
        assert result is not None
        assert result.test_accuracy == row["test_accuracy"]
        assert result.best_test_accuracy == max(row["test_accuracy"] for row in record.metrics())
        assert [path.name for path in record.folder.rglob("*.safetensors")] == ["weights.safetensors"]
        assert (record.folder / "environment.json").exists()
        model = load_model(record.folder / "weights.safetensors")
        statistics = pixel_statistics(tiny, "normalised")
        assert evaluate(model, tiny.test, statistics)[0].accuracy == result.test_accuracy
        assert evaluate(model, tiny.train, statistics)[0].accuracy == result.train_accuracy


def test_alone_or_in_any_group_a_run_ends_the_same_to_the_bit(
    tmp_path: Path, tiny: DataSet, make_specs: MakeSpecs
) -> None:
    outcomes = []
    for replicas in (1, 2, 3):
        store = Store(tmp_path / str(replicas))
        train(make_specs(3), store, replace(OPTIONS, replicas=replicas))
        outcomes.append(outcome(store))
    assert outcomes[0] == outcomes[1] == outcomes[2]


def test_a_finished_run_is_reported_and_not_run_again(tmp_path: Path, tiny: DataSet, make_specs: MakeSpecs) -> None:
    store, heard = Store(tmp_path), Heard()
    train(make_specs(1, epochs=1), store, OPTIONS)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()}
    train(make_specs(1, epochs=1), store, OPTIONS, progress=heard)
    assert [line for line in heard.lines if "finished already" in line]
    assert before == {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()}


@pytest.mark.parametrize("questions", [1, 4, 7, 9])
def test_a_run_stopped_at_any_step_goes_on_to_the_same_end(
    questions: int, tmp_path: Path, tiny: DataSet, make_specs: MakeSpecs
) -> None:
    whole, pieces = Store(tmp_path / "whole"), Store(tmp_path / "pieces")
    train(make_specs(2), whole, OPTIONS)
    train(make_specs(2), pieces, OPTIONS, StepClock(questions))
    assert {record.status for record in pieces.records()} <= {"stopped"}
    train(make_specs(2), pieces, replace(OPTIONS, replicas=1))
    assert outcome(whole) == outcome(pieces)


def test_a_replica_that_diverges_is_recorded_and_its_neighbour_does_not_notice(
    tmp_path: Path, tiny: DataSet, make_specs: MakeSpecs
) -> None:
    calm, wild = make_specs(2)
    wild = replace(wild, recipe=replace(wild.recipe, lr=1e30))
    alone, together, heard = Store(tmp_path / "alone"), Store(tmp_path / "together"), Heard()
    train([calm], alone, OPTIONS)
    train([wild, calm], together, OPTIONS, progress=heard)
    assert outcome(together)[calm.id] == outcome(alone)[calm.id]
    record = together.find(wild.id)
    assert record.status == "diverged"
    assert record.result is not None and record.result.reason is not None and "not finite" in record.result.reason
    assert not (record.folder / "weights.safetensors").exists()
    assert any("diverged" in line for line in heard.lines)
    assert any(line.startswith("epoch 2/2  1 of 2 x  ") for line in heard.lines)


def test_a_group_in_which_all_diverge_ends_early(tmp_path: Path, tiny: DataSet, make_specs: MakeSpecs) -> None:
    store = Store(tmp_path)
    specs = [replace(s, recipe=replace(s.recipe, lr=1e30, epochs=50)) for s in make_specs(2)]
    train(specs, store, OPTIONS)
    assert [(record.status, len(record.metrics())) for record in store.records()] == [("diverged", 1)] * 2


def test_a_run_asked_for_twice_is_run_once(tmp_path: Path, tiny: DataSet, make_specs: MakeSpecs) -> None:
    store, heard, (spec,) = Store(tmp_path), Heard(), make_specs(1, epochs=1)
    train([spec, replace(spec)], store, OPTIONS, progress=heard)
    assert store.find(spec.id).status == "finished"
    assert sum(line.startswith("training") for line in heard.lines) == 1
    assert not any("another process" in line or "already" in line for line in heard.lines)


def test_runs_that_another_process_holds_are_left_to_it(tmp_path: Path, tiny: DataSet, make_specs: MakeSpecs) -> None:
    store, heard, (held, free) = Store(tmp_path), Heard(), make_specs(2, epochs=1)
    claimed = store.claim(held)
    assert claimed is not None
    train([held, free], store, OPTIONS, progress=heard)
    assert store.find(free.id).status == "finished"
    assert store.find(held.id).status == "running"
    assert any("another process" in line for line in heard.lines)
    claimed.release()
    train([held, free], store, OPTIONS)
    assert store.find(held.id).status == "finished"


def test_runs_one_checkpoint_apart_meet_at_the_earlier_one(tmp_path: Path, make_specs: MakeSpecs) -> None:
    store = Store(tmp_path)
    runs = [run for spec in make_specs(4) if (run := store.claim(spec)) is not None]
    for run, positions in zip(runs, [(6, 12), (6,), (), (3,)]):
        for position in positions:
            run.save_checkpoint(position, {"x": torch.zeros(1)}, {})
    meetings = meeting_points(runs, {run.spec: 100 for run in runs}, World(), Lines(quiet=True))
    seeds = [(position, [spec.seed for spec in members]) for position, members in meetings]
    assert seeds == [
        (0, [2]),
        (3, [3]),
        (6, [0, 1]),
    ]
    for run in runs:
        run.release()


def test_runs_that_meet_in_another_order_are_not_mixed_up(tmp_path: Path, tiny: DataSet, make_specs: MakeSpecs) -> None:
    whole, pieces = Store(tmp_path / "whole"), Store(tmp_path / "pieces")
    first, second = make_specs(2)
    train([first, second], whole, OPTIONS)
    train([first, second], pieces, OPTIONS, StepClock(9))
    newest = max((pieces.folder(second) / "checkpoints").iterdir())
    newest.unlink()  # as if the process had been killed between the checkpoints of the two
    train([first, second], pieces, OPTIONS)
    assert outcome(whole) == outcome(pieces)


def test_every_recipe_is_printed_once_resolved(tmp_path: Path, tiny: DataSet, make_specs: MakeSpecs) -> None:
    specs, heard = make_specs(3, epochs=1), Heard()
    train(
        [*specs[:2], replace(specs[2], recipe=replace(specs[2].recipe, lr=0.01))], Store(tmp_path), OPTIONS, None, heard
    )
    said = [line for line in heard.lines if line.startswith("recipe ")]
    assert len(said) == 2 and all("last partial batch dropped" in line for line in said)
    assert "lr 0.01" in said[1] and "weight decay" in said[1]


def test_the_reason_for_the_plain_engine_is_reported_once(tmp_path: Path, tiny: DataSet, make_specs: MakeSpecs) -> None:
    heard = Heard()
    train(make_specs(3, epochs=1), Store(tmp_path), replace(OPTIONS, kernels="native", replicas=1), None, heard)
    assert sum("plain torch instead of the native kernels" in line for line in heard.lines) == 1


def test_a_run_is_not_continued_on_other_data(
    tmp_path: Path, tiny: DataSet, make_specs: MakeSpecs, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, specs = Store(tmp_path), make_specs(2)
    train(specs, store, OPTIONS, StepClock(8))
    other = replace(tiny, train=tiny.train.subset(torch.arange(len(tiny.train)).flip(0)))
    with monkeypatch.context() as patch:
        patch.setattr("zerosnet.training.plan.load", lambda *arguments, **options: other)
        with pytest.raises(InputError, match=r"dataset 'digits' has changed since run .* was begun"):
            train(specs, store, OPTIONS)
    train(specs, store, OPTIONS)
    assert all(record.status == "finished" for record in store.records())


def test_training_images_are_scored_after_every_epoch_if_asked_for(
    tmp_path: Path, tiny: DataSet, make_specs: MakeSpecs
) -> None:
    usual, asked = Store(tmp_path / "usual"), Store(tmp_path / "asked")
    train(make_specs(2), usual, OPTIONS)
    train(make_specs(2), asked, replace(OPTIONS, train_accuracy=True))
    for before, record in zip(usual.records(), asked.records()):
        rows, result = record.metrics(), record.result
        assert result is not None and before.result is not None
        assert (rows[-1]["train_eval_accuracy"], rows[-1]["train_eval_loss"]) == (
            result.train_accuracy,
            result.train_loss,
        )
        assert all("train_eval_accuracy" in row for row in rows)
        assert not any("train_eval_accuracy" in row for row in before.metrics())
        assert result.test_loss == before.result.test_loss


def test_validation_images_are_scored_and_not_trained_on(tmp_path: Path, tiny: DataSet, make_specs: MakeSpecs) -> None:
    store = Store(tmp_path)
    train([replace(make_specs(1, epochs=1)[0], validation=0.25)], store, OPTIONS)
    (record,) = store.records()
    assert record.result is not None and record.result.validation_accuracy is not None
    assert "validation_loss" in record.metrics()[0]


def test_several_groups_train_side_by_side_on_the_cpu(
    tmp_path: Path, tiny: DataSet, make_specs: MakeSpecs, monkeypatch: pytest.MonkeyPatch
) -> None:
    serial, parallel = Store(tmp_path / "serial"), Store(tmp_path / "parallel")
    train(make_specs(4, epochs=1), serial, OPTIONS)
    monkeypatch.setattr("zerosnet.training.plan.cores", lambda: 2)
    train(make_specs(4, epochs=1), parallel, OPTIONS)
    assert outcome(serial) == outcome(parallel)
    assert {record.status for record in parallel.records()} == {"finished"}


def test_untrainable_runs_are_refused_before_anything_is_written(
    tmp_path: Path, tiny: DataSet, make_specs: MakeSpecs
) -> None:
    (spec,) = make_specs(1)
    bad = [
        (replace(spec, recipe=recipe("quick", "digits", batch=97)), "only 96 training images"),
        (replace(spec, precision="bf16"), "bf16"),
        (replace(spec, model="zerosnet21"), "unknown model"),
        (replace(spec, scheme=None), "needs a scheme"),
    ]
    for wrong, message in bad:
        with pytest.raises(InputError, match=message):
            train([spec, wrong], Store(tmp_path / "store"), OPTIONS)
    assert not (tmp_path / "store").exists()
