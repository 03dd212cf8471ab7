import json
from dataclasses import replace

import pytest

from zerosnet import InputError
from zerosnet.data import list_datasets
from zerosnet.training import RECIPES, Adversarial, Recipe, RunSpec, StepDecay, changes, flow_time, lr_at, recipe


def test_paper_is_what_the_paper_states():
    ten, hundred = recipe("paper", "cifar10"), recipe("paper", "cifar100")
    assert (ten.epochs, hundred.epochs) == (160, 300)
    assert (ten.batch, ten.lr, ten.momentum, ten.nesterov, ten.weight_decay) == (128, 0.1, 0.9, False, 1e-4)
    assert ten.schedule == StepDecay(at=(0.5, 0.75), gamma=0.1)
    assert ten.coefficient_decay == 0 and ten.label_smoothing == 0
    assert (ten.augmentation.crop, ten.augmentation.flip) == (4, True)


def test_screening_is_the_papers_training_in_fewer_epochs():
    for dataset in ("cifar10", "cifar100"):
        short, whole = recipe("screen", dataset), recipe("paper", dataset)
        assert 8 <= short.epochs <= 16
        assert replace(short, name="paper", epochs=whole.epochs) == whole
        assert [round(lr_at(short, 390 * epoch, 390), 6) for epoch in (0, 5, 6, 8, 9, 11)] == [
            *(0.1, 0.1, 0.01, 0.01, 0.001, 0.001)
        ]


def test_flow_time_is_the_sum_of_steps_that_momentum_makes_longer():
    short = replace(recipe("paper", "cifar10"), epochs=4, batch=100, lr=0.1, momentum=0.9)
    assert flow_time(short, 1050) == pytest.approx(10 * (2 * 0.1 + 0.01 + 0.001) / 0.1)
    assert flow_time(replace(short, lr=1.0, momentum=0.0), 1050) == pytest.approx(flow_time(short, 1050))
    with pytest.raises(InputError, match="optimiser is 'adam'"):
        flow_time(recipe("mnist-fgsm", "mnist"), 60_000)


def test_official_differs_from_paper_as_the_authors_code_does():
    paper, official = recipe("paper", "cifar100"), recipe("official", "cifar100")
    assert official.epochs == 299 and official.schedule.zero_steps == 1
    assert official.weight_decay == official.coefficient_decay == 5e-4
    same = {"name": "paper", "epochs": 300, "schedule": paper.schedule, "weight_decay": 1e-4, "coefficient_decay": 0.0}
    assert replace(official, **same) == paper


def test_mnist_fgsm_is_adam_on_signed_inputs():
    fgsm = recipe("mnist-fgsm", "mnist")
    assert (fgsm.optimiser, fgsm.momentum, fgsm.beta2, fgsm.lr) == ("adam", 0.5, 0.999, 2e-4)
    assert (fgsm.epochs, fgsm.batch, fgsm.scaling, fgsm.augmentation.crop) == (20, 100, "signed", 0)


def test_the_two_adversarial_recipes_differ_in_who_is_attacked():
    paper, madry = recipe("pgd-paper", "cifar10"), recipe("pgd-madry", "cifar10")
    assert (paper.adversarial.kind, madry.adversarial.kind) == ("surrogate", "white-box")
    assert not paper.adversarial.project and not paper.adversarial.random_start and paper.adversarial.clean_step
    assert madry.adversarial.project and madry.adversarial.random_start and not madry.adversarial.clean_step
    for r in (paper, madry):
        assert (r.epochs, r.batch, r.lr, r.momentum, r.weight_decay, r.scaling) == (80, 128, 0.1, 0.9, 2e-4, "unit")
        assert r.adversarial.eps == 8 / 255 and r.adversarial.steps == 7
    assert paper.reset_momentum and paper.nesterov


@pytest.mark.parametrize("dataset", list_datasets())
@pytest.mark.parametrize("name", list(RECIPES))
def test_every_recipe_is_resolved_for_every_data_set_and_survives_json(name, dataset):
    value = recipe(name, dataset)
    assert value.name == name
    assert Recipe.from_json(json.loads(json.dumps(value.to_json()))) == value
    assert changes(value, dataset) == {}


def test_options_change_a_recipe_and_are_told_apart_from_it():
    value = recipe("paper", "cifar10", epochs=3, schedule="cosine", augmentation={"crop": 2})
    assert (value.epochs, value.schedule.kind, value.augmentation.flip) == (3, "cosine", False)
    assert set(changes(value, "cifar10")) == {"epochs", "schedule", "augmentation"}
    assert Recipe.from_json(value.to_json()) == value


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"learning_rate": 1}, "recipe has no option 'learning_rate'; it has epochs, batch, lr"),
        ({"epochs": 0}, "epochs is 0; expected 1 or more"),
        ({"epochs": 10**400}, "expected 1 or more, at most 1,000,000,000"),
        ({"batch": 10**10}, "expected 1 or more, at most 1,000,000,000"),
        ({"epochs": 2.0}, "epochs is 2.0"),
        ({"batch": True}, "batch is True"),
        ({"lr": -0.1}, "lr is -0.1; expected a number from 0 on"),
        ({"lr": float("nan")}, "lr is nan"),
        ({"lr": "0.1"}, "lr is '0.1'"),
        ({"momentum": 1.0}, "momentum is 1.0; expected a number from 0 up to, not including, 1"),
        ({"optimiser": "lamb"}, "optimiser is 'lamb'; expected one of sgd, adam"),
        ({"optimiser": "adam"}, "beta2 is None"),
        ({"beta2": 0.9}, "beta2 is 0.9; expected none with sgd"),
        ({"nesterov": True, "momentum": 0}, "nesterov is True; expected false without momentum"),
        ({"scaling": "raw"}, "scaling is 'raw'; expected one of normalised, unit, signed"),
        ({"augmentation": "flip"}, "augmentation is 'flip'"),
        ({"adversarial": {"kind": "pgd"}}, "adversarial is .*; expected an object with kind"),
        ({"name": "mine"}, "option 'name' cannot be changed"),
    ],
)
def test_bad_options_are_refused_by_name(options, message):
    with pytest.raises(InputError, match=message):
        recipe("paper", "cifar10", **options)


def test_unknown_recipes_are_refused_with_the_known_ones():
    with pytest.raises(InputError, match=r"recipe is 'papr' \(did you mean paper\?\); expected one of paper, official"):
        recipe("papr", "cifar10")


def test_an_incomplete_record_is_refused():
    with pytest.raises(InputError, match="recipe 'paper' lacks epochs, batch"):
        Recipe.from_json({"name": "paper", "lr": 0.1, "schedule": "step"})


def test_identity_leaves_out_defaults_so_that_a_later_field_changes_no_id():
    identity = recipe("paper", "cifar10").identity()
    assert "label_smoothing" not in identity and identity["schedule"] == {"kind": "step"}
    assert recipe("quick", "cifar10").identity() != recipe("fast", "cifar10").identity()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"kind": "magic"}, "adversarial kind is 'magic'"),
        ({"eps": 8}, "adversarial eps is 8; expected a number from 0 to 1"),
        ({"steps": 0}, "adversarial steps is 0"),
        ({"surrogate": "preresnet20"}, "if and only if kind is 'surrogate'"),
    ],
)
def test_bad_adversarial_settings_are_refused(settings, message):
    with pytest.raises(InputError, match=message):
        Adversarial(**{"kind": "white-box", "eps": 0.1, "step": 0.1, "steps": 1, **settings})


@pytest.mark.parametrize(
    ("model", "lr", "batch"),
    [
        ("zerosnet18_opt", 0.2, 1024),
        ("preresnet34", 0.1, 512),
        ("zerosnet50_tra", 0.05, 256),
        ("preresnet101", 0.05, 256),
    ],
)
def test_imagenet_has_the_papers_rate_and_batch_for_each_depth(model, lr, batch):
    value = recipe("imagenet", "imagefolder", model)
    assert (value.lr, value.batch) == (lr, batch)
    assert changes(value, "imagefolder", model) == {}


def test_imagenet_is_what_the_authors_training_does():
    value = recipe("imagenet", "imagefolder", "zerosnet18_opt")
    assert (value.epochs, value.momentum, value.weight_decay, value.decay_norms) == (150, 0.9, 4e-5, False)
    assert value.label_smoothing == 0 and not value.nesterov
    assert (value.schedule.kind, value.schedule.warmup) == ("cosine", 5)
    assert (value.augmentation.area, value.augmentation.aspect) == ((0.1, 1.0), (0.8, 1.25))
    rates = [lr_at(value, step, 100) for step in (0, 250, 500, 14_999)]
    assert rates[:3] == pytest.approx([0, 0.1, 0.2]) and 0 < rates[3] < 1e-6


def test_the_rate_of_imagenet_follows_another_batch_unless_it_is_given():
    assert recipe("imagenet", "imagefolder", "zerosnet50_opt", batch=2048).lr == 0.4
    assert recipe("imagenet", "imagefolder", "zerosnet50_opt", batch=2048, lr=0.3).lr == 0.3
    short = {
        "model": "zerosnet50_opt",
        "dataset": "imagefolder",
        "recipe": {"name": "imagenet", "batch": 128},
        "seed": 1,
    }
    spec = RunSpec.from_json(short)
    assert spec.recipe.lr == 0.025 and set(spec.changes) == {"batch", "lr"}
    assert RunSpec.from_json(spec.to_json()) == spec
