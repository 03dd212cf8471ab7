"""The trained networks that come with the package."""

import socket

import pytest
import timm
import torch

from zerosnet.errors import InputError
from zerosnet.models import (
    create_model,
    list_pretrained,
    load_model,
    model_card,
    model_facts,
    pretrained_card,
    register_with_timm,
)
from zerosnet.models.pretrained import FOLDER

NAMES = list_pretrained()


@pytest.mark.parametrize("name", ["zerosnet56_opt.cifar10", "preresnet56.cifar10", "zerosnet20_opt.cifar10"])
def test_a_network_of_cifar10_is_loaded_without_a_network_and_gives_logits(name, monkeypatch):
    monkeypatch.setattr(socket, "socket", _no_connection)
    assert name in NAMES
    network = load_model(name).eval()
    images = torch.randn(4, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        logits = network(images)
    assert logits.shape == (4, 10) and logits.isfinite().all() and logits.std(dim=1).min() > 0.1


def _no_connection(*args, **options):
    raise AssertionError("it asked for a connection")


@pytest.mark.parametrize("name", NAMES)
def test_a_trained_network_carries_its_config_and_measurements(name):
    network, facts = load_model(name), model_facts(name)
    assert f"{network.config.name}.{facts['dataset']}" == name == facts["pretrained"]
    assert all(tensor.dtype is torch.float32 for tensor in network.state_dict().values())
    stored = facts["metrics"]["test, last epoch, weights in half precision"]
    assert abs(stored - facts["metrics"]["test, last epoch"]) < 0.002
    assert len(facts["input"]["mean"]) == network.in_chans and facts["recipe"]["epochs"] == 160


@pytest.mark.parametrize("name", NAMES)
def test_the_card_of_a_trained_network_is_made_of_its_facts(name):
    assert pretrained_card(name) == model_card(load_model(name), model_facts(name))


def test_all_of_them_are_a_few_megabytes():
    assert sum(path.stat().st_size for path in FOLDER.iterdir() if path.is_file()) < 6e6


@pytest.mark.parametrize("name", ["zerosnet20_opt.cifar1000", "zerosnet20", "nothing"])
def test_an_unknown_name_is_answered_with_those_there_are(name):
    with pytest.raises(InputError, match=r"there are .*zerosnet20_opt\.cifar10"):
        load_model(name)


def test_a_path_that_is_not_there_is_no_name():
    with pytest.raises(InputError, match="is no file"):
        load_model("folder/net.safetensors")


@pytest.mark.parametrize("pretrained", [True, "cifar10"])
def test_create_model_loads_pretrained_weights(pretrained):
    made, loaded = create_model("zerosnet20_opt", pretrained=pretrained), load_model("zerosnet20_opt.cifar10")
    assert all(torch.equal(tensor, loaded.state_dict()[key]) for key, tensor in made.state_dict().items())


def test_other_classes_get_a_classifier_of_their_own():
    made, loaded = (
        create_model("zerosnet20_opt", pretrained="cifar10", num_classes=7),
        load_model("zerosnet20_opt.cifar10"),
    )
    assert made(torch.zeros(2, 3, 32, 32)).shape == (2, 7)
    assert torch.equal(made.state_dict()["stem.conv.weight"], loaded.state_dict()["stem.conv.weight"])


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("zerosnet20_opt", {"pretrained": "mnist"}, r"no such weights of zerosnet20_opt; there are .*cifar10"),
        ("zerosnet110_opt", {"pretrained": True}, "no such weights of zerosnet110_opt"),
        ("zerosnet20_opt", {"pretrained": True, "in_chans": 1}, "3 channels"),
        ("zerosnet20_opt", {"pretrained": True, "replicas": 2}, "single network"),
    ],
)
def test_weights_that_do_not_exist_give_an_error_with_those_that_do(name, options, words):
    with pytest.raises(InputError, match=words):
        create_model(name, **options)


def test_timm_knows_trained_networks_by_name_and_tag():
    register_with_timm()
    made = timm.create_model("zerosnet20_opt.cifar10", pretrained=True)
    assert torch.equal(made.fc.weight, load_model("zerosnet20_opt.cifar10").fc.weight)
    assert torch.equal(timm.create_model("zerosnet20_opt", pretrained=True).fc.weight, made.fc.weight)
    assert "zerosnet20_opt.cifar10" in timm.list_pretrained("zerosnet*")
    fresh = timm.create_model("zerosnet20_opt.cifar10")
    assert not torch.equal(fresh.fc.weight, made.fc.weight)


def test_a_classifier_for_other_classes_is_drawn_from_the_seed():
    def weight(seed):
        return create_model("zerosnet20_opt", pretrained="cifar10", num_classes=7, seed=seed).fc.weight

    assert torch.equal(weight(3), weight(3))
    assert not torch.equal(weight(3), weight(4))
    torch.manual_seed(0)
    drawn = weight(None)
    assert not torch.equal(drawn, weight(None))
