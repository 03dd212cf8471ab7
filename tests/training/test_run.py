import json
import math

import pytest
import torch

from zerosnet import InputError
from zerosnet.training import Result, RunSpec, Store

SPEC = RunSpec.from_json({"model": "zerosnet20_opt", "dataset": "digits", "recipe": "quick", "seed": 1})
DONE = Result("finished", epochs=2, seconds=1.5, test_accuracy=0.9, best_epoch=1, best_test_accuracy=0.95)


@pytest.fixture
def run(tmp_path):
    with Store(tmp_path).claim(SPEC) as run:
        yield run


def test_metrics_are_one_json_line_per_epoch_and_never_nan(run):
    run.append_metrics({"epoch": 1, "loss": 0.5, "coefficients": [1.0, math.inf]})
    run.append_metrics({"epoch": 2, "loss": math.nan, "inner": {"a": -math.inf}})
    lines = (run.folder / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == run.metrics()
    assert run.metrics()[0]["coefficients"] == [1.0, None]
    assert run.metrics()[1] == {"epoch": 2, "loss": None, "inner": {"a": None}}


def test_rewinding_forgets_later_epochs_and_torn_lines(run):
    for epoch in (1, 2, 3):
        run.append_metrics({"epoch": epoch})
    with (run.folder / "metrics.jsonl").open("a") as file:
        file.write('{"epoch": 4, "lo')
    assert [row["epoch"] for row in run.metrics()] == [1, 2, 3]
    run.rewind(2)
    run.append_metrics({"epoch": 3, "again": True})
    assert run.metrics() == [{"epoch": 1}, {"epoch": 2}, {"epoch": 3, "again": True}]


def test_the_environments_a_run_was_continued_in_are_all_kept(run):
    for torch_version in ("2.8", "2.8", "2.9"):
        run.write_environment({"torch": torch_version})
    record = json.loads((run.folder / "environment.json").read_text())
    begun = record.pop("begun")
    assert record == {"torch": "2.9", "earlier": [{"torch": "2.8"}]} and begun.endswith(" UTC")


def test_a_record_of_old_versions_gets_no_date_of_its_beginning(run):
    (run.folder / "environment.json").write_text('{"torch": "2.8"}')
    run.write_environment({"torch": "2.8"})
    assert json.loads((run.folder / "environment.json").read_text()) == {"torch": "2.8"}


def test_a_finished_run_has_exactly_one_weights_file_and_no_other_tensors(run):
    run.save_checkpoint(10, {"w": torch.ones(3)}, {"epoch": 1})
    assert run.load_checkpoint().state == {"epoch": 1}
    run.finish(DONE, lambda path: path.write_bytes(b"weights"))
    assert run.weights.read_bytes() == b"weights" and run.result() == DONE
    assert [p.name for p in run.folder.rglob("*.safetensors")] == ["weights.safetensors"]
    assert not list(run.folder.rglob("*.tmp"))


def test_a_run_has_not_ended_if_its_weights_cannot_be_written(run):
    run.save_checkpoint(10, {"w": torch.ones(3)}, {"epoch": 1})

    def fail(path):
        path.write_bytes(b"half")
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        run.finish(DONE, fail)
    assert run.result() is None and not run.weights.exists() and run.load_checkpoint() is not None
    assert not list(run.folder.rglob("*.tmp"))


def test_a_diverged_run_ends_without_weights(run):
    run.finish(Result("diverged", epochs=1, seconds=0.1, reason="loss is nan in step 17"))
    assert run.result().reason == "loss is nan in step 17" and not run.weights.exists()


def test_results_survive_json_and_later_fields_do_not_hurt():
    assert Result.from_json(json.loads(json.dumps(DONE.to_json()))) == DONE
    assert Result.from_json({**DONE.to_json(), "a_later_field": 1}) == DONE


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"status": "done"}, "status is 'done'; expected one of finished, diverged"),
        ({"status": "finished"}, "has a test_accuracy"),
        ({"status": "diverged", "test_loss": math.nan}, "test_loss is nan"),
        ({"status": "finished", "test_accuracy": "high"}, "test_accuracy is 'high'"),
        ({"status": "finished", "test_accuracy": 0.5, "best_epoch": [1]}, r"best_epoch is \[1\]"),
    ],
)
def test_bad_results_are_refused(fields, message):
    with pytest.raises(InputError, match=message):
        Result(**{"epochs": 1, "seconds": 1.0, **fields})
