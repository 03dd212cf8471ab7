"""Initial weights that grow from block to block, in place of the betas."""

from fractions import Fraction

import pytest
import torch
from torch.nn import functional

from zerosnet.errors import InputError
from zerosnet.models import Config, configure, create_model, fuse, load_model, model_card, save_model

SCHEME = "1,1,1;1"


def images():
    return torch.randn(4, 3, 9, 9, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def network(**fields):
    return create_model("zerosnet20", scheme=SCHEME, seed=3, **fields).double()


def step(model):
    functional.cross_entropy(model(images()), torch.arange(4)).backward()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter -= 0.1 * parameter.grad


@pytest.mark.parametrize("stage_change", ["project-each", "restart"])
def test_at_the_start_it_is_the_function_of_beta_growth(stage_change):
    initial = network(init_growth=2, stage_change=stage_change)
    grown = network(beta_growth=2, stage_change=stage_change)
    torch.testing.assert_close(initial(images()), grown(images()), rtol=1e-12, atol=1e-12)
    assert not torch.allclose(initial(images()), network(stage_change=stage_change)(images()))


def test_after_a_step_of_sgd_it_is_another_function():
    initial, grown = network(init_growth=2), network(beta_growth=2)
    step(initial)
    step(grown)
    assert not torch.allclose(initial(images()), grown(images()), rtol=1e-3)


def test_only_the_last_convolutions_of_multistep_blocks_grow():
    plain, initial = network().state_dict(), network(init_growth="1.841").state_dict()
    for name, tensor in plain.items():
        block = int(name.split(".")[2]) if name.endswith("f.conv2.weight") else 0
        torch.testing.assert_close(initial[name], tensor * 1.841 ** max(0, block - 2), rtol=1e-6, atol=0)
    assert network(init_growth="1.841").schemes() == network().schemes()


def test_replicas_have_growths_of_their_own():
    fused = create_model("zerosnet20", scheme=SCHEME, init_growth=[1, 2], replicas=2, seed=[3, 3]).double()
    for k, growth in enumerate((None, 2)):
        torch.testing.assert_close(fused(images())[:, k], network(init_growth=growth)(images()))
    assert fused.config.of_replica(1) == network(init_growth=2).config


def test_networks_with_and_without_growth_can_be_fused():
    plain, initial = configure("zerosnet20", scheme=SCHEME), configure("zerosnet20", scheme=SCHEME, init_growth="3/2")
    own = configure("zerosnet20", block_schemes=[SCHEME] * 7)
    assert fuse([plain, initial]).init_growth == (1, Fraction(3, 2))
    assert fuse([initial, own]).init_growth == (Fraction(3, 2), 1)
    assert fuse([plain, plain]).init_growth == ()


def test_files_and_cards_hold_the_growth(tmp_path):
    model = create_model("zerosnet20", scheme=SCHEME, init_growth="1.841", seed=0)
    assert Config.from_json(model.config.to_json()) == model.config
    assert load_model(save_model(model, tmp_path / "a.safetensors")).config == model.config
    assert "started 1841/1000 times as large" in model_card(model)
    assert "init_growth" not in configure("zerosnet20_opt").to_json()


@pytest.mark.parametrize(
    ("name", "growth", "words"),
    [
        ("zerosnet20_opt", 0, "init_growth is 0; expected a positive number"),
        ("zerosnet20_opt", [1, 2], "init_growth has 2 numbers"),
        ("zerosnet20_opt", 1e99, "too large"),
        ("preresnet20_nonorm", 2, "start at 0"),
    ],
)
def test_invalid_growths_are_refused(name, growth, words):
    with pytest.raises(InputError, match=words):
        create_model(name, init_growth=growth)
