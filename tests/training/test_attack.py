"""Runs are attacked from the store: checked, fused, measured, kept."""

import json
import threading
from dataclasses import replace

import numpy as np
import pytest
import torch
from tests.read_only import read_only
from tests.training import attacked
from tests.training.attacked import CPU, FEW, finished

from zerosnet.cli.main import run as command
from zerosnet.data import load
from zerosnet.errors import InputError
from zerosnet.robustness import PROTOCOLS, ProtocolOptions, ProtocolResult, ResultRow
from zerosnet.robustness.perturbations.corruptions import Corruptions
from zerosnet.training import RunSpec, Store, recipe
from zerosnet.training.finished import attacks as attack
from zerosnet.training.finished.attacks import attack_path, attack_runs, read_attack
from zerosnet.training.finished.networks import find_surrogate

store, opt = attacked.store, attacked.opt


def test_runs_are_fused_and_measure_as_each_alone(store, opt, monkeypatch):
    monkeypatch.setattr("zerosnet.training.finished.attacks.cores", lambda: 1)
    together = attack_runs(store, opt, "paper-noise", **FEW)
    alone = {run: attack_runs(store, [run], "paper-noise", again=True, **FEW)[run] for run in opt}
    assert together == alone and list(together) == opt


def test_on_several_cores_runs_are_attacked_in_as_many_threads(store, opt, monkeypatch):
    one_core = attack_runs(store, opt, "paper-noise", **FEW)
    monkeypatch.setattr("zerosnet.training.finished.attacks.cores", lambda: 2)
    said: list[str] = []
    assert attack_runs(store, opt, "paper-noise", again=True, report=said.append, **FEW) == one_core
    assert said == ["paper-noise: 1 x zerosnet20_opt on digits"] * 2


def test_results_are_kept_beside_the_run_and_read_again(store, opt):
    (result,) = attack_runs(store, opt[:1], "paper-fgsm", **FEW).values()
    record = store.find(opt[0])
    path = record.folder / "attacks" / "paper-fgsm+images=6.json"
    stored = json.loads(path.read_text())
    assert (
        stored["run"] == opt[0] and stored["environment"]["packages"]["torch"] and stored["convolutions"] == "float32"
    )
    assert len(stored["checks"]) == 7 and len(stored["rows"]) == len(result.rows)
    before = path.stat().st_mtime_ns
    assert attack_runs(store, opt[:1], "paper-fgsm", **FEW)[opt[0]] == result
    assert path.stat().st_mtime_ns == before


def test_a_part_never_takes_the_place_of_the_whole(store, opt):
    attack_runs(store, opt[:1], "paper-noise", **FEW)
    assert read_attack(store.find(opt[0]), "paper-noise") is None


@pytest.mark.parametrize("images", [8, 9])
def test_as_many_images_as_there_are_are_the_whole_protocol(tmp_path, monkeypatch, images):
    digits = load("digits")
    few = replace(digits, test=digits.test.subset(torch.arange(8)))
    monkeypatch.setattr(attack, "load_for_test", lambda *_, **__: few)
    store = Store(tmp_path)
    run = finished(store, "zerosnet20_opt", 1)
    (result,) = attack_runs(store, [run], "paper-noise", device=CPU, images=images).values()
    assert [path.name for path in (store.find(run).folder / "attacks").iterdir()] == ["paper-noise.json"]
    monkeypatch.setattr(attack, "load_for_test", None)
    assert attack_runs(store, [run], "paper-noise", device=CPU, images=images) == {run: result}
    assert read_attack(store.find(run), "paper-noise", ProtocolOptions(images=7)) is None, "seven are a part"


@pytest.mark.parametrize(
    ("images", "file", "measured"),
    [(None, "smoothing", 5), (5, "smoothing", 5), (6, "smoothing+images=6", 6), (9, "smoothing+images=9", 8)],
)
def test_more_images_than_are_usual_are_measured(tmp_path, monkeypatch, images, file, measured):
    digits, asked = load("digits"), {"device": CPU, "images": images, "samples": 10}
    few = replace(digits, test=digits.test.subset(torch.arange(8)))
    monkeypatch.setattr(attack, "load_for_test", lambda *_, **__: few)
    monkeypatch.setitem(PROTOCOLS, "smoothing", replace(PROTOCOLS["smoothing"], images=5))
    store = Store(tmp_path)
    run = finished(store, "zerosnet20_opt", 1)
    attack_runs(store, [run], "smoothing", device=CPU, samples=10)
    (result,) = attack_runs(store, [run], "smoothing", **asked).values()
    assert {row.images for row in result.rows} == {measured}
    assert (store.find(run).folder / "attacks" / f"{file}+samples=10.json").exists()
    monkeypatch.setattr(attack, "load_for_test", None)
    assert attack_runs(store, [run], "smoothing", **asked) == {run: result}


def test_radii_that_differ_a_little_are_kept_apart(store, opt):
    close = [attack_runs(store, opt[:1], "pgd-whitebox", restarts=1, eps=(eps,), **FEW) for eps in (0.12341, 0.12344)]
    assert [next(row.eps for row in found[opt[0]].rows if row.eps) for found in close] == [0.12341, 0.12344]


def test_more_radii_than_a_file_name_holds_are_refused_before_data_are_loaded(store, opt, monkeypatch):
    monkeypatch.setattr(attack, "load_for_test", None)
    with pytest.raises(InputError, match="eps has 40 radii; expected fewer"):
        attack_runs(store, opt[:1], "pgd-whitebox", device=CPU, eps=tuple(n / 999 for n in range(1, 41)))


def test_corrupted_images_beyond_the_test_set_count(tmp_path):
    data = load("digits")
    found = Corruptions(tmp_path, ("fog",), len(data.test) + 2)
    asked = ProtocolOptions(images=len(data.test) + 1)
    assert attack._whole(asked, data).images is None
    assert attack._whole(replace(asked, corruptions=found), data).images == len(data.test) + 1


def test_as_many_restarts_as_usual_are_the_whole_protocol(store, opt):
    attack_runs(store, opt[:1], "pgd-whitebox", device=CPU, images=1, restarts=5)
    assert attack_path(store.find(opt[0]), "pgd-whitebox", ProtocolOptions(images=1)).exists()


def test_a_transfer_test_finds_its_surrogate_in_the_store(store, opt):
    (result,) = attack_runs(store, opt[:1], "paper-pgd", **FEW).values()
    stored = json.loads((store.find(opt[0]).folder / "attacks" / "paper-pgd+images=6.json").read_text())
    assert stored["surrogate"] == find_surrogate(store, "digits").id
    assert stored["surrogate"].startswith("preresnet20-digits-quick-s1")
    assert f"examples made on {stored['surrogate']}" in result.notes


def test_the_error_about_a_missing_surrogate_has_the_command_that_makes_it(tmp_path):
    store = Store(tmp_path)
    run = finished(store, "preresnet20", 2)
    with pytest.raises(InputError, match=r"no surrogate .* zerosnet train preresnet20 --dataset digits --seed 1"):
        attack_runs(store, [run], "paper-pgd", **FEW)


def test_the_surrogate_with_the_first_recipe_of_the_book_is_taken(tmp_path):
    store = Store(tmp_path)
    for name in ("quick", "paper", "fast"):
        finished(store, "preresnet20", 1, name)
    finished(store, "preresnet20", 1, "pgd-madry")
    assert find_surrogate(store, "digits").spec.recipe.name == "paper"


def test_corruptions_that_are_not_given_are_reported_as_not_run(store, opt):
    (result,) = attack_runs(store, opt[:1], "corruptions", **FEW).values()
    assert result.not_run and not result.rows


def test_corruptions_are_searched_by_data_set_and_only_if_asked_for(store, opt, tmp_path):
    folder = tmp_path / "CIFAR-10-C"
    folder.mkdir()
    (folder / "labels.npy").write_bytes(b"no array")
    assert attack_runs(store, opt[:1], "paper-noise", data=tmp_path, again=True, **FEW)[opt[0]].rows
    (result,) = attack_runs(store, opt[:1], "corruptions", data=tmp_path, **FEW).values()
    assert result.not_run and result.not_run.startswith("digits-C is not there")
    (tmp_path / "digits-C").mkdir()
    np.save(tmp_path / "digits-C" / "labels.npy", np.arange(10))
    np.save(tmp_path / "digits-C" / "fog.npy", np.zeros((10, 8, 8), dtype=np.uint8))
    (result,) = attack_runs(store, opt[:1], "corruptions", data=tmp_path, **FEW).values()
    assert [row.images for row in result.rows] == [6, 2, 2, 2, 2, 2]


def test_published_corruptions_replace_regenerated_ones(store, opt, tmp_path):
    record = store.find(opt[0])
    settings = {"corruption": "fog", "severity": 1, "source": "regenerated"}
    row = ResultRow("fog, severity 1", "corruption", 0.5, 3, 6, settings=settings)
    attack.write_attack(record, ProtocolOptions(images=6), ProtocolResult("corruptions", (row,)), {})
    (kept,) = attack_runs(store, opt[:1], "corruptions", **FEW).values()
    assert [one.settings.get("source") for one in kept.rows] == ["regenerated"]
    (tmp_path / "digits-C").mkdir()
    np.save(tmp_path / "digits-C" / "labels.npy", np.arange(10))
    np.save(tmp_path / "digits-C" / "fog.npy", np.zeros((10, 8, 8), dtype=np.uint8))
    (read,) = attack_runs(store, opt[:1], "corruptions", data=tmp_path, **FEW).values()
    assert [one.settings.get("source") for one in read.rows] == [None, *["published"] * 5]


def test_notes_name_the_differences_from_the_paper(store, opt):
    (result,) = attack_runs(store, opt[:1], "paper-pgd", **FEW).values()
    differences = {"on digits; the paper's data: cifar10", "trained with recipe quick; the paper's recipe: pgd-paper"}
    assert differences <= set(result.notes)
    (result,) = attack_runs(store, opt[:1], "pgd-whitebox", restarts=1, **{**FEW, "images": 2}).values()
    assert not any("the paper's" in note for note in result.notes)


def test_a_failure_in_one_thread_stops_the_others(store, opt, monkeypatch):
    monkeypatch.setattr("zerosnet.training.finished.attacks.cores", lambda: 2)
    stopped, whole = [], attack._give_up

    def watched(stop, *_):
        try:
            whole(stop)
        except attack.Stopped:
            stopped.append(True)
            raise

    def broken(name, target, *_, **__):
        if not failing.acquire(blocking=False):
            while True:  # the other thread's work, which has no end
                target.model(torch.zeros(1, 1, 8, 8))
        raise InputError("broken")

    failing = threading.Lock()
    monkeypatch.setattr(attack, "_give_up", watched)
    monkeypatch.setattr(attack, "run_protocol", broken)
    with pytest.raises(InputError, match="broken"):
        attack_runs(store, opt, "paper-noise", again=True, **FEW)
    assert stopped == [True]


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_runs_are_attacked_on_the_gpu(store, opt):
    (one, two) = attack_runs(store, opt, "paper-pgd", device=torch.device("cuda", 0), images=8).values()
    assert len(one.rows) == len(two.rows) == 17
    stored = json.loads((store.find(opt[0]).folder / "attacks" / "paper-pgd+images=8.json").read_text())
    assert stored["device"] == "cuda" and stored["convolutions"] == "bfloat16"


# -- bad input, before any work ---------------------------------------------------------------------------------------


def test_a_run_that_is_not_finished_is_refused_before_data_are_loaded(tmp_path, monkeypatch):
    monkeypatch.setattr(attack, "load_for_test", None)
    store = Store(tmp_path)
    spec = RunSpec("zerosnet20_opt", "digits", recipe("quick", "digits"), 1)
    store.claim(spec).release()
    with pytest.raises(InputError, match="is stopped; expected a finished one"):
        attack_runs(store, [spec.id], "paper-noise", device=CPU)


def test_a_store_that_cannot_be_written_is_refused_before_data_are_loaded(tmp_path, monkeypatch, capsys):
    run = finished(Store(tmp_path), "zerosnet20_opt", 1)
    monkeypatch.setattr(attack, "load_for_test", None)
    with read_only(tmp_path):
        assert command(["attack", run, "--protocol", "paper-noise", "--images", "3", "--store", str(tmp_path)]) == 2
    assert f"store {tmp_path} cannot be written (" in (error := capsys.readouterr().err) and error.count("\n") == 1


def test_stored_results_are_read_from_a_read_only_store(tmp_path):
    run = finished(store := Store(tmp_path), "zerosnet20_opt", 1)
    before = attack_runs(store, [run], "paper-noise", **FEW)
    with read_only(tmp_path):
        assert attack_runs(store, [run], "paper-noise", **FEW) == before
