"""The commands of the page make the same numbers again."""

import json
from dataclasses import replace

import pytest
from tests.report.synthetic import four_runs

from zerosnet.experiments import EXPERIMENTS, read_evidence
from zerosnet.numerics import Scheme
from zerosnet.report.page.commands import attack_command, reproduce_command, train_command
from zerosnet.report.page.configurations import panels
from zerosnet.training import RunSpec, recipe
from zerosnet.training.runs.sweep import expand

UNSTABLE = Scheme.parse("1,1,1;1")


@pytest.fixture
def store(tmp_path):
    return four_runs(tmp_path)


def test_runs_that_differ_by_seed_are_one_configuration(store):
    (panel,) = panels(read_evidence([store]).runs)
    assert [len(one.runs) for one in panel.members] == [2, 2]
    assert panel.title == "cifar10, 56 layers, recipe paper (epochs 3)"


@pytest.mark.parametrize(
    ("dataset", "options", "scheme", "words"),
    [
        ("digits", {"epochs": 3}, UNSTABLE, "--scheme '1,1,1;1' --epochs 3 --seed 7"),
        ("cifar10", {"epochs": 3, "batch": 64}, None, "--data DIR --epochs 3 --batch 64 --seed 7"),
    ],
)
def test_the_command_of_a_run_has_the_options_that_make_it(dataset, options, scheme, words):
    name = "quick" if dataset == "digits" else "paper"
    spec = RunSpec("zerosnet20", dataset, recipe(name, dataset, **options), 7, scheme)
    assert train_command(spec) == f"zerosnet train zerosnet20 --dataset {dataset} --recipe {name} {words}"


@pytest.mark.parametrize("dataset", ["digits", "cifar10"])
@pytest.mark.parametrize(
    ("options", "scheme"),
    [({"weight_decay": 0.5}, None), *(({}, Scheme(a, [1])) for a in ([0.1, 0.9], [0.5, 0.5], [1 / 3] * 3))],
)
def test_what_has_no_options_is_a_sweep_of_exactly_these_runs(dataset, options, scheme):
    spec = RunSpec("zerosnet20", dataset, recipe("quick", dataset, **options), 1, scheme)
    command = train_command(spec, (1, 2))
    assert command.startswith(f"zerosnet sweep /dev/stdin{' --data DIR' if dataset == 'cifar10' else ''} <<< '")
    made = expand(json.loads(command.partition("'")[2][:-1]))
    assert [one.id for one in made] == [spec.id, replace(spec, seed=2).id]


def test_settings_that_follow_from_the_batch_need_no_option():
    book = recipe("imagenet", "imagefolder", "zerosnet18_opt", batch=128)
    assert set(RunSpec("zerosnet18_opt", "imagefolder", book, 1).changes) == {"batch", "lr"}
    plain = train_command(RunSpec("zerosnet18_opt", "imagefolder", book, 1))
    assert "--batch 128" in plain and "--lr" not in plain
    other = train_command(RunSpec("zerosnet18_opt", "imagefolder", replace(book, lr=0.1), 1))
    assert "--batch 128 --lr 0.1" in other


@pytest.mark.parametrize(
    ("name", "scale", "command"),
    [
        ("table-fgsm", "full", "zerosnet reproduce table-fgsm --scale full --data DIR"),
        ("table-fgsm", "demo", "zerosnet reproduce table-fgsm --scale demo"),
        ("table-coefficients", "full", "zerosnet reproduce table-coefficients --scale full"),
        ("table-run-time", "full", "python -m benchmarks models"),
    ],
)
def test_the_command_of_a_table_names_the_folder_if_it_needs_data(name, scale, command):
    assert reproduce_command(EXPERIMENTS[name], scale) == command


def test_reduced_attacks_are_repeated_with_what_was_reduced(store):
    run = read_evidence([store]).runs[0]
    command = attack_command([run], "pgd-whitebox+images=50+restarts=2")
    assert command == f"zerosnet attack {run.record.id} --protocol pgd-whitebox --images 50 --restarts 2 --data DIR"
