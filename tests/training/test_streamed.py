"""One network on a folder of images: what it learns, what is written down, and how it goes on."""

import json
import math
from dataclasses import replace

import pytest
import torch
from tests.data.pictures import write_folder
from tests.training.processes import losses_of, options, spec, with_batch

from zerosnet import InputError
from zerosnet.data import open_folder
from zerosnet.models.io.weights import load_model
from zerosnet.training import RunSpec, Store, recipe, train
from zerosnet.training.machine import World
from zerosnet.training.options import StreamOptions
from zerosnet.training.screen.displays import Lines
from zerosnet.training.streamed.trainer import StreamedTrainer, micro_batch

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_folder(tmp_path_factory.mktemp("pictures"), train=12, val=7)


def make(folder, run, **stream):
    data = open_folder(run.dataset, folder)
    return StreamedTrainer(run, data, CPU, World(), StreamOptions(**stream), workers=0, report=pytest.fail)


def test_a_network_learns_and_its_run_ends_like_any_other(folder, tmp_path):
    run = replace(spec(epochs=6, lr=0.1), precision="fp32")
    train([run], Store(tmp_path), options(folder, workers=1))
    (record,) = Store(tmp_path).records()
    rows = record.metrics()
    assert record.status == "finished" and len(rows) == 6
    assert rows[-1]["train_loss"] < rows[0]["train_loss"]
    assert record.result.test_accuracy == rows[-1]["test_accuracy"] > 0.5
    assert record.result.test_top5_accuracy == 1  # of three classes
    assert record.result.train_accuracy > 0.5
    facts = json.loads((record.folder / "environment.json").read_text())
    assert (facts["processes"], facts["micro_batch"], facts["sync_bn"]) == (1, 16, False)
    assert load_model(record.folder / "weights.safetensors").num_classes == 3
    assert not list(record.folder.glob("checkpoints/*"))


def test_an_interrupted_run_ends_as_if_it_had_never_been(folder, tmp_path):
    run = spec(epochs=3)
    whole = losses_of(tmp_path / "whole", run, options(folder))
    assert len(whole) == 6
    first = losses_of(tmp_path / "cut", run, options(folder), stop_after=3)
    rest = losses_of(tmp_path / "cut", run, options(folder))
    assert (len(first), len(rest)) == (3, 3)
    assert first + rest == whole
    results = [Store(tmp_path / name).records()[0] for name in ("whole", "cut")]
    assert results[0].result.test_loss == results[1].result.test_loss
    assert [row["train_loss"] for row in results[0].metrics()] == [row["train_loss"] for row in results[1].metrics()]


def test_epochs_lost_before_the_first_checkpoint_are_named_and_not_recorded_twice(folder, tmp_path, capsys):
    run, store = spec(epochs=1), Store(tmp_path)
    with store.claim(run) as claimed:
        claimed.append_metrics({"epoch": 1, "test_accuracy": 2.0})
    train([run], store, options(folder), progress=Lines())
    assert capsys.readouterr().err.count(f"{run.id}: no checkpoint yet, 1 epoch lost; from the start\n") == 1
    assert [row["test_accuracy"] <= 1 for row in store.find(run.id).metrics()] == [True]


def test_a_run_is_not_continued_on_a_folder_that_has_changed(tmp_path):
    folder, run = write_folder(tmp_path / "pictures", train=12, val=7), spec(epochs=3)
    losses_of(tmp_path / "runs", run, options(folder), stop_after=3)
    image = next((folder / "train").glob("*/*"))
    renamed = image.rename(image.with_name(f"another{image.suffix}"))
    with pytest.raises(InputError, match=f"has changed since run {run.id} was begun with it"):
        losses_of(tmp_path / "runs", run, options(folder))
    renamed.rename(image)
    assert len(losses_of(tmp_path / "runs", run, options(folder))) == 3


def test_scores_count_every_test_image_once(folder):
    training = make(folder, spec())
    test = training.tests["test"]
    test.run()
    (score,) = test.scores()
    assert test.sums[3] == 21 and score.accuracy * 21 == pytest.approx(round(score.accuracy * 21))
    assert score.top5_accuracy == 1 and math.isfinite(score.loss)


def test_top_5_is_one_of_the_best_five(folder, monkeypatch):
    training = make(folder, spec())
    logits = torch.zeros(64, 10, dtype=torch.float64)
    logits[:, 3:8] = 1.0  # the best five are 3 to 7; the labels are 0, 1, 2
    monkeypatch.setattr(training.tests["test"], "model", FixedAnswers(logits))
    training.tests["test"].run()
    assert training.tests["test"].scores()[0].top5_accuracy == 0
    logits[:, 1] = 2.0
    training.tests["test"].run()
    (score,) = training.tests["test"].scores()
    assert score.top5_accuracy == score.accuracy == pytest.approx(1 / 3)


class FixedAnswers(torch.nn.Module):
    def __init__(self, logits):
        super().__init__()
        self.answers = logits

    def forward(self, images):
        return self.answers[: len(images)]


def test_micro_batches_add_up_to_the_gradient_of_the_whole_batch(folder, tmp_path):
    # without batch norm's statistics nothing depends on the cut: in evaluation mode they are constants
    gradients = []
    for micro in (16, 4):
        training = make(folder, spec(), micro_batch=micro)
        training.model.eval()
        kept = []
        training.optimizer.update = lambda found, lr, alive, kept=kept: kept.extend(g.clone() for g in found)
        training.model.training = True  # of the outermost module only: `step` leaves the others as they are
        training.begin_epoch(0, 0)
        training.step()
        gradients.append(kept)
    assert len(gradients[0]) == len(list(training.model.parameters()))
    assert all(torch.allclose(a, b, rtol=1e-9, atol=1e-12) for a, b in zip(*gradients))


def test_running_statistics_move_by_the_mean_over_the_micro_batches(folder):
    training = make(folder, spec(), micro_batch=8)
    training.begin_epoch(0, 0)
    training.step()
    first = training.model.stack.steps[0].f.bn1
    moved = []
    for step in range(2):  # the halves of the batch of 16 are the micro-batches; each from the start
        single = make(folder, spec(), micro_batch=8)
        single.turns = 1
        single.begin_epoch(0, 0)
        for _ in range(step):
            next(single._batches)
        single.step()
        moved.append(single.model.stack.steps[0].f.bn1.running_mean)
    assert torch.allclose(first.running_mean, (moved[0] + moved[1]) / 2, rtol=1e-12)
    assert not torch.equal(moved[0], moved[1])


def test_decay_spares_norms_and_biases(folder):
    run = spec(weight_decay=0.5, momentum=0.0, schedule="constant", lr=0.1)
    for decayed in (False, True):
        training = make(folder, replace(run, recipe=replace(run.recipe, decay_norms=decayed)))
        before = {name: p.detach().clone() for name, p in training.model.named_parameters()}
        training.optimizer.update(
            [torch.zeros_like(p) for p in training.parameters], torch.tensor([0.1]), training.alive
        )
        for name, p in training.model.named_parameters():
            spared = p.dim() < 2 and not decayed
            expected = before[name] * (1.0 if spared else 0.95)
            assert torch.allclose(p, expected, rtol=1e-12), name


def test_training_images_are_scored_after_every_epoch_if_asked(folder, tmp_path):
    run = spec(epochs=1)
    train([run], Store(tmp_path), replace(options(folder), train_accuracy=True))
    record = Store(tmp_path).find(run.id)
    assert record.metrics()[0]["train_eval_accuracy"] == record.result.train_accuracy


def test_a_diverging_run_ends_as_diverged(folder, tmp_path):
    run = spec(epochs=3, lr=1e30, schedule="constant")
    train([run], Store(tmp_path), options(folder))
    (record,) = Store(tmp_path).records()
    assert record.status == "diverged" and "not finite" in record.result.reason


def test_broken_images_are_fatal_or_skipped_as_chosen(tmp_path, capsys):
    folder = write_folder(tmp_path / "pictures", train=6, val=3)
    broken = folder / "train" / "n00000002" / "n00000002_3.JPEG"
    broken.write_bytes(b"\xff\xd8\xff")
    run = with_batch(spec(epochs=1), 6)
    with pytest.raises(InputError, match=r"n00000002_3\.JPEG cannot be decoded .*--broken skip"):
        train([run], Store(tmp_path / "runs"), options(folder))
    from zerosnet.training.screen.displays import Lines

    train([run], Store(tmp_path / "runs"), options(folder, broken="skip"), progress=Lines())
    assert capsys.readouterr().err.count("skipped: ") == 1
    (record,) = Store(tmp_path / "runs").records()
    assert (record.status, record.result.test_images, record.result.skipped_files) == ("finished", 9, 1)


def test_a_result_counts_its_images_if_some_are_broken(tmp_path):
    folder = write_folder(tmp_path / "pictures", train=6, val=3)
    (folder / "val" / "n00000001" / "n00000001_1.JPEG").write_bytes(b"nothing")
    train([with_batch(spec(epochs=1), 6)], Store(tmp_path / "runs"), options(folder, broken="skip"))
    (record,) = Store(tmp_path / "runs").records()
    assert (record.result.test_images, record.result.skipped_files) == (8, 1)
    assert record.result.test_accuracy * 8 == pytest.approx(round(record.result.test_accuracy * 8))


@pytest.mark.parametrize(
    ("batch", "size", "micro", "expected"), [(1024, 8, None, 128), (1024, 1, 128, 128), (256, 4, 32, 32)]
)
def test_the_batch_is_shared_out(batch, size, micro, expected):
    assert micro_batch(batch, World(size=size), micro) == expected


@pytest.mark.parametrize(
    ("batch", "size", "micro", "message"),
    [
        (256, 3, None, "3 processes do not share a batch of 256 evenly"),
        (256, 4, 48, "micro-batch is 48; expected a divisor of 64"),
        (256, 4, 0, "micro-batch is 0"),
    ],
)
def test_a_batch_that_cannot_be_shared_evenly_is_refused(batch, size, micro, message):
    with pytest.raises(InputError, match=message):
        micro_batch(batch, World(size=size), micro)


def test_impossible_runs_are_refused_before_anything_is_written(folder, tmp_path):
    store = Store(tmp_path / "runs")
    for run, settings, message in [
        (with_batch(spec(), 64), options(folder), "only 36 training images"),
        (spec(), replace(options(folder), replicas=2), "one at a time"),
        (replace(spec(), precision="mixed"), options(folder), "mixed is for CUDA"),
        (spec(augmentation={"crop": 4}), options(folder), "crop after padding"),
        (replace(spec(), model="zerosnet21"), options(folder), "unknown model"),
        (RunSpec("zerosnet20_opt", "digits", recipe("quick", "digits"), 1), options(folder), "are for imagefolder"),
    ]:
        with pytest.raises(InputError, match=message):
            train([run], store, settings)
    assert not (tmp_path / "runs").exists()
    for wrong in ({"broken": "maybe"}, {"workers": -1}):
        with pytest.raises(InputError, match=next(iter(wrong))):
            StreamOptions(**wrong)


def test_runs_that_differ_in_their_seed_alone_share_what_is_compiled(folder, tmp_path, monkeypatch):
    forgotten = []
    monkeypatch.setattr("zerosnet.training.plan.forget_compiled", forgotten.append)
    runs = [
        replace(spec(epochs=1, model=model), seed=seed)
        for model in ("zerosnet20_opt", "preresnet20")
        for seed in (1, 2)
    ]
    train(runs, Store(tmp_path), options(folder))
    assert len(Store(tmp_path).records()) == 4 and forgotten == [CPU, CPU]


def test_one_image_at_a_time_is_refused_if_batch_norm_would_see_one_value(folder, tmp_path):
    tiny = replace(spec(), dataset="imagefolder@4")
    with pytest.raises(InputError, match=r"1 image of 4 x 4 at a time, .*expected --batch or --micro-batch 2 or more"):
        train([tiny], Store(tmp_path / "runs"), options(folder, micro_batch=1))
    assert not (tmp_path / "runs").exists()
    train([spec(epochs=1)], Store(tmp_path / "runs"), options(folder, micro_batch=1))
    assert Store(tmp_path / "runs").records()[0].status == "finished"
