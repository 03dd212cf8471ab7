"""Every registered network, and what is refused."""

import pytest
import torch

from zerosnet.errors import InputError
from zerosnet.models import Config, StreamsLaw, configure, create_model, list_models, parameter_count
from zerosnet.numerics import Scheme, euler, lm, zerosnet

DEEP = ("101", "152", "326", "650", "1298")


def arguments(name: str) -> dict[str, str]:
    """A bare zerosnet needs a scheme."""
    bare = name.startswith("zerosnet") and ("_" not in name or name.endswith("_nonorm"))
    return {"scheme": "zerosnet(1)"} if bare else {}


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow if any(d in n for d in DEEP) else ()) for n in list_models()]
)
def test_every_registered_model_is_built_and_trains_all_its_parameters(name: str) -> None:
    model = create_model(name, num_classes=5, seed=1, **arguments(name))
    image = 16 if model.config.structure.size == "cifar" else 40
    logits = model(torch.randn(2, 3, image, image))
    assert logits.shape == (2, 5) and logits.isfinite().all()
    logits.square().sum().backward()
    assert [n for n, p in model.named_parameters() if p.grad is None or not p.grad.isfinite().all()] == []
    streams = isinstance(model.config.law, StreamsLaw)
    assert len(model.schemes()) == (0 if streams else sum(model.config.structure.blocks))
    assert any(f"{front}{model.config.structure.depth}" in name for front in ("resnet", "snet", "streams"))
    assert Config.from_json(model.config.to_json()) == model.config


def test_lmresnet_has_one_projection_a_stage_change_like_preresnet() -> None:
    pre, lm_ = create_model("preresnet20"), create_model("lmresnet20")
    assert parameter_count(lm_) - parameter_count(pre) == 9 - 3 == sum(p.numel() for p in lm_.coefficient_parameters())


def test_names_are_found_by_pattern() -> None:
    assert len(list_models()) == 6 * 14 + 8 * 5
    assert list_models("zerosnet56*") == [
        f"zerosnet56{back}" for back in ("", "_opt", "_tra", "_stable", "_simplex", "_nonorm")
    ]
    assert list_models("nothing*") == []


def test_given_schemes_fix_preresnet_and_lmresnet() -> None:
    assert set(create_model("preresnet20", scheme=euler("1/2")).schemes()) == {euler("1/2")}
    fixed = create_model("lmresnet20", scheme=lm("-1/2"))
    assert list(fixed.coefficient_parameters()) == []
    assert set(fixed.schemes()) == {Scheme([1], [1]), lm("-1/2")}
    assert fixed.config.stage_change == "restart"


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("zerosnet57", {}, ["zerosnet57", "zerosnetN_opt", "56"]),
        ("zerosnet20", {}, ["needs a scheme", "zerosnet20_opt"]),
        (
            "zerosnet56",
            {"schem": "x"},
            ["unknown option 'schem' for zerosnet56", "scheme, block_schemes, stage_change"],
        ),
        ("zerosnet20_opt", {"scheme": "zerosnet(1)"}, ["takes no scheme"]),
        ("preresnet20", {"scheme": "zerosnet(1)"}, ["3 steps", "expected 1"]),
        ("lmresnet20", {"beta": "2k"}, ["2k", "consistent", "original"]),
        ("lmresnet20", {"scheme": "lm(-1/2)", "beta": "paper"}, ["'beta'", "fixed"]),
        ("zerosnet20_stable", {"order": 3}, ["order is 3"]),
        ("zerosnet20_stable", {"order": 2, "steps": 4}, ["steps 4"]),
        ("zerosnet20_opt", {"stage_change": "pool"}, ["'pool'", "project-each", "restart"]),
        ("zerosnet20_opt", {"depth": 3}, ["'depth'", "stage_change"]),
        ("zerosnet20_opt", {"num_classes": -1}, ["num_classes is -1"]),
        ("zerosnet20_opt", {"in_chans": 0}, ["in_chans is 0"]),
        ("zerosnet20_opt", {"replicas": 0}, ["replicas is 0"]),
        ("zerosnet20_opt", {"replicas": 2, "seed": [1]}, ["1 seeds", "replicas=2"]),
        ("zerosnet20", {"replicas": 2, "scheme": ["zerosnet(1)"]}, ["1 schemes", "replicas=2"]),
        ("zerosnet20", {"replicas": 2, "scheme": ["zerosnet(1)", "1;1"]}, ["as many alphas"]),
        ("zerosnet20_opt", {"conv_dtype": torch.int8}, ["int8", "floating"]),
        ("zerosnet20_opt", {"conv_dtype": "bf16"}, ["'bf16'", "floating"]),
        ("zerosnet20_opt", {"replicas": 1.5}, ["replicas is 1.5", "integer"]),
        ("zerosnet20_opt", {"seed": "one"}, ["seed is 'one'", "whole number"]),
        ("zerosnet20_opt", {"seed": 2**64}, ["below 2^63"]),
        ("zerosnet20_opt", {"replicas": 2, "seed": [1, 0.5]}, ["[1, 0.5]"]),
        ("zerosnet20", {"scheme": 3}, ["scheme is 3", "list"]),
        ("zerosnet20", {"scheme": "1/3,5/9"}, ["1/3,5/9", "alphas;betas"]),
        ("zerosnet20_tra", {"shared": "no"}, ["shared is 'no'", "bool"]),
        ("zerosnet20_stable", {"steps": 1}, ["steps is 1", "2 to 12"]),
        ("zerosnet20_stable", {"steps": 13}, ["steps is 13", "2 to 12"]),
        ("zerosnet20_tra", {"start": "1;1"}, ["start is 1;1", "zerosnet(lambda)"]),
        ("zerosnet20_stable", {"start": "zerosnet(1/4)"}, ["start", "0.99"]),
        ("zerosnet20_stable", {"start": "1/2,1/4,1/8;1"}, ["consistent"]),
        ("zerosnet20_stable", {"order": 2, "start": "zerosnet(-1)"}, ["1/lambda"]),
    ],
)
def test_an_error_names_the_argument_and_the_accepted_values(name: str, options: dict, words: list[str]) -> None:
    with pytest.raises(InputError) as error:
        create_model(name, **options)
    assert all(word in str(error.value) for word in words), error.value


TEN_STEPS = ",".join(["1/10"] * 10) + ";1"


@pytest.mark.parametrize(
    ("name", "options", "room"),
    [
        ("zerosnet20", {"scheme": TEN_STEPS}, 9),
        ("zerosnet20", {"scheme": "1;" + ",".join(["1/10"] * 10)}, 9),
        ("zerosnet20", {"scheme": "1/4,1/4,1/4,1/4;1", "stage_change": "restart"}, 3),
        ("zerosnet18_tra", {"stage_change": "restart"}, 2),
        ("zerosnet20_stable", {"steps": 10}, 9),
    ],
)
def test_a_scheme_that_no_block_could_use_is_refused(name: str, options: dict, room: int) -> None:
    """Every block would be start-up, and the network a PreResNet in disguise."""
    with pytest.raises(InputError, match=f"at most {room} steps"):
        create_model(name, **options)


def test_a_scheme_of_as_many_steps_as_there_are_blocks_is_used_by_the_last_one() -> None:
    scheme = Scheme(["1/9"] * 9, [5])
    model = create_model("zerosnet20", scheme=scheme, seed=0)
    assert model.schemes() == [Scheme([1], [1])] * 8 + [scheme]
    assert model(torch.randn(2, 3, 9, 9)).isfinite().all()


def test_images_of_another_shape_are_refused() -> None:
    with pytest.raises(InputError, match=r"\(B, 1, H, W\)"):
        create_model("zerosnet20_opt", in_chans=1)(torch.zeros(1, 3, 8, 8))


def test_configure_describes_without_building() -> None:
    config = configure("zerosnet1298", scheme=zerosnet(1), num_classes=7)
    assert (config.structure.depth, config.num_classes, config.schemes) == (1298, 7, (zerosnet(1),))
