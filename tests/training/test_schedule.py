import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zerosnet import InputError
from zerosnet.training import SCHEDULES, Constant, Cosine, OneCycle, StepDecay, lr_at, recipe
from zerosnet.training.recipes.recipe import _plain, schedule_from_json

EXAMPLES = [
    Constant(),
    StepDecay(),
    StepDecay(at=(0.9375,), gamma=0.5, zero_steps=2),
    Cosine(warmup=3),
    OneCycle(rise=0.4, end=0.1),
]


@pytest.mark.parametrize(
    ("epochs", "drops"), [(1, []), (2, [1]), (3, [2]), (5, [3, 4]), (30, [15, 23]), (160, [80, 120])]
)
def test_a_short_training_does_not_begin_where_a_long_one_ends(epochs, drops):
    paper = recipe("paper", "cifar10", epochs=epochs)
    rates = [lr_at(paper, 10 * epoch, 10) for epoch in range(epochs)]
    assert rates == pytest.approx([0.1 * 0.1 ** sum(epoch >= drop for drop in drops) for epoch in range(epochs)])
    words = " and ".join(f"after {drop}" for drop in drops)
    assert (f"lr 0.1, times 0.1 {words} epochs" if drops else "lr 0.1, constant") in paper.describe()


def test_official_has_lr_zero_in_the_first_step_only():
    official = recipe("official", "cifar10")
    assert [lr_at(official, step, 390) for step in range(3)] == pytest.approx([0.0, 0.1, 0.1])


def test_pgd_drops_at_epoch_75_of_80():
    madry = recipe("pgd-madry", "cifar10")
    assert [lr_at(madry, 390 * epoch, 390) for epoch in (74, 75)] == pytest.approx([0.1, 0.01])


def test_cosine_rises_linearly_and_falls_to_zero():
    cosine = Cosine(warmup=5)
    assert [cosine.factor(step, 10, 20) for step in (0, 25, 50)] == pytest.approx([0.0, 0.5, 1.0])
    assert cosine.factor(125, 10, 20) == pytest.approx(0.5)
    assert cosine.factor(199, 10, 20) < 1e-3


def test_one_cycle_has_its_peak_after_the_rise():
    cycle = OneCycle(rise=0.25, start=0.1)
    factors = [cycle.factor(step, 100, 10) for step in range(1000)]
    assert factors.index(max(factors)) in (249, 250)
    assert factors[0] == pytest.approx(0.1, abs=0.01) and max(factors) == pytest.approx(1, abs=0.01)
    assert 0 < factors[-1] < 0.01


@given(st.sampled_from(EXAMPLES), st.integers(1, 50), st.integers(1, 20), st.floats(0, 0.999))
def test_factors_lie_between_zero_and_one(schedule, steps_per_epoch, epochs, place):
    factor = schedule.factor(int(place * steps_per_epoch * epochs), steps_per_epoch, epochs)
    assert math.isfinite(factor) and 0 <= factor <= 1


@pytest.mark.parametrize("schedule", EXAMPLES, ids=lambda s: s.kind)
def test_schedules_survive_json(schedule):
    assert schedule_from_json(_plain(schedule)) == schedule
    assert schedule_from_json(schedule.kind) == SCHEDULES[schedule.kind]()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("linear", "schedule is 'linear'; expected one of constant, step, cosine, one-cycle"),
        ({"kind": "step", "every": 3}, "schedule step has no setting 'every'; it has at, gamma, zero_steps"),
        ({"kind": "step", "at": [0.75, 0.5]}, r"at is \[0.75, 0.5\]; expected increasing fractions"),
        ({"kind": "step", "at": [80]}, "expected increasing fractions"),
        ({"kind": "step", "at": "0.5"}, "expected a number"),
        ({"kind": "one-cycle", "rise": 1}, "schedule rise is 1"),
        ({"kind": "cosine", "warmup": -1}, "schedule warmup is -1"),
        ({"kind": "cosine", "warmup": True}, "expected a number"),
        (None, "schedule is None"),
    ],
)
def test_bad_schedules_are_refused_by_name(data, message):
    with pytest.raises(InputError, match=message):
        schedule_from_json(data)
