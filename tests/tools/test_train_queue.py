"""The queue of trainings, on digits."""

import json
import signal
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from tools import train_queue
from zerosnet.errors import InputError
from zerosnet.experiments import EXPERIMENTS
from zerosnet.robustness import PROTOCOLS, radius_text
from zerosnet.training import RunRecord, RunSpec, Store, recipe

RECIPE = {"name": "quick", "epochs": 1}
SWEEPS = Path(__file__).parents[2] / "results" / "sweeps"


def sweep(path, *models, seeds=(1,)):
    specs = [{"model": m, "dataset": "digits", "recipe": RECIPE, "seed": s} for m in models for s in seeds]
    path.write_text(json.dumps({"specs": specs}))
    return path


@pytest.fixture
def places(tmp_path):
    """Folders of data (digits need none), runs and records, and of what is known."""
    return [str(tmp_path / name) for name in ("data", "runs", "records")], str(tmp_path / "known")


def queue(places, *sweeps, more=()):
    folders, known = places
    return train_queue.main([*folders, *map(str, sweeps), "--known", known, *more])


def test_a_queue_trains_measures_and_keeps_records(places, tmp_path, capsys):
    file = sweep(tmp_path / "a.json", "zerosnet20_opt", seeds=(1, 2))
    assert queue(places, file) == 0
    records = list(Store(tmp_path / "records").records())
    assert len(records) == 2
    for record in records:
        assert (record.folder / "attacks" / "paper-noise.json").exists()
        assert (record.folder / "ablation.json").exists() and not record.has_weights
    assert "2 run(s) ended" in capsys.readouterr().out


def test_runs_with_a_record_are_not_trained_again(places, tmp_path, capsys):
    file = sweep(tmp_path / "a.json", "zerosnet20_opt")
    (run,) = train_queue.waiting([file], [])
    (tmp_path / "known" / run.id).mkdir(parents=True)
    (tmp_path / "known" / run.id / "result.json").write_text("{}")
    assert queue(places, file) == 0 and "0 run(s) ended" in capsys.readouterr().out
    assert not (tmp_path / "runs" / run.id).exists()


def test_groups_keep_the_order_of_the_sweeps(tmp_path):
    from zerosnet.training import Options

    first = sweep(tmp_path / "a.json", "preresnet20", seeds=(1, 2))
    second = sweep(tmp_path / "b.json", "lmresnet20", "preresnet20", seeds=(1,))
    specs = train_queue.waiting([first, second], [])
    found = train_queue.groups(specs, Store(tmp_path / "runs"), Options(device="cpu"))
    assert [spec.model for group in found for spec in group] == ["preresnet20", "preresnet20", "lmresnet20"]


def test_nothing_is_begun_when_time_is_up(places, tmp_path, capsys):
    file = sweep(tmp_path / "a.json", "zerosnet20_opt")
    assert queue(places, file, more=("--max-seconds", "1e-9")) == 0
    assert "left out" in capsys.readouterr().err
    assert not (tmp_path / "records").exists()


def test_a_file_that_does_not_exist_is_refused(places, tmp_path, capsys):
    assert queue(places, tmp_path / "none.json") == 2
    assert "none.json" in capsys.readouterr().err


def test_runs_that_were_cut_off_before_their_record_are_measured(places, tmp_path, monkeypatch, capsys):
    file = sweep(tmp_path / "a.json", "zerosnet20_opt")
    with monkeypatch.context() as patch:

        def killed(*arguments, **options):
            raise KeyboardInterrupt

        patch.setattr(train_queue, "ablate", killed)
        with pytest.raises(KeyboardInterrupt):
            queue(places, file)
    assert not (tmp_path / "records").exists()
    other = sweep(tmp_path / "b.json", "lmresnet20")
    assert queue(places, file, other) == 0 and "2 run(s) ended" in capsys.readouterr().out
    for record in Store(tmp_path / "records").records():
        assert (record.folder / "attacks" / "paper-noise.json").exists() and (record.folder / "ablation.json").exists()
    assert queue(places, file, other) == 0 and "0 run(s) ended" in capsys.readouterr().out


def test_records_are_those_of_the_queue_alone(places, tmp_path):
    """Others may not have been measured yet, or are damaged."""
    (tmp_path / "runs" / "damaged").mkdir(parents=True)
    (tmp_path / "runs" / "damaged" / "spec.json").write_text("{")
    assert queue(places, sweep(tmp_path / "a.json", "zerosnet20_opt")) == 0
    assert len(Store(tmp_path / "records").records()) == 1


def test_records_that_cannot_be_written_are_refused_before_training(places, tmp_path, capsys):
    (tmp_path / "records").touch()
    assert queue(places, sweep(tmp_path / "a.json", "zerosnet20_opt")) == 2
    assert "records" in capsys.readouterr().err and not (tmp_path / "runs").exists()


def test_a_signal_is_told_by_the_exit_code(places, tmp_path, monkeypatch, capsys):
    file = sweep(tmp_path / "a.json", "zerosnet20_opt")
    monkeypatch.setattr(train_queue, "train", lambda *given, clock, progress: signal.raise_signal(signal.SIGTERM))
    assert queue(places, file) == 128 + signal.SIGTERM and "SIGTERM" in capsys.readouterr().err


@pytest.mark.parametrize("more", [(), ("--kernels", "native")])
def test_a_run_that_names_its_precision_needs_plain_torch(places, capsys, more):
    assert queue(places, SWEEPS / "plain-torch.json", more=more) == 2
    assert "expected --kernels torch" in capsys.readouterr().err
    train_queue.check_arithmetic(train_queue.waiting([SWEEPS / "plain-torch.json"], []), "torch")


def test_kernels_are_handed_on_to_the_training(places, tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr(
        train_queue, "train", lambda group, store, options, clock, progress: seen.append(options.kernels)
    )
    assert queue(places, sweep(tmp_path / "a.json", "zerosnet20_opt"), more=("--kernels", "torch")) == 0
    assert seen == ["torch"] and queue(places, SWEEPS / "adam.json", more=("--kernels", "none")) == 2


def test_networks_of_the_fgsm_table_are_attacked_as_in_it(places, tmp_path):
    file = tmp_path / "a.json"
    recipe = {"name": "mnist-fgsm", "epochs": 1}
    file.write_text(json.dumps([{"model": "zerosnet20_opt", "dataset": "digits", "recipe": recipe, "seed": 1}]))
    assert queue(places, file) == 0
    (record,) = Store(tmp_path / "records").records()
    assert [path.name for path in (record.folder / "attacks").iterdir()] == ["paper-fgsm.json"]


def test_the_protocols_of_a_recipe_are_those_of_its_table():
    for name in ("table-fgsm", "table-pgd"):
        (protocol,) = EXPERIMENTS[name].protocols()
        recipes = {spec.recipe.name for spec in EXPERIMENTS[name].attacked(protocol, "full")}
        for shown in (train_queue.BY_RECIPE[name] for name in recipes):
            assert protocol in [one.protocol for one in shown]


def test_a_package_that_a_protocol_needs_is_missed_before_training(places, monkeypatch, capsys):
    def missing():
        raise InputError("autoattack needs pyautoattack")

    monkeypatch.setitem(PROTOCOLS, "autoattack", replace(PROTOCOLS["autoattack"], ready=missing))
    monkeypatch.setattr(train_queue, "train", lambda *given, **named: pytest.fail("something was trained"))
    assert queue(places, SWEEPS / "adversarial-seeds.json") == 2
    assert "needs pyautoattack" in capsys.readouterr().err


def shown_to(*names):
    """List what the first run of the first sweep is shown."""
    sweeps = [SWEEPS / f"{name}.json" for name in names]
    (spec, *_) = train_queue.waiting(sweeps, [])
    record = RunRecord(spec.id, Path(), spec, "finished", None)
    return [(one.protocol, one.images) for one in train_queue.by_protocol([record], train_queue.protocols(sweeps))]


def test_networks_of_adversarial_training_are_attacked_on_as_many_images_as_those_on_record():
    assert shown_to("adversarial") == [("paper-noise", None), ("pgd-whitebox", 500), ("autoattack", 100)]


def test_their_second_seed_is_shown_autoattack_on_500_images():
    assert shown_to("adversarial-seeds") == [("paper-noise", None), ("pgd-whitebox", 500), ("autoattack", 500)]


def test_networks_without_defence_are_attacked_at_small_radii_and_corrupted():
    assert shown_to("undefended") == [("paper-noise", None), ("pgd-whitebox", 1000), ("corruptions", None)]
    (attacks,) = [one for one in train_queue.BY_SWEEP["undefended"] if one.eps is not None]
    assert [radius_text(eps) for eps in attacks.eps] == ["0.25/255", "0.5/255", "1/255", "2/255"]


def test_a_run_of_two_sweeps_is_shown_what_either_asks_for(tmp_path):
    usual = tmp_path / "usual.json"
    usual.write_text((SWEEPS / "adversarial-seeds.json").read_text())
    found = train_queue.protocols([usual, SWEEPS / "adversarial-seeds.json"])
    assert all(len(shown) == 4 for shown in found.values()), "AutoAttack on 100 and on 500 images"


@pytest.mark.parametrize("name", train_queue.BY_SWEEP)
def test_every_sweep_with_protocols_of_its_own_exists(name):
    assert (SWEEPS / f"{name}.json").exists()


def test_a_sweep_decides_what_its_networks_are_shown(places, tmp_path, monkeypatch):
    shown = (train_queue.Shown("pgd-whitebox", 4, (2 / 255,)),)
    monkeypatch.setitem(train_queue.BY_SWEEP, "attacked", shown)
    assert queue(places, sweep(tmp_path / "attacked.json", "zerosnet20_opt")) == 0
    (record,) = Store(tmp_path / "records").records()
    assert [path.name for path in (record.folder / "attacks").iterdir()] == ["pgd-whitebox+images=4+eps=2of255.json"]


@pytest.fixture
def adversarial(tmp_path):
    """A sweep of a network and, before it, the one that makes its examples."""
    hard = recipe("pgd-paper", "digits", epochs=1, batch=480)
    hard = replace(hard, adversarial=replace(hard.adversarial, steps=1))
    soft = recipe("quick", "digits", epochs=1, batch=480)
    specs = [RunSpec("zerosnet20_opt", "digits", hard, 1), RunSpec("preresnet20", "digits", soft, 1)]
    (tmp_path / "a.json").write_text(json.dumps([spec.to_json() for spec in specs]))
    return tmp_path / "a.json", *specs


def test_a_surrogate_on_record_is_trained_again_and_its_record_stays(places, adversarial, tmp_path):
    file, network, surrogate = adversarial
    (tmp_path / "known" / surrogate.id).mkdir(parents=True)
    (tmp_path / "known" / surrogate.id / "result.json").write_text("{}")
    assert queue(places, file) == 0
    (record,) = Store(tmp_path / "records").records()
    assert record.id == network.id and (record.folder / "attacks" / "paper-pgd.json").exists()
    assert Store(tmp_path / "runs").find(surrogate.id).has_weights


def test_a_network_is_left_out_with_its_surrogate(places, adversarial, monkeypatch, capsys):
    file, _, surrogate = adversarial
    long = {surrogate.model: 1e9}
    monkeypatch.setattr(train_queue, "find_device", lambda name: torch.device("cuda"))
    monkeypatch.setattr(train_queue, "group_seconds", lambda group: long.get(group[0].model, 1.0))
    monkeypatch.setattr(train_queue, "train", lambda *given, **named: pytest.fail("something was trained"))
    assert queue(places, file, more=("--max-seconds", "1000")) == 0
    assert "the network of its examples was left out" in capsys.readouterr().err


@pytest.mark.parametrize(("more", "begun"), [((), 0), (("--in-pieces",), 1)])
def test_a_group_that_does_not_fit_is_begun_in_pieces_only(places, tmp_path, monkeypatch, more, begun):
    seen = []
    monkeypatch.setattr(train_queue, "find_device", lambda name: torch.device("cuda"))
    monkeypatch.setattr(train_queue, "group_seconds", lambda group: 1e9)
    monkeypatch.setattr(train_queue, "train", lambda group, *given, **named: seen.append(group))
    assert queue(places, sweep(tmp_path / "a.json", "zerosnet20_opt"), more=("--max-seconds", "1000", *more)) == 0
    assert len(seen) == begun
