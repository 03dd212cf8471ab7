import json
import shutil

import pytest
from tests.measured_runs import RUNS, needs_runs

from zerosnet.errors import InputError
from zerosnet.experiments import verify_store


def problems(store):
    return [finding.what for finding in verify_store(store.root).problems]


def edit(path, **changes):
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


@needs_runs
def test_the_records_of_the_repository_pass():
    found = verify_store(RUNS)
    assert found.problems == []
    assert found.checked["runs"] == len(list(RUNS.glob("*/spec.json")))
    assert found.checked["results"] == len(list(RUNS.glob("*/result.json")))


def test_a_store_passes_and_everything_in_it_is_checked(store):
    found = verify_store(store.root)
    assert found.problems == []
    kinds = {"runs": 2, "identities": 2, "journals": 2, "results": 1, "weights": 2, "checkpoints": 2}
    assert {name: found.checked[name] for name in kinds} == kinds
    assert found.checked["measurements"] >= 6


def test_a_folder_of_another_name_is_a_problem(store, folder):
    folder.rename(folder.with_name(folder.name[:-1] + ("0" if folder.name[-1] != "0" else "1")))
    assert any(what.startswith(f"spec.json is that of {folder.name}") for what in problems(store))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"best_epoch": 1}, "best_epoch 1, and metrics.jsonl has 2"),
        ({"best_test_accuracy": 0.95}, "best_test_accuracy 0.95, and metrics.jsonl has 0.9"),
        ({"test_accuracy": 0.9}, "test_accuracy 0.9, and metrics.jsonl has 0.8"),
        ({"epochs": 2}, "epochs 2, and its recipe has 3"),
        ({"test_loss": None}, "test_loss None, and metrics.jsonl has 1.0"),
    ],
)
def test_a_result_that_its_journal_does_not_have_is_a_problem(store, folder, change, words):
    edit(folder / "result.json", **change)
    assert any(words in what for what in problems(store))


@pytest.mark.parametrize(
    ("line", "words"),
    [("{\n", "line 4 of metrics.jsonl is damaged"), ('{"epoch": 5}\n', "has epoch 5 in the place of epoch 4")],
)
def test_a_damaged_journal_is_a_problem(store, folder, line, words):
    with (folder / "metrics.jsonl").open("a") as file:
        file.write(line)
    assert any(words in what for what in problems(store))


def test_a_line_that_is_being_written_is_none(store, stopped):
    with (stopped / "metrics.jsonl").open("a") as file:
        file.write('{"epoch": 2, "tes')
    assert problems(store) == []


@pytest.mark.parametrize("name", ["weights.safetensors", "checkpoints/000000000004.safetensors"])
@pytest.mark.parametrize("damage", ["a byte", "the end"])
def test_tensors_that_differ_from_their_checksum_are_a_problem(store, folder, stopped, name, damage):
    path = next(run / name for run in (folder, stopped) if (run / name).exists())
    content = bytearray(path.read_bytes())
    content[-100] ^= 1
    path.write_bytes(content if damage == "a byte" else content[:-50])
    (what,) = problems(store)
    assert name in what and ("checksum" in what if damage == "a byte" else "truncated" in what)


def test_weights_and_checkpoints_of_another_run_are_a_problem(store, folder, stopped):
    shutil.copytree(stopped / "checkpoints", folder / "checkpoints")
    shutil.copy(folder / "weights.safetensors", stopped / "weights.safetensors")
    assert problems(store) == [
        f"checkpoints/000000000004.safetensors is that of {stopped.name}",
        f"weights.safetensors is that of {folder.name}",
    ]


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("attacks/paper-noise.json", {"run": "other"}, "is that of other"),
        ("attacks/paper-noise.json", {"protocol": "paper-fgsm"}, "is of paper-fgsm"),
        ("attacks/paper-noise.json", {"data": "cd"}, "was measured on other data (cd)"),
        (
            "attacks/paper-noise.json",
            {"rows": [{"method": "clean", "accuracy": 0.7, "correct": 700, "images": 1000}]},
            "has accuracy 0.7000, and result.json has 0.8000",
        ),
        (
            "attacks/paper-noise.json",
            {"rows": [{"method": "clean", "accuracy": 0.8, "correct": 700, "images": 1000}]},
            "the accuracy of a row is not its correct answers by its images",
        ),
        ("ablation.json", {"run": "other"}, "is that of other"),
        ("ablation.json", {"accuracy": 0.7}, "has accuracy 0.7000"),
    ],
)
def test_measurements_of_another_run_are_a_problem(store, folder, name, change, words):
    edit(folder / name, **change)
    assert any(words in what for what in problems(store))


def test_a_small_difference_by_other_kernels_is_noted_and_no_problem(store, folder):
    edit(folder / "ablation.json", accuracy=0.75, kernels="others")
    found = verify_store(store.root)
    assert found.problems == []
    assert any("0.7500 by other kernels" in one.what for one in found.notes)
    edit(folder / "ablation.json", accuracy=0.65)
    assert any("has accuracy 0.6500" in what for what in problems(store))


def test_a_thousand_images_drawn_at_random_may_be_answered_a_little_better(store, folder):
    part = folder / "attacks" / "paper-noise+images=1000.json"
    (folder / "attacks" / "paper-noise.json").rename(part)
    edit(part, rows=[{"method": "clean", "accuracy": 0.825, "correct": 825, "images": 1000}])
    assert problems(store) == []
    edit(part, rows=[{"method": "clean", "accuracy": 0.87, "correct": 870, "images": 1000}], kernels="torch")
    assert any("has accuracy 0.8700" in what for what in problems(store))


@pytest.mark.parametrize("name", ["spec.json", "result.json", "environment.json", "ablation.json"])
def test_a_file_that_is_no_json_is_a_problem(store, folder, name):
    (folder / name).write_text("{")
    assert any(name in what for what in problems(store))


def test_a_run_that_has_lost_its_spec_is_a_problem_and_an_empty_folder_is_none(store, folder):
    (store.root / "empty").mkdir()
    assert problems(store) == []
    (folder / "spec.json").unlink()
    assert problems(store) == ["has no spec.json"]


def test_runs_on_different_images_of_an_official_data_set_are_a_problem(store, stopped):
    edit(stopped / "environment.json", data="cd")
    assert any("digits has checksum" in what for what in problems(store))


def test_checksums_of_the_data_themselves_are_computed_if_asked_for(store, tmp_path):
    found = verify_store(store.root, data=tmp_path)
    assert len(found.problems) == 2 and all("digits has checksum" in one.what for one in found.problems)


@pytest.mark.parametrize("place", ["nowhere", "empty"])
def test_a_store_without_runs_is_bad_input(tmp_path, place):
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="expected a folder of runs"):
        verify_store(tmp_path / place)
