"""A scheme per block, and betas that grow from block to block."""

from fractions import Fraction

import pytest
import torch

from zerosnet.errors import InputError
from zerosnet.models import (
    Config,
    configure,
    create_model,
    diagnose,
    export_model,
    fuse,
    load_model,
    model_card,
    save_model,
)
from zerosnet.numerics import Scheme, adams_bashforth, zerosnet

OPT = "1/3,5/9,1/9;16/9"
START = Scheme([1], [1])
OWN = [f"1/3,5/9,1/9;{n + 1}" for n in range(7)]


def images(channels=3):
    return torch.randn(2, channels, 9, 9, generator=torch.Generator().manual_seed(0))


def test_every_multistep_block_has_its_scheme_and_start_up_blocks_are_one_step():
    model = create_model("zerosnet20", block_schemes=OWN, seed=0)
    assert model.schemes() == [START, START, *map(Scheme.parse, OWN)]


def test_equal_schemes_in_all_blocks_are_the_ordinary_network_to_the_bit():
    ordinary = create_model("zerosnet20_opt", seed=0)
    listed = create_model("zerosnet20", block_schemes=[OPT] * 7, seed=0)
    with_start = create_model("zerosnet20", block_schemes=["1,0,0;1"] * 2 + [OPT] * 7, seed=0)
    for model in (listed, with_start):
        assert torch.equal(model(images()), ordinary(images()))
        assert model.state_dict().keys() == ordinary.state_dict().keys()


def test_beta_growth_multiplies_the_beta_of_block_n_by_its_nth_power_exactly():
    model = create_model("zerosnet20", scheme="1,1,1;1", beta_growth="1.839")
    betas = [scheme.betas[0] for scheme in model.schemes()]
    assert betas == [1, 1, *(Fraction(1839, 1000) ** n for n in range(7))]
    listed = create_model("zerosnet20", block_schemes=model.schemes()[2:], seed=3)
    grown = create_model("zerosnet20", scheme="1,1,1;1", beta_growth="1.839", seed=3)
    assert torch.equal(listed(images()), grown(images()))


@pytest.mark.parametrize(("stage_change", "multistep"), [("project-each", 7), ("project-shared", 7), ("restart", 3)])
def test_the_number_of_multistep_blocks_follows_the_stage_change(stage_change, multistep):
    model = create_model("zerosnet20", block_schemes=OWN[:multistep], stage_change=stage_change)
    assert [s for s in model.schemes() if s != START] == list(map(Scheme.parse, OWN[:multistep]))


def test_schemes_with_several_betas_can_differ_from_block_to_block():
    first, second = adams_bashforth(2), Scheme([1], [2, -1])
    model = create_model("zerosnet20", block_schemes=[first] * 4 + [second] * 4, seed=0).double()
    whole = create_model("zerosnet20", block_schemes=["1;1,0"] + [first] * 4 + [second] * 4, seed=0).double()
    assert torch.equal(model(images().double()), whole(images().double()))
    steps = list(model.eval().walk(images().double()))
    torch.testing.assert_close(model.logits(steps[-1].state), model(images().double()))


def test_lists_are_nested_for_replicas():
    lists = [OWN, OWN[::-1]]
    fused = create_model("zerosnet20", block_schemes=lists, replicas=2, seed=[5, 6])
    assert fused.schemes() == [[START, START, *map(Scheme.parse, own)] for own in lists]
    for k, own in enumerate(lists):
        single = create_model("zerosnet20", block_schemes=own, seed=5 + k)
        assert torch.equal(fused(images())[:, k], single(images()))
        assert fused.config.of_replica(k) == single.config
    same = create_model("zerosnet20", block_schemes=OWN, replicas=2)
    assert same.schemes()[0] == same.schemes()[1]


def test_networks_with_and_without_own_schemes_can_be_fused():
    configs = [
        configure("zerosnet20", scheme=OPT),
        configure("zerosnet20", scheme="1,1,1;1", beta_growth="1.839"),
        configure("zerosnet20", block_schemes=["2,0,0;1", "1,1,0;1", *OWN]),
    ]
    assert fuse(configs[:2]).beta_growth == (1, Fraction(1839, 1000))
    fused = create_model("zerosnet20", block_schemes=fuse(configs).block_schemes, replicas=3, seed=0)
    for k, config in enumerate(configs):
        fields = {"scheme": config.schemes or None, "beta_growth": config.beta_growth or None}
        fields |= {"block_schemes": config.block_schemes or None}
        assert torch.equal(create_model("zerosnet20", seed=k, **fields)(images()), fused(images())[:, k])
    with pytest.raises(InputError, match="fusion_key"):
        fuse([configs[0], configure("zerosnet32", scheme=OPT)])


def test_old_configs_are_written_as_before_and_new_fields_only_if_used():
    old = configure("zerosnet20_opt").to_json()
    assert set(old) == {
        *("shared", "stage_change", "num_classes", "in_chans", "replicas", "name", "structure", "law", "schemes")
    }
    for fields in (
        {"block_schemes": OWN},
        {"scheme": OPT, "beta_growth": "1.839"},
        {"scheme": OPT, "beta_growth": 2.5},
    ):
        config = configure("zerosnet20", **fields)
        assert Config.from_json(config.to_json()) == config
        assert set(config.to_json()) - set(old) == set(fields) - {"scheme"}


def test_files_cards_and_exports_hold_the_schemes(tmp_path):
    model = create_model("zerosnet20", scheme="1,1,1;1", beta_growth="1.839", seed=0)
    again = load_model(save_model(model, tmp_path / "a.safetensors"))
    assert again.config == model.config
    assert torch.equal(again.eval()(images()), model.eval()(images()))
    assert export_model(model, tmp_path / "a.pt2", "torch-export", size=(9, 9)) < 1e-4
    assert "multiplied by 1839/1000" in model_card(model)
    assert "scheme of its own" in model_card(create_model("zerosnet20", block_schemes=OWN))
    assert len(diagnose(model, images()).blocks) == 9


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("zerosnet20", {"block_schemes": OWN[:6]}, ["6 schemes", "expected 7", "or 9"]),
        ("zerosnet20", {"block_schemes": OWN, "scheme": OPT}, ["both given"]),
        ("zerosnet20", {"block_schemes": OWN, "beta_growth": 2}, ["beta_growth", "expected one"]),
        ("zerosnet20", {"block_schemes": [*OWN[:6], "1;1"]}, ["as many alphas"]),
        ("zerosnet20", {"block_schemes": [OWN], "replicas": 2}, ["1 lists", "replicas=2"]),
        ("zerosnet20", {"block_schemes": [OWN, OWN[0]], "replicas": 2}, ["beside lists"]),
        ("zerosnet20", {"block_schemes": [OWN, OWN[:3]], "replicas": 2}, ["3 schemes"]),
        ("zerosnet20", {"block_schemes": []}, ["block_schemes is []"]),
        ("zerosnet20", {"block_schemes": [[]]}, ["empty list"]),
        ("zerosnet20", {"block_schemes": OPT}, ["expected a list"]),
        ("zerosnet20", {"block_schemes": [1] * 7}, ["block_schemes is 1", "Scheme"]),
        ("zerosnet20", {"block_schemes": ["1,1,0;1"] * 2 + OWN}, ["block_schemes[0]", "1 state(s)", "expected 0"]),
        ("preresnet20", {"block_schemes": OWN}, ["3 steps", "expected 1"]),
        ("zerosnet20_opt", {"block_schemes": OWN}, ["takes no scheme"]),
        ("zerosnet20_tra", {"beta_growth": 2}, ["trained", "fixed scheme"]),
        ("zerosnet20_opt", {"beta_growth": 0}, ["beta_growth is 0", "positive"]),
        ("zerosnet20_opt", {"beta_growth": "fast"}, ["beta_growth is 'fast'"]),
        ("zerosnet20_opt", {"beta_growth": [1, 2]}, ["2 numbers", "replicas=1"]),
        ("zerosnet20_opt", {"beta_growth": 1e99}, ["beta_growth is 1e+99", "too large"]),
    ],
)
def test_invalid_block_schemes_are_refused(name, options, words):
    with pytest.raises(InputError) as error:
        create_model(name, **options)
    assert [word for word in words if word not in str(error.value)] == []


def test_one_step_networks_take_a_scheme_per_block():
    schemes = [Scheme([1], [Fraction(1, n + 1)]) for n in range(9)]
    assert create_model("preresnet20", block_schemes=schemes).schemes() == schemes
    assert create_model("preresnet20", beta_growth="1/2").schemes()[2] == Scheme([1], ["1/4"])
    assert zerosnet("-9/5") in create_model("zerosnet20_opt", beta_growth=1).schemes()
