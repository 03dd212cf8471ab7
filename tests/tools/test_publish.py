"""From a finished run to a trained network of the package."""

import json
from functools import partial

import pytest
from tools.publish import HALF, publish

from tools import publish as module
from zerosnet.cli.main import run as command
from zerosnet.environment import environment
from zerosnet.models import create_model, load_model, model_facts, pretrained_card, save_model
from zerosnet.training import Result, RunSpec, Store


def finished(store, **fields):
    spec = RunSpec.from_json({"model": "preresnet20", "dataset": "digits", "recipe": "quick", "seed": 1, **fields})
    with Store(store).claim(spec) as claimed:
        claimed.write_environment(environment())
        model = create_model(spec.model, scheme=spec.scheme, in_chans=1, seed=1)
        claimed.finish(Result("finished", 1, 1.0, test_accuracy=0.5), partial(save_model, model))
    return Store(store).find(spec.id)


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package that has no trained networks yet."""
    folder = tmp_path / "package"
    folder.mkdir()
    monkeypatch.setattr("zerosnet.models.pretrained.FOLDER", folder)
    return folder


def test_what_is_stored_is_what_was_measured(tmp_path, package, capsys):
    path = publish(finished(tmp_path / "runs"), data=tmp_path, folder=package)
    facts = model_facts("preresnet20.digits")
    assert path.name == "preresnet20.digits.safetensors" and facts["recipe"]["name"] == "quick"
    assert facts["test_accuracy"] == facts["metrics"][HALF] != 0.5 == facts["metrics"]["test, last epoch"]
    assert f"{100 * facts['test_accuracy']:.2f} %" in pretrained_card("preresnet20.digits")
    assert command(["evaluate", "preresnet20.digits", "--json", "--device", "cpu"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["test_accuracy"] == found["recorded_test_accuracy"] == facts["test_accuracy"]
    assert load_model("preresnet20.digits").in_chans == 1


def test_without_data_it_reports_what_training_measured(tmp_path, package):
    publish(finished(tmp_path / "runs"), folder=package)
    facts = model_facts("preresnet20.digits")
    assert facts["test_accuracy"] == 0.5 and HALF not in facts["metrics"]


def test_a_run_with_a_scheme_of_its_own_has_no_name_for_it(tmp_path, package, monkeypatch, capsys):
    record = finished(tmp_path / "runs", model="zerosnet20", scheme="zerosnet(-9/5)")
    assert module.main([str(record.folder)]) == 2
    assert "scheme of its own" in capsys.readouterr().err
    assert list(package.iterdir()) == []
