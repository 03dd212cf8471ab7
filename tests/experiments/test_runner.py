"""From nothing to a filled table, once, and never twice."""

import pytest
import torch
from tests.experiments.conftest import TINY
from tests.training.engines import Heard

from zerosnet import InputError
from zerosnet.experiments import EXPERIMENTS, Evidence, Left, collect, read_evidence, reproduce, what_is_left
from zerosnet.training import Clock, Local, Options, Result, Store

CPU = Options("cpu")


def test_an_experiment_is_trained_attacked_and_ablated_and_never_again(small, few_digits, tmp_path, monkeypatch):
    store = Store(tmp_path / "runs")
    assert what_is_left([small], TINY, Evidence()) == Left(runs=2, attacks=4)
    evidence = reproduce([small], TINY, store, CPU)
    assert what_is_left([small], TINY, evidence).nothing and evidence == read_evidence(store)
    found = collect(small, evidence, TINY)
    assert found.complete and found.done == 2
    assert all(len(cell.values) == 1 for cell in found.cells)
    for run in evidence.runs:
        record = run.record
        assert run.ablation.blocks == 9 and 0 <= run.ablation.used_blocks <= 9
        assert (record.folder / "attacks" / "paper-fgsm+images=4.json").exists()
        assert (record.folder / "attacks" / "paper-noise.json").exists()

    def never(*arguments, **options):
        raise AssertionError("it was done already")

    left = [run.record.folder / "checkpoints" for run in evidence.runs]  # as after a kill just after the end
    for folder in left:
        folder.mkdir()
    monkeypatch.setattr(Local, "train", never)
    monkeypatch.setattr("zerosnet.experiments.runner.attack_runs", never)
    monkeypatch.setattr("zerosnet.experiments.ablation._ablations", never)
    assert reproduce([small, small], TINY, store, CPU) == evidence
    assert not any(folder.exists() for folder in left)


def test_measurements_report_their_number_and_the_time_left():
    now = iter([0.0, 0.0, 100.0, 130.0])
    said = Heard(clock=lambda: next(now))
    jobs = [lambda clock, report, name=name: report(name) for name in ("noise", "FGSM", "blocks")]
    Local().do(jobs, torch.device("cpu"), Clock(), said)
    first, second, third = (f"measurement {number} of 3" for number in (1, 2, 3))
    assert said.lines == [first, "noise", f"{second}, left 3:20", "FGSM", f"{third}, left 1:05", "blocks"]


def test_measurements_end_when_time_is_up():
    said = Heard()
    Local().do([lambda clock, report: report("never")], torch.device("cpu"), Clock(1e-9), said)
    assert said.lines == []


def test_a_clock_that_has_run_out_leaves_all_to_the_next_call(small, tmp_path):
    clock = Clock(1e-9)
    assert clock.must_stop()
    evidence = reproduce([small], TINY, Store(tmp_path / "runs"), CPU, clock)
    assert what_is_left([small], TINY, evidence) == Left(runs=2, attacks=4)


@pytest.mark.parametrize("status", ["stopped", "diverged"])
def test_runs_without_a_network_are_not_attacked(small, tmp_path, status):
    store = Store(tmp_path / "runs")
    spec = small.specs(TINY)[0]
    with store.claim(spec) as run:
        if status == "diverged":
            run.finish(Result("diverged", 1, 1.0, reason="loss not finite"))
    left = what_is_left([small], TINY, read_evidence(store))
    assert left == (Left(1, 2) if status == "diverged" else Left(2, 4))


def test_a_folder_with_imagenets_classes_passes_for_it_and_no_other_does(tmp_path):
    folder = EXPERIMENTS["table-imagenet"].folder
    for label in range(999):
        (tmp_path / "train" / f"n{label:08}").mkdir(parents=True)
    with pytest.raises(InputError, match=r"^it needs ImageNet: 1000 classes in .*train, found 999$"):
        folder.check(tmp_path, "it")
    (tmp_path / "train" / "n99999999").mkdir()
    folder.check(tmp_path, "it")


def test_a_table_whose_runs_have_ended_asks_nothing_of_the_folder(tmp_path):
    store, table = Store(tmp_path / "runs"), EXPERIMENTS["table-imagenet"]
    for spec in table.specs("full"):
        with store.claim(spec) as run:
            run.finish(Result("diverged", 1, 1.0, reason="loss not finite"))
    (tmp_path / "train" / "n00000001").mkdir(parents=True)
    evidence = reproduce([table], "full", store, Options("cpu", tmp_path))
    assert what_is_left([table], "full", evidence).nothing


def test_a_damaged_run_is_reported_and_the_others_are_trained(small, few_digits, tmp_path):
    store, said = Store(tmp_path / "runs"), Heard()
    damaged, other = small.specs(TINY)
    store.claim(damaged).release()
    (store.folder(damaged) / "result.json").mkdir()
    evidence = reproduce([small], TINY, store, CPU, progress=said)
    assert evidence.has_ended(other) and any(damaged.id in line for line in said.lines)
    assert what_is_left([small], TINY, evidence) == Left(runs=1, attacks=2)
