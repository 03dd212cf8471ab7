"""One file holds a network; what is not such a file is refused."""

import json

import pytest
import safetensors.torch
import torch

from zerosnet import InputError
from zerosnet.models import create_model
from zerosnet.models.weights import load_model, model_facts, save_model

# one of every structure and every kind of coefficients
NETWORKS = {
    "preresnet20": {},
    "lmresnet20": {"beta": "consistent"},
    "zerosnet20_opt": {"num_classes": 7, "in_chans": 1},
    "zerosnet20_tra": {},
    "zerosnet20_stable": {"shared": True},
    "zerosnet20": {"scheme": "adams-bashforth(2)", "stage_change": "project-shared"},
    "zerosnet164": {"scheme": "zerosnet(1/2)", "stage_change": "restart"},
    "zerosnet18_opt": {},
    "zerosnet50_tra": {"num_classes": 3},
}


def same(a: torch.nn.Module, b: torch.nn.Module) -> bool:
    pairs = list(zip(a.state_dict().items(), b.state_dict().items(), strict=True))
    return all(n == m and s.dtype == t.dtype and torch.equal(s, t) for (n, s), (m, t) in pairs)


@pytest.fixture
def saved(tmp_path):
    return save_model(create_model("zerosnet20_tra", seed=0), tmp_path / "net.safetensors", {"epochs": 3})


@pytest.mark.parametrize("name", NETWORKS)
def test_every_family_comes_back(tmp_path, name):
    model = create_model(name, seed=0, **NETWORKS[name])
    for parameter in model.coefficient_parameters():
        parameter.data += 0.25
    back = load_model(save_model(model, tmp_path / "net.safetensors"))
    assert back.config == model.config
    assert same(back, model)
    assert back.schemes() == model.schemes()


def test_replicas_come_back(tmp_path):
    model = create_model("zerosnet20", scheme=["zerosnet(-9/5)", "zerosnet(10)"], replicas=2, seed=[0, 1])
    back = load_model(save_model(model, tmp_path / "net.safetensors"))
    assert back.replicas == 2
    assert same(back, model)
    assert back.schemes() == model.schemes()


def test_facts_come_back(saved):
    assert model_facts(saved) == {"epochs": 3}


def test_a_reset_classifier_comes_back(tmp_path):
    model = create_model("zerosnet20_opt", seed=0)
    model.reset_classifier(3)
    assert same(load_model(save_model(model, tmp_path / "net.safetensors")), model)


def test_float64_stays_float64(tmp_path):
    model = create_model("preresnet20", seed=0).double()
    assert same(load_model(save_model(model, tmp_path / "net.safetensors")), model)


def test_half_storage_halves_the_file_and_loads_as_float32(tmp_path):
    model = create_model("zerosnet20_tra", seed=0)
    full = save_model(model, tmp_path / "full.safetensors")
    half = save_model(model, tmp_path / "half.safetensors", half=True)
    assert half.stat().st_size < 0.6 * full.stat().st_size
    back = load_model(half)
    assert {p.dtype for p in back.parameters()} == {torch.float32}
    assert torch.equal(back.stack.coefficients.values, model.stack.coefficients.values)
    assert torch.equal(back.stem.conv.weight, model.stem.conv.weight.half().float())


def test_half_storage_refuses_what_does_not_fit(tmp_path):
    model = create_model("zerosnet20_opt", seed=0)
    model.fc.weight.data[0, 0] = 1e5
    with pytest.raises(InputError, match=r"fc\.weight reaches 1e\+05"):
        save_model(model, tmp_path / "net.safetensors", half=True)


def test_loading_leaves_the_random_numbers_alone(saved):
    torch.manual_seed(0)
    expected = torch.rand(3)
    torch.manual_seed(0)
    load_model(saved)
    assert torch.equal(torch.rand(3), expected)


def test_a_failed_write_leaves_the_old_file_and_nothing_else(saved, monkeypatch):
    before = saved.read_bytes()

    def fail(*_):
        raise OSError("the disk is full")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(OSError, match="full"):
        save_model(create_model("zerosnet20_opt"), saved)
    assert [p.name for p in saved.parent.iterdir()] == [saved.name]
    assert saved.read_bytes() == before


def test_facts_that_are_no_json_are_refused(tmp_path):
    with pytest.raises(InputError, match="facts"):
        save_model(create_model("zerosnet20_opt"), tmp_path / "net.safetensors", {"when": object()})


@pytest.mark.parametrize("position", [0.0, 0.02, 0.5, 0.999])
def test_one_changed_byte_is_found(saved, position):
    content = bytearray(saved.read_bytes())
    content[int(position * len(content))] ^= 0x55
    saved.write_bytes(content)
    with pytest.raises(InputError, match="net.safetensors"):  # noqa: RUF043
        load_model(saved)


@pytest.mark.parametrize("length", [0, 7, 100, 100_000])
def test_shortened_files_are_refused(saved, length):
    saved.write_bytes(saved.read_bytes()[:length])
    with pytest.raises(InputError, match="damaged"):
        load_model(saved)


def test_foreign_files_are_refused(tmp_path):
    path = tmp_path / "foreign.safetensors"
    safetensors.torch.save_file({"a": torch.zeros(2)}, path)
    with pytest.raises(InputError, match="not written by save_model"):
        load_model(path)


def test_missing_files_are_refused(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        load_model(tmp_path / "nowhere.safetensors")


def test_unknown_structures_are_refused(tmp_path, monkeypatch):
    from zerosnet.models.config import Config

    known = Config.to_json
    monkeypatch.setattr(Config, "to_json", lambda self: {**known(self), "stage_change": "vanish"})
    path = save_model(create_model("zerosnet20_opt"), tmp_path / "net.safetensors")
    with pytest.raises(InputError, match="vanish"):
        load_model(path)
    assert json.loads(safetensors.safe_open(path, "pt").metadata()["config"])["stage_change"] == "vanish"
