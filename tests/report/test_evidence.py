"""What stores hold is read as far as it can be, and what cannot be read is named."""

import json
from dataclasses import replace

import pytest
from tests.report.synthetic import specs_of_rows, write_run

from zerosnet.experiments import EXPERIMENTS, own_scheme, read_evidence
from zerosnet.report.page.commands import attack_command, reproduce_command, train_command
from zerosnet.report.page.configurations import panels
from zerosnet.training import RunSpec, Store, recipe
from zerosnet.training.runs.sweep import expand


@pytest.fixture
def store(tmp_path):
    for spec in specs_of_rows(seeds=(1, 2), epochs=3)[:4]:
        write_run(tmp_path / "runs", spec)
    return Store(tmp_path / "runs")


def test_everything_in_a_run_is_read(store):
    evidence = read_evidence([store])
    assert len(evidence.runs) == 4 and not evidence.problems
    run = evidence.runs[0]
    assert len(run.metrics) == 3 and set(run.attacks) == {"paper-noise", "paper-pgd"}
    assert run.environment["cpu"]["cores"] == 2 and run.whole


@pytest.mark.parametrize(
    "name, content",
    [
        ("environment.json", "[1, 2"),
        ("environment.json", "[1, 2]"),
        ("attacks/paper-noise.json", "{}"),
        ("attacks/paper-noise.json", '{"protocol": "x", "rows": [{"label": 1}]}'),
        ("attacks/paper-noise.json", '"text"'),
    ],
)
def test_a_damaged_file_is_named_and_the_rest_is_kept(store, name, content):
    folder = read_evidence([store]).runs[1].record.folder
    (folder / name).write_text(content)
    evidence = read_evidence([store])
    assert len(evidence.runs) == 4
    assert [str(folder / name) in problem for problem in evidence.problems] == [True]
    assert [run.whole for run in evidence.runs].count(False) == 1


def test_a_run_without_readable_spec_or_result_is_named_and_left_out(store):
    folders = [run.record.folder for run in read_evidence([store]).runs]
    (folders[0] / "spec.json").write_text("{")
    (folders[1] / "result.json").write_text('{"status": "won"}')
    (folders[2] / "result.json").write_text('{"status": "finished", "epochs": 3, "seconds": 1, "test_accuracy": "x"}')
    evidence = read_evidence([store])
    assert len(evidence.runs) == 1 and len(evidence.problems) == 3
    assert all(any(str(folder) in problem for problem in evidence.problems) for folder in folders[:3])


def test_of_two_copies_of_a_run_the_one_that_got_farther_counts(tmp_path):
    spec = specs_of_rows(seeds=(1,), epochs=6)[0]
    write_run(tmp_path / "a", spec, finished=False)
    write_run(tmp_path / "b", spec)
    for order in (("a", "b"), ("b", "a")):
        evidence = read_evidence([Store(tmp_path / name) for name in order])
        assert [run.record.status for run in evidence.runs] == ["finished"]


def test_metrics_that_are_no_numbers_are_left_out(store):
    folder = read_evidence([store]).runs[0].record.folder
    (folder / "metrics.jsonl").write_text('{"epoch": 1, "test_accuracy": "x"}\n{"epoch": "y"}\n{"epoch": 2, "test')
    run = next(run for run in read_evidence([store]).runs if run.record.folder == folder)
    assert run.metrics == [{"epoch": 1}]


def test_runs_that_differ_by_seed_are_one_configuration(store):
    (panel,) = panels(read_evidence([store]).runs)
    assert [len(one.runs) for one in panel.members] == [2, 2]
    assert panel.title == "cifar10, 56 layers, recipe paper (epochs 3)"


def test_networks_with_a_scheme_of_their_own_are_known():
    assert str(own_scheme("zerosnet56_opt")) == "1/3,5/9,1/9;16/9"
    assert own_scheme("zerosnet56_tra") is None and own_scheme("nothing") is None


def test_the_command_of_a_run_makes_the_same_run():
    spec = RunSpec("zerosnet20", "digits", recipe("quick", "digits", epochs=3), 7, specs_of_rows()[0].scheme)
    words = train_command(spec).split()
    assert words[:3] == ["zerosnet", "train", "zerosnet20"]
    given = dict(zip(words[3::2], words[4::2]))
    assert given == {
        "--dataset": "digits",
        "--recipe": "quick",
        "--scheme": "'1,1,1;1'",
        "--epochs": "3",
        "--seed": "7",
    }


def test_the_command_of_a_run_with_a_changed_recipe_is_a_sweep_of_exactly_that_run():
    spec = RunSpec("zerosnet20", "digits", recipe("quick", "digits", weight_decay=0.5), 1)
    command = train_command(spec)
    assert command.startswith("zerosnet sweep /dev/stdin <<< '")
    assert expand(json.loads(command.partition("'")[2][:-1])) == [spec]


def test_a_changed_batch_is_an_option_of_the_command():
    spec = RunSpec("zerosnet20", "cifar10", recipe("paper", "cifar10", epochs=3, batch=64), 1)
    words = train_command(spec).split()
    assert words[1] == "train" and dict(zip(words[3::2], words[4::2])) == {
        "--dataset": "cifar10",
        "--recipe": "paper",
        "--data": "DIR",
        "--epochs": "3",
        "--batch": "64",
        "--seed": "1",
    }


def test_what_follows_from_a_changed_batch_needs_no_option():
    book = recipe("imagenet", "imagefolder", "zerosnet18_opt", batch=128)
    assert set(RunSpec("zerosnet18_opt", "imagefolder", book, 1).changes) == {"batch", "lr"}
    assert "--batch 128" in train_command(RunSpec("zerosnet18_opt", "imagefolder", book, 1))
    other = train_command(RunSpec("zerosnet18_opt", "imagefolder", replace(book, lr=0.1), 1))
    assert other.startswith("zerosnet sweep /dev/stdin --data DIR <<< '")


def test_a_sweep_of_real_data_names_their_folder_and_has_all_seeds():
    spec = RunSpec("zerosnet20", "cifar10", recipe("paper", "cifar10", weight_decay=0.5), 1)
    command = train_command(spec, (1, 2))
    assert command.startswith("zerosnet sweep /dev/stdin --data DIR <<< '")
    assert expand(json.loads(command.partition("'")[2][:-1])) == [spec, replace(spec, seed=2)]


@pytest.mark.parametrize(
    ("name", "scale", "end"),
    [
        ("table-fgsm", "full", "--scale full --data DIR"),
        ("table-fgsm", "reduced", "--scale reduced --data DIR"),
        ("table-fgsm", "demo", "--scale demo"),
        ("table-coefficients", "full", "--scale full"),
    ],
)
def test_the_command_of_a_table_names_the_folder_where_it_needs_data(name, scale, end):
    assert reproduce_command(EXPERIMENTS[name], scale) == f"zerosnet reproduce {name} {end}"


def test_the_command_of_what_a_benchmark_times_is_the_benchmark():
    assert reproduce_command(EXPERIMENTS["table-run-time"], "full") == "python -m benchmarks models"


def test_reduced_attacks_are_repeated_with_what_was_reduced(store):
    run = read_evidence([store]).runs[0]
    command = attack_command([run], "pgd-whitebox+images=50+restarts=2")
    assert command == f"zerosnet attack {run.record.id} --protocol pgd-whitebox --images 50 --restarts 2 --data DIR"
