"""What is printed of a recipe: every setting that can differ is in it."""

from dataclasses import fields, replace
from typing import Any

import pytest

from zerosnet.data import Augmentation
from zerosnet.training import RECIPES, Adversarial, Constant, Cosine, OneCycle, Recipe, StepDecay, recipe

WHITE = Adversarial("white-box", eps=8 / 255, step=2 / 255, steps=7)
SURROGATE = replace(WHITE, kind="surrogate", surrogate="preresnet20", surrogate_seed=1)
BOX = Augmentation(area=(0.1, 1.0))
SGD = Recipe("mine", 100, 128, 0.1, StepDecay(zero_steps=3), weight_decay=0.5)
ADAM = replace(SGD, optimiser="adam", beta2=0.999)
OTHER: dict[str, tuple[Recipe, Any]] = {
    "name": (SGD, "yours"),
    "epochs": (SGD, 101),
    "batch": (SGD, 129),
    "lr": (SGD, 0.2),
    "schedule": (SGD, Constant()),
    "optimiser": (ADAM, "sgd"),
    "momentum": (SGD, 0.8),
    "nesterov": (SGD, True),
    "beta2": (ADAM, 0.99),
    "weight_decay": (SGD, 0.25),
    "coefficient_decay": (SGD, 0.25),
    "augmentation": (SGD, BOX),
    "scaling": (SGD, "unit"),
    "label_smoothing": (SGD, 0.1),
    "reset_momentum": (SGD, True),
    "adversarial": (SGD, WHITE),
    "decay_norms": (SGD, False),
    "noise": (SGD, 0.25),
}
INNER = [
    ("schedule", StepDecay(), {"at": (0.5,), "gamma": 0.2, "zero_steps": 1}),
    ("schedule", Cosine(), {"warmup": 0.0}),
    ("schedule", OneCycle(), {"rise": 0.5, "start": 0.2, "end": 0.1}),
    ("augmentation", Augmentation(), {"crop": 4, "flip": True, "area": (0.1, 1.0)}),
    ("augmentation", BOX, {"aspect": (0.5, 2.0)}),
    ("adversarial", WHITE, {"eps": 0.5, "step": 0.5, "steps": 8, "project": False}),
    ("adversarial", WHITE, {"random_start": False, "clean_step": True}),
    ("adversarial", SURROGATE, {"surrogate": "zerosnet20_opt", "surrogate_seed": 2}),
]


@pytest.mark.parametrize("name", [f.name for f in fields(Recipe)])
def test_every_setting_is_printed(name: str) -> None:
    base, value = OTHER[name]
    changes = {name: value} if name != "optimiser" else {name: value, "beta2": None}
    assert replace(base, **changes).describe() != base.describe()


@pytest.mark.parametrize(
    ("where", "inner", "name", "value"),
    [(where, inner, name, value) for where, inner, others in INNER for name, value in others.items()],
)
def test_every_inner_setting_is_printed(where: str, inner: Any, name: str, value: Any) -> None:
    texts = [replace(SGD, **{where: one}).describe() for one in (inner, replace(inner, **{name: value}))]
    assert texts[0] != texts[1]


def test_the_papers_recipe_has_its_momentum_milestones_factor_and_scaling() -> None:
    assert recipe("paper", "cifar10").describe().splitlines() == [
        "paper: 160 epochs, batch 128 (last partial batch dropped), sgd with momentum 0.9, "
        "lr 0.1, times 0.1 after 80 and after 120 epochs, weight decay 0.0001 (norms and biases 0.0001, "
        "coefficients 0.0)",
        "  scaling normalised, crop after padding by 4, flip, label smoothing 0.0, no adversarial examples",
    ]


def test_schedules_are_described_in_the_epochs_of_the_recipe() -> None:
    texts = [
        schedule.describe(40)
        for schedule in (Constant(), StepDecay(zero_steps=1), StepDecay(at=()), Cosine(), Cosine(0))
    ]
    assert texts == [
        "constant",
        "times 0.1 after 20 and after 30 epochs, 0 in the first step",
        "constant",
        "up from 0 over 5 epochs, then cosine to 0",
        "cosine to 0",
    ]
    assert OneCycle(rise=0.25, start=0.1).describe(40) == (
        "up from 0.1 times that over 10 epochs, then down to 0.0 times that"
    )


def test_adversarial_examples_are_described_with_all_their_numbers() -> None:
    assert WHITE.describe() == (
        "adversarial examples white-box: 7 steps of 2/255, kept within eps 8/255, random start, no clean steps"
    )
    assert (
        recipe("pgd-paper", "cifar10")
        .describe()
        .endswith(
            "adversarial examples made on preresnet20 with seed 1: 7 steps of 2/255, not kept within eps 8/255, "
            "no random start, a clean step before each"
        )
    )


@pytest.mark.parametrize("name", list(RECIPES))
def test_no_recipe_needs_more_than_two_lines(name: str) -> None:
    lines = recipe(name, "imagefolder").describe().splitlines()
    assert len(lines) == 2 and max(map(len, lines)) < 240
