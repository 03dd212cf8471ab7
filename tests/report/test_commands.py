"""The commands of the page make the same numbers again."""

import json
from dataclasses import replace

import pytest
from tests.report.synthetic import specs_of_rows, write_run

from zerosnet.experiments import EXPERIMENTS, read_evidence
from zerosnet.numerics import Scheme
from zerosnet.report.page.commands import attack_command, reproduce_command, train_command
from zerosnet.report.page.configurations import panels
from zerosnet.training import RunSpec, Store, recipe
from zerosnet.training.runs.sweep import expand


@pytest.fixture
def store(tmp_path):
    for spec in specs_of_rows(seeds=(1, 2), epochs=3)[:4]:
        write_run(tmp_path / "runs", spec)
    return Store(tmp_path / "runs")


def test_runs_that_differ_by_seed_are_one_configuration(store):
    (panel,) = panels(read_evidence([store]).runs)
    assert [len(one.runs) for one in panel.members] == [2, 2]
    assert panel.title == "cifar10, 56 layers, recipe paper (epochs 3)"


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


def test_settings_that_follow_from_the_batch_need_no_option():
    book = recipe("imagenet", "imagefolder", "zerosnet18_opt", batch=128)
    assert set(RunSpec("zerosnet18_opt", "imagefolder", book, 1).changes) == {"batch", "lr"}
    plain = train_command(RunSpec("zerosnet18_opt", "imagefolder", book, 1))
    assert "--batch 128" in plain and "--lr" not in plain
    other = train_command(RunSpec("zerosnet18_opt", "imagefolder", replace(book, lr=0.1), 1))
    assert "--batch 128 --lr 0.1" in other


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


@pytest.mark.parametrize("scheme", [Scheme([0.1, 0.9], [1]), Scheme([0.5, 0.5], [1.5]), Scheme([1 / 3] * 3, [1])])
def test_the_command_of_a_run_with_a_float_scheme_is_a_sweep_of_exactly_that_run(scheme):
    spec = RunSpec("zerosnet20", "digits", recipe("quick", "digits"), 1, scheme)
    command = train_command(spec)
    assert command.startswith("zerosnet sweep /dev/stdin <<< '")
    (same,) = expand(json.loads(command.partition("'")[2][:-1]))
    assert same.id == spec.id
