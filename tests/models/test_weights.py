"""One file holds a network; what is not such a file is refused."""

import copy

import pytest
import safetensors.torch
import torch

from zerosnet import InputError
from zerosnet.models import Config, create_model
from zerosnet.models.io import weights
from zerosnet.models.io.weights import load_model, model_facts, save_model

# one of every structure and every kind of coefficients
NETWORKS = {
    "preresnet20": {},
    "lmresnet20": {"beta": "consistent"},
    "zerosnet20_opt": {"num_classes": 7, "in_chans": 1},
    "zerosnet20_tra": {},
    "zerosnet20_stable": {"shared": True},
    "zerosnet20": {"scheme": "adams-bashforth(2)", "stage_change": "project-shared"},
    "zerosnet164": {"scheme": "zerosnet(1/2)", "stage_change": "restart"},
    "zerosnet20_nonorm": {"block_schemes": ["1,1,1;1"] * 7},
    "zerosnet32_opt": {"beta_growth": "3/2"},
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
    with pytest.raises(InputError, match="is no file"):
        load_model(tmp_path / "nowhere.safetensors")


# what a file may claim about a network, checksum and all -> what the error says
CLAIMS = {
    "unknown strategy": ({"stage_change": "vanish"}, "vanish"),
    "billion replicas": ({"replicas": 10**9}, "does not fit"),
    "billion blocks": (
        {"structure": {"size": "cifar", "block": "basic", "blocks": [10**9, 1, 1]}},
        "1000000002 blocks",
    ),
    "trillion classes": ({"num_classes": 10**12}, r"see fc\.weight"),
    "billion steps": ({"law": {"kind": "stable-roots", "steps": 10**9}}, "steps is 1000000000"),
    "no steps": ({"law": {"kind": "stable-roots", "steps": -3}}, "steps is -3"),
    "odd slope": ({"law": {"kind": "lm", "slope": "3"}}, "slope is '3'"),
    "code for a law": ({"law": {"kind": "os.system"}}, "os.system"),
    "other fields": ({"hook": "print"}, "hook"),
    "odd name": ({"name": {}}, "name is"),
    "structure that is a list": ({"structure": [1]}, r"structure is \[1\]"),
    "size that is a list": ({"structure": {"size": [], "block": "basic", "blocks": [3, 3, 3]}}, "size is"),
    "blocks that are true": ({"structure": {"size": "cifar", "block": "basic", "blocks": [True] * 3}}, "blocks is"),
    "more classes than a number of 64 bits": ({"num_classes": 10**30}, "cannot be built"),
    "law that is a list": ({"law": ["lambda"]}, r"law is \['lambda'\]"),
    "law of unknown fields": ({"law": {"kind": "lambda", "start": 3}}, "law is"),
    "schemes that are a word": ({"schemes": "many"}, "schemes is 'many'"),
    "growth that is a word": ({"beta_growth": ["fast"]}, "beta_growth is 'fast'"),
    "billion blocks with own schemes": (
        {
            "structure": {"size": "cifar", "block": "basic", "blocks": [10**9, 1, 1]},
            "law": None,
            "block_schemes": [[{"alphas": ["1"], "betas": ["1"]}]],
        },
        "1 schemes; the network has 1000000002 blocks",
    ),
}


@pytest.mark.parametrize("claim", CLAIMS)
def test_claims_that_no_network_meets_are_refused_before_it_is_built(tmp_path, monkeypatch, claim):
    change, words = CLAIMS[claim]
    path = tmp_path / "net.safetensors"
    described = {**create_model("zerosnet20_tra").config.to_json(), **change}
    monkeypatch.setattr(Config, "to_json", lambda self: described)
    save_model(create_model("zerosnet20_tra"), path)
    with pytest.raises(InputError, match=words) as error:
        load_model(path)
    assert path.name in str(error.value)


@pytest.mark.parametrize("text", ["", "nope", "[1]", "[" * 100_000, "1" * 5_000])
def test_texts_that_describe_nothing_are_refused(tmp_path, monkeypatch, text):
    monkeypatch.setattr(weights.json, "dumps", lambda _: text)
    path = save_model(create_model("zerosnet20_opt"), tmp_path / "net.safetensors")
    with pytest.raises(InputError, match="describes no network"):
        load_model(path)
    with pytest.raises(InputError, match="facts"):
        model_facts(path)


def test_integer_tensors_are_refused_as_weights(tmp_path, monkeypatch):
    model = create_model("zerosnet20_opt", seed=0)
    whole = {**model.state_dict(), "fc.weight": model.fc.weight.detach().long()}
    monkeypatch.setattr(weights, "_check_savable", lambda *_: None)
    monkeypatch.setattr(model, "state_dict", lambda: whole)
    with pytest.raises(InputError, match=r"fc\.weight .* is torch\.int64"):
        load_model(save_model(model, tmp_path / "net.safetensors"))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_networks_in_half_precision_come_back_in_float32(tmp_path, dtype):
    model = create_model("zerosnet20_tra", seed=0).to(dtype)
    back = load_model(save_model(model, tmp_path / "net.safetensors"))
    assert same(back, copy.deepcopy(model).float())


def test_a_network_that_could_not_be_loaded_again_is_not_written(tmp_path):
    path = tmp_path / "net.safetensors"
    pruned, unpooled = create_model("zerosnet20_opt"), create_model("zerosnet20_opt")
    pruned.prune_intermediate_layers([0])
    unpooled.reset_classifier(0, "")
    for model, words in ((pruned, "does not fit"), (unpooled, "global_pool"), (torch.nn.Linear(2, 2), "Linear")):
        with pytest.raises(InputError, match=words):
            save_model(model, path)
    with pytest.raises(InputError, match="folder"):
        save_model(create_model("zerosnet20_opt"), tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["a" * 300, "\ud800", "\0", "/dev/null"])
def test_an_impossible_file_name_is_reported_as_missing(name):
    with pytest.raises(InputError, match=r"no (such )?file"):
        load_model(name)
