import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from zerosnet import InputError
from zerosnet.data import Augmentation, epoch_plan, stack

FULL = Augmentation(crop=4, flip=True)


def same(a, b):
    return all(torch.equal(getattr(a, name), getattr(b, name)) for name in ("order", "dy", "dx", "flip"))


def chi_square(counts):
    expected = counts.sum() / len(counts)
    return float(((counts - expected) ** 2 / expected).sum())


@given(st.integers(0, 2**63 - 1), st.integers(0, 1000), st.integers(1, 200), st.integers(1, 200))
def test_an_epoch_uses_every_image_at_most_once_and_drops_the_partial_batch(seed, epoch, n, batch):
    if batch > n:
        with pytest.raises(InputError, match="batch"):
            epoch_plan(seed, epoch, n, batch=batch, augmentation=FULL)
        return
    plan = epoch_plan(seed, epoch, n, batch=batch, augmentation=FULL)
    assert plan.steps == n // batch
    assert plan.order.shape == plan.dy.shape == plan.dx.shape == plan.flip.shape == (n // batch * batch,)
    assert len(plan.order.unique()) == len(plan.order)
    assert int(plan.order.min()) >= 0 and int(plan.order.max()) < n


def test_a_plan_is_a_pure_function_of_seed_and_epoch():
    torch.manual_seed(1)
    first = epoch_plan(7, 3, 1000, batch=10, augmentation=FULL)
    torch.manual_seed(2)
    assert same(first, epoch_plan(7, 3, 1000, batch=10, augmentation=FULL))
    assert not same(first, epoch_plan(7, 4, 1000, batch=10, augmentation=FULL))
    assert not same(first, epoch_plan(8, 3, 1000, batch=10, augmentation=FULL))


def test_the_shuffle_does_not_depend_on_the_augmentation():
    plain, full = (epoch_plan(1, 0, 500, batch=10, augmentation=a) for a in (Augmentation(), FULL))
    assert torch.equal(plain.order, full.order)
    assert plain.dy is None and plain.dx is None and plain.flip is None


def test_offsets_and_flips_are_uniform_and_independent():
    plan = epoch_plan(1, 0, 200_000, batch=1000, augmentation=FULL)
    joint = ((plan.dy.long() + 4) * 9 + plan.dx.long() + 4) * 2 + plan.flip.long()
    counts = torch.bincount(joint, minlength=162)
    assert len(counts) == 162
    assert chi_square(counts.double()) < 228  # the 0.9996 quantile of chi-square with 161 degrees of freedom


def test_offsets_do_not_depend_on_the_image():
    first, second = (epoch_plan(1, epoch, 50_000, batch=100, augmentation=FULL) for epoch in (0, 1))
    a, b = (plan.dy[plan.order.argsort()].double() for plan in (first, second))
    assert abs(float(torch.corrcoef(torch.stack([a, b]))[0, 1])) < 4 / 50_000**0.5


def test_every_position_of_the_shuffle_is_uniform():
    firsts = torch.tensor([int(epoch_plan(s, 0, 10, batch=10, augmentation=FULL).order[0]) for s in range(2000)])
    assert chi_square(torch.bincount(firsts, minlength=10).double()) < 29.7  # 0.9995 quantile, 9 degrees of freedom


def test_stacked_plans_hold_each_replica_s_own_plan():
    plans = [epoch_plan(seed, 2, 103, batch=10, augmentation=FULL) for seed in (5, 6, 7)]
    stacked = stack(plans)
    assert stacked.order.shape == (10, 3, 10)
    for k, plan in enumerate(plans):
        assert torch.equal(stacked.order[:, k].reshape(-1), plan.order)
        assert torch.equal(stacked.flip[:, k].reshape(-1), plan.flip)


def test_replicas_that_cannot_share_a_step_are_refused():
    with pytest.raises(InputError, match="same batch"):
        stack([epoch_plan(1, 0, 100, batch=b, augmentation=FULL) for b in (10, 20)])
    with pytest.raises(InputError, match="same augmentation"):
        stack([epoch_plan(1, 0, 100, batch=10, augmentation=a) for a in (FULL, Augmentation())])


@pytest.mark.parametrize("arguments", [{"crop": -1}, {"crop": 1.5}, {"crop": True}, {"flip": 1}])
def test_bad_augmentation_is_refused(arguments):
    with pytest.raises(InputError, match=next(iter(arguments))):
        Augmentation(**arguments)
