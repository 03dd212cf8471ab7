"""The command `attack` on runs of a store: documents, tables, and what is wrong with its input."""

import json
import sys
import types

import pytest
import torch
from tests.training import attacked
from tests.training.attacked import CPU, FEW

from zerosnet.cli.main import run as command
from zerosnet.data import DataSet, ImageSet
from zerosnet.models.io.weights import load_model, model_facts
from zerosnet.robustness import ProtocolOptions
from zerosnet.training.finished import attacks as attack
from zerosnet.training.finished.attacks import attack_path, attack_runs

store, opt = attacked.store, attacked.opt


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
    path = attack_path(store.find(opt[1]), "paper-fgsm", ProtocolOptions(images=6))
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
    path = attack_path(store.find(opt[1]), "paper-noise", ProtocolOptions(images=6))
    whole = path.read_text()
    stored = json.loads(whole)
    stored["rows"] = [stored["rows"][0] | {"label": "clean, 5 images"}, *stored["rows"][2:]]
    path.write_text(json.dumps(stored))
    assert command(["attack", *opt, "--protocol", "paper-noise", "--images", "6", "--store", str(store.root)]) == 0
    lines = {line[:20].strip(): line[20:].split() for line in capsys.readouterr().out.splitlines()}
    path.write_text(whole)
    assert lines["clean, 6 images"][1] == lines["uniform [-0.08, 0]"][1] == lines["clean, 5 images"][0] == "-"
    assert "-" not in lines["constant 0.4"]


def test_output_of_other_packages_stays_out_of_the_results(store, opt, capsys, monkeypatch):
    class AutoAttack:
        def __init__(self, model, **settings):
            print("using standard version")

        def run_standard_evaluation(self, images, labels, bs):
            return images

    monkeypatch.setitem(sys.modules, "autoattack", types.SimpleNamespace(AutoAttack=AutoAttack))
    monkeypatch.setattr("zerosnet.training.finished.attacks.cores", lambda: 2)
    arguments = ["attack", *opt, "--protocol", "autoattack", "--images", "2", "--store", str(store.root), "--json"]
    assert command(arguments) == 0
    printed = capsys.readouterr()
    assert [one["run"] for one in json.loads(printed.out)] == opt
    assert printed.err.count("using standard version") == 2


def test_results_from_the_store_are_marked(store, opt, monkeypatch, capsys):
    monkeypatch.setattr("zerosnet.training.finished.attacks.cores", lambda: 1)
    (store.find(opt[1]).folder / "attacks" / "paper-noise+images=2.json").unlink(missing_ok=True)
    attack_runs(store, opt[:1], "paper-noise", device=CPU, images=2)
    words = ["attack", *opt, "--protocol", "paper-noise", "--images", "2", "--store", str(store.root)]
    line = "paper-noise: {} of 2 from the store, measured before; --again measures anew\n"
    for stored, extra in ((1, []), (2, []), (2, ["--json"]), (0, ["--again"])):
        assert command([*words, *extra]) == 0
        printed = capsys.readouterr()
        assert (line.format(stored) in printed.err) == (stored > 0) and "from the store" not in printed.out
        assert "--json" not in extra or json.loads(printed.out)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nobody", "--protocol", "paper-noise"], "run is 'nobody'; expected the id"),
        (["nobody", "--protocol", "paper-noise"], "or a trained network: preresnet56.cifar10"),
        (["zerosnet56_opt", "--protocol", "paper-noise"], "(did you mean zerosnet56_opt.cifar10?)"),
        (["preresnet20", "--protocol", "smoothing", "--sigma", "0"], "sigma is 0.0; expected a number above 0"),
        (["preresnet20", "--protocol", "smoothing", "--samples", "9"], "samples is 9; expected a whole number from 10"),
        (["zerosnet20", "--protocol", "paper-noise"], "2 runs in store"),
        (["preresnet20", "--protocol", "pgd"], "protocol is 'pgd'; expected one of paper-noise"),
        (["preresnet20", "--protocol", "paper-noise", "--images", "0"], "images is 0"),
        (["preresnet20", "--protocol", "pgd-whitebox", "--restarts", "-1"], "restarts is -1"),
        (
            ["preresnet20", "--protocol", "paper-noise", "--restarts", "2"],
            "paper-noise does not take it",
        ),
        (["preresnet20", "--protocol", "paper-noise", "--device", "tpu"], "device is 'tpu'"),
    ],
)
def test_the_command_explains_bad_input(store, refused, arguments, message):
    refused(["attack", *arguments, "--store", str(store.root)], message)


def test_eps_is_read_and_shown_as_a_fraction_of_255_and_kept_beside_the_whole(store, opt, capsys, tmp_path):
    words = ["attack", opt[0], "--protocol", "pgd-whitebox", "--images", "4", "--restarts", "1", "--device", "cpu"]
    figure = tmp_path / "attack.png"
    assert command([*words, "--eps", "6/255", "--store", str(store.root), "--plot", str(figure)]) == 0
    out = capsys.readouterr().out
    assert "pgd-20, 4 images, eps 6/255" in out and "eps 8/255" not in out
    assert figure.stat().st_size > 10_000
    folder = store.find(opt[0]).folder / "attacks"
    assert (folder / "pgd-whitebox+images=4+restarts=1+eps=6of255.json").exists()


def test_every_pass_of_an_attack_is_reported_to_its_bar(store, opt):
    told = {}

    def bar(label, total):
        told[label] = [total]
        return told[label].append

    attack_runs(store, opt[:1], "pgd-whitebox", device=CPU, images=3, restarts=2, eps=(0.01,), again=True, bar=bar)
    ((label, (total, *parts)),) = told.items()
    assert label.startswith("pgd-whitebox: 1 x zerosnet20")
    assert sum(parts) == total


def test_eps_is_for_protocols_that_have_no_radii_of_their_own(store, opt, refused):
    words = ["attack", opt[0], "--protocol", "paper-noise", "--store", str(store.root)]
    refused([*words, "--eps", "8/255"], "expected one that does: pgd-whitebox, autoattack")


def test_an_option_that_the_protocol_does_not_take_is_refused_before_its_value(store, opt, refused):
    words = ["attack", opt[0], "--protocol", "smoothing", "--store", str(store.root)]
    refused([*words, "--eps", "3"], "eps is given; protocol smoothing does not take it")


@pytest.mark.parametrize("content", ["{}", "[]", '{"protocol": "paper-noise", "rows": [{}]}', "no json"])
def test_a_damaged_result_is_named(store, opt, content, refused):
    path = attack_path(store.find(opt[0]), "paper-noise", ProtocolOptions(images=3))
    path.parent.mkdir(exist_ok=True)
    path.write_text(content)
    arguments = ["attack", opt[0], "--protocol", "paper-noise", "--images", "3", "--store", str(store.root)]
    refused(arguments, str(path))
    assert command([*arguments, "--again"]) == 0
    path.unlink()
