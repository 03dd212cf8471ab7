"""Runs are attacked from the store: checked, fused, measured, kept."""

import json
import sys
import threading
import types
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch
from tests.read_only import read_only

from zerosnet.cli.main import run as command
from zerosnet.data import DataSet, ImageSet, load
from zerosnet.errors import InputError
from zerosnet.models import create_model
from zerosnet.models.weights import load_model, model_facts, save_model
from zerosnet.robustness import Options
from zerosnet.robustness.corruptions import Corruptions
from zerosnet.training import Result, RunSpec, Store, attack, recipe
from zerosnet.training.attack import attack_path, attack_runs, read_attack
from zerosnet.training.networks import find_surrogate

CPU = torch.device("cpu")
FEW = {"device": CPU, "images": 6}


def finished(store: Store, model: str, seed: int, recipe_name: str = "quick", **changes) -> str:
    """A run that has ended, with weights as they were drawn: what attacks measure of it does not matter here."""
    spec = RunSpec(model, "digits", recipe(recipe_name, "digits", epochs=1, **changes), seed)
    with store.claim(spec) as run:
        network = create_model(model, in_chans=1, seed=seed)
        run.finish(Result("finished", 1, 0.1, test_accuracy=0.1), partial(save_model, network))
    return spec.id


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    store = Store(tmp_path_factory.mktemp("store"))
    for seed in (1, 2):
        finished(store, "zerosnet20_opt", seed)
    finished(store, "preresnet20", 1)
    return store


@pytest.fixture(scope="module")
def opt(store):
    return [record.id for record in store.records() if record.spec.model == "zerosnet20_opt"]


def test_runs_are_fused_and_measure_as_each_alone(store, opt, monkeypatch):
    monkeypatch.setattr("zerosnet.training.attack.cores", lambda: 1)
    together = attack_runs(store, opt, "paper-noise", **FEW)
    alone = {run: attack_runs(store, [run], "paper-noise", again=True, **FEW)[run] for run in opt}
    assert together == alone and list(together) == opt


def test_on_several_cores_runs_are_attacked_in_as_many_threads(store, opt, monkeypatch):
    one_core = attack_runs(store, opt, "paper-noise", **FEW)
    monkeypatch.setattr("zerosnet.training.attack.cores", lambda: 2)
    said: list[str] = []
    assert attack_runs(store, opt, "paper-noise", again=True, say=said.append, **FEW) == one_core
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


def test_what_comes_from_the_store_is_said_to(store, opt, monkeypatch, capsys):
    monkeypatch.setattr("zerosnet.training.attack.cores", lambda: 1)
    (store.find(opt[1]).folder / "attacks" / "paper-noise+images=2.json").unlink(missing_ok=True)
    attack_runs(store, opt[:1], "paper-noise", device=CPU, images=2)
    words = ["attack", *opt, "--protocol", "paper-noise", "--images", "2", "--store", str(store.root)]
    line = "paper-noise: {} of 2 from the store, measured before; --again measures anew\n"
    for stored, extra in ((1, []), (2, []), (2, ["--json"]), (0, ["--again"])):
        assert command([*words, *extra]) == 0
        printed = capsys.readouterr()
        assert (line.format(stored) in printed.err) == (stored > 0) and "from the store" not in printed.out
        assert "--json" not in extra or json.loads(printed.out)


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
    assert read_attack(store.find(run), "paper-noise", Options(images=7)) is None, "seven are a part"


def test_corrupted_images_count_where_they_are_more_than_the_test_set(tmp_path):
    data = load("digits")
    found = Corruptions(tmp_path, ("fog",), len(data.test) + 2)
    asked = Options(images=len(data.test) + 1)
    assert attack._whole(asked, data).images is None
    assert attack._whole(replace(asked, corruptions=found), data).images == len(data.test) + 1


def test_as_many_restarts_as_usual_are_the_whole_protocol(store, opt):
    attack_runs(store, opt[:1], "pgd-whitebox", device=CPU, images=1, restarts=5)
    assert attack_path(store.find(opt[0]), "pgd-whitebox", Options(images=1)).exists()


def test_a_transfer_test_finds_its_surrogate_in_the_store(store, opt):
    (result,) = attack_runs(store, opt[:1], "paper-pgd", **FEW).values()
    stored = json.loads((store.find(opt[0]).folder / "attacks" / "paper-pgd+images=6.json").read_text())
    assert stored["surrogate"] == find_surrogate(store, "digits").id
    assert stored["surrogate"].startswith("preresnet20-digits-quick-s1")
    assert f"examples made on {stored['surrogate']}" in result.notes


def test_a_store_without_surrogate_says_how_to_get_one(tmp_path):
    store = Store(tmp_path)
    run = finished(store, "preresnet20", 2)
    with pytest.raises(InputError, match=r"no surrogate .* zerosnet train preresnet20 --dataset digits --seed 1"):
        attack_runs(store, [run], "paper-pgd", **FEW)


def test_of_several_surrogates_the_first_recipe_in_the_book_is_taken(tmp_path):
    store = Store(tmp_path)
    for name in ("quick", "paper", "fast"):
        finished(store, "preresnet20", 1, name)
    finished(store, "preresnet20", 1, "pgd-madry")
    assert find_surrogate(store, "digits").spec.recipe.name == "paper"


def test_corruptions_that_are_not_given_are_reported_as_not_run(store, opt):
    (result,) = attack_runs(store, opt[:1], "corruptions", **FEW).values()
    assert result.not_run and not result.rows


def test_corruptions_are_looked_for_by_data_set_and_only_where_they_are_asked_for(store, opt, tmp_path):
    folder = tmp_path / "CIFAR-10-C"
    folder.mkdir()
    (folder / "labels.npy").write_bytes(b"no array")
    assert attack_runs(store, opt[:1], "paper-noise", data=tmp_path, again=True, **FEW)[opt[0]].rows
    (result,) = attack_runs(store, opt[:1], "corruptions", data=tmp_path, **FEW).values()
    assert result.not_run == "digits-C is not there; put its npy files into DIR/digits-C and give --data DIR"
    (tmp_path / "digits-C").mkdir()
    np.save(tmp_path / "digits-C" / "labels.npy", np.arange(10))
    np.save(tmp_path / "digits-C" / "fog.npy", np.zeros((10, 8, 8), dtype=np.uint8))
    (result,) = attack_runs(store, opt[:1], "corruptions", data=tmp_path, **FEW).values()
    assert [row.images for row in result.rows] == [6, 2, 2, 2, 2, 2]


def test_notes_say_what_is_other_than_in_the_paper(store, opt):
    (result,) = attack_runs(store, opt[:1], "paper-pgd", **FEW).values()
    assert {"on digits; the paper: cifar10", "trained with recipe quick; the paper: pgd-paper"} <= set(result.notes)
    (result,) = attack_runs(store, opt[:1], "pgd-whitebox", restarts=1, **{**FEW, "images": 2}).values()
    assert not any("the paper:" in note for note in result.notes)


def test_why_the_kernels_are_done_without_is_said_once_however_many_groups_there_are(monkeypatch):
    monkeypatch.setattr(attack, "_SAID", set())
    said: list[str] = []
    for why in (None, "no chip", "no chip", "odd images", "no chip"):
        attack._say_why_plain(why, said.append)
    assert said == [f"plain torch instead of the native kernels: {why}" for why in ("no chip", "odd images")]


def test_a_failure_in_one_thread_stops_the_others(store, opt, monkeypatch):
    monkeypatch.setattr("zerosnet.training.attack.cores", lambda: 2)
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


def test_what_is_stored_is_shown_from_a_store_that_cannot_be_written(tmp_path):
    run = finished(store := Store(tmp_path), "zerosnet20_opt", 1)
    before = attack_runs(store, [run], "paper-noise", **FEW)
    with read_only(tmp_path):
        assert attack_runs(store, [run], "paper-noise", **FEW) == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nobody", "--protocol", "paper-noise"], "run is 'nobody'; there is none"),
        (["zerosnet20", "--protocol", "paper-noise"], "2 runs in store"),
        (["preresnet20", "--protocol", "pgd"], "protocol is 'pgd'; expected one of paper-noise"),
        (["preresnet20", "--protocol", "paper-noise", "--images", "0"], "images is 0"),
        (["preresnet20", "--protocol", "pgd-whitebox", "--restarts", "-1"], "restarts is -1"),
        (["preresnet20", "--protocol", "paper-noise", "--restarts", "2"], "protocol paper-noise makes none"),
        (["preresnet20", "--protocol", "paper-noise", "--device", "tpu"], "device is 'tpu'"),
    ],
)
def test_the_command_explains_bad_input(store, capsys, arguments, message):
    assert command(["attack", *arguments, "--store", str(store.root)]) == 2
    assert message in (error := capsys.readouterr().err) and error.count("\n") == 1


@pytest.mark.parametrize("content", ["{}", "[]", '{"protocol": "paper-noise", "rows": [{}]}', "no json"])
def test_a_damaged_result_is_named(store, opt, content, capsys):
    path = attack_path(store.find(opt[0]), "paper-noise", Options(images=3))
    path.parent.mkdir(exist_ok=True)
    path.write_text(content)
    arguments = ["attack", opt[0], "--protocol", "paper-noise", "--images", "3", "--store", str(store.root)]
    assert command(arguments) == 2
    assert str(path) in (error := capsys.readouterr().err) and error.count("\n") == 1
    assert command([*arguments, "--again"]) == 0
    path.unlink()


# -- the command ------------------------------------------------------------------------------------------------------


def test_the_command_gives_one_json_document(store, opt, capsys):
    arguments = ["attack", *opt, "--protocol", "paper-noise", "--images", "6", "--store", str(store.root), "--json"]
    assert command(arguments) == 0
    document = json.loads(capsys.readouterr().out)
    assert [one["run"] for one in document] == opt
    assert all(len(one["rows"]) == 18 and one["protocol"] == "paper-noise" for one in document)


def test_a_trained_network_is_attacked_by_its_name_and_nothing_is_kept(tmp_path, monkeypatch, capsys):
    images = torch.randint(256, (6, 3, 32, 32), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    some, facts = ImageSet(images, torch.arange(6)), model_facts(name := "zerosnet20_opt.cifar10")
    data = DataSet("cifar10", some, some, 10, *(tuple(facts["input"][key]) for key in ("mean", "std")))
    monkeypatch.setattr(attack, "load_for_test", lambda *_, **__: data)
    words = ["attack", name, "--protocol", "paper-noise", "--store", str(tmp_path / "runs"), "--device", "cpu"]
    assert command([*words, "--json"]) == 0
    (document,) = json.loads(capsys.readouterr().out)
    clean = ((images / 255 - torch.tensor(data.mean)[:, None, None]) / torch.tensor(data.std)[:, None, None]).float()
    right = (load_model(name).eval()(clean).argmax(1) == some.labels).float().mean()
    assert document["run"] == name and document["rows"][0]["accuracy"] == pytest.approx(float(right))
    assert not (tmp_path / "runs").exists()


def test_the_table_shows_failed_checks_as_warnings(store, opt, capsys):
    attack_runs(store, opt, "paper-fgsm", **FEW)
    path = attack_path(store.find(opt[1]), "paper-fgsm", Options(images=6))
    stored = json.loads(path.read_text())
    stored["checks"][3] |= {"passed": False, "detail": "pgd-20 90.00% at 0.075"}
    path.write_text(json.dumps(stored))
    assert command(["attack", *opt, "--protocol", "paper-fgsm", "--images", "6", "--store", str(store.root)]) == 0
    output = capsys.readouterr().out
    assert f'WARNING (!) {opt[1]}: failed check "PGD not weaker than FGSM": pgd-20 90.00% at 0.075' in output
    assert f"{opt[1]} (!)" in output and f"{opt[0]} (!)" not in output
    assert "fgsm, 6 images, eps 0.075 (0.15 in [-1, 1])" in output
    assert "the paper's eps are for inputs in [-1, 1]" in output


def test_settings_that_only_some_runs_have_stand_in_lines_of_their_own(store, opt, capsys):
    """As with runs on data sets of different sizes: no number is shown under another's label."""
    attack_runs(store, opt, "paper-noise", **FEW)
    path = attack_path(store.find(opt[1]), "paper-noise", Options(images=6))
    whole = path.read_text()
    stored = json.loads(whole)
    stored["rows"] = [stored["rows"][0] | {"label": "clean, 5 images"}, *stored["rows"][2:]]
    path.write_text(json.dumps(stored))
    assert command(["attack", *opt, "--protocol", "paper-noise", "--images", "6", "--store", str(store.root)]) == 0
    lines = {line[:20].strip(): line[20:].split() for line in capsys.readouterr().out.splitlines()}
    path.write_text(whole)
    assert lines["clean, 6 images"][1] == lines["uniform [-0.08, 0]"][1] == lines["clean, 5 images"][0] == "-"
    assert "-" not in lines["constant 0.4"]


def test_what_other_packages_print_does_not_get_into_the_results(store, opt, capsys, monkeypatch):
    class AutoAttack:
        def __init__(self, model, **settings):
            print("using standard version")

        def run_standard_evaluation(self, images, labels, bs):
            return images

    monkeypatch.setitem(sys.modules, "autoattack", types.SimpleNamespace(AutoAttack=AutoAttack))
    monkeypatch.setattr("zerosnet.training.attack.cores", lambda: 2)
    arguments = ["attack", *opt, "--protocol", "autoattack", "--images", "2", "--store", str(store.root), "--json"]
    assert command(arguments) == 0
    printed = capsys.readouterr()
    assert [one["run"] for one in json.loads(printed.out)] == opt
    assert printed.err.count("using standard version") == 2
