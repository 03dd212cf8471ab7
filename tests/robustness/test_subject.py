from dataclasses import replace

import pytest
import torch
from tests.robustness.attackable import Linear, small_convolution

from zerosnet.errors import InputError
from zerosnet.robustness import (
    PAPER_NOISES,
    Normalised,
    attack_images,
    pgd,
    subject,
    under_attack,
    under_noises,
    under_transfer,
)
from zerosnet.robustness.classifiers import FewSizes


def alone(networks, pair, k):
    model = Normalised(networks[k], (0.3,), (0.4,))
    return subject(model, pair.images, pair.labels, surrogate=pair.surrogate)


@pytest.mark.parametrize("batch", [1, 7, 64])
def test_results_do_not_depend_on_the_batch(pair, batch):
    other = replace(pair, batch=batch)
    assert torch.equal(under_noises(pair, PAPER_NOISES[:8]), under_noises(other, PAPER_NOISES[:8]))
    attack = pgd(0.05, 3, restarts=2)
    assert torch.equal(under_attack(pair, attack), under_attack(other, attack))


def test_fused_networks_measure_as_each_alone(networks, pair):
    attack = pgd(0.05, 3, restarts=2)
    transfer = pgd(0.05, 3, random_start=False)
    for k in range(2):
        one = alone(networks, pair, k)
        assert torch.equal(under_noises(pair, PAPER_NOISES)[..., k], under_noises(one, PAPER_NOISES)[..., 0])
        assert torch.equal(under_attack(pair, attack)[:, k], under_attack(one, attack)[:, 0])
        assert torch.equal(under_transfer(pair, [transfer])[..., k], under_transfer(one, [transfer])[..., 0])


def test_skipping_fooled_images_changes_nothing(pair):
    attack = pgd(0.1, 2, restarts=3)
    images = pair.images.float() / 255
    assert torch.equal(under_attack(pair, attack), attack_images(pair.model, images, pair.labels, attack).resists)


def test_nothing_is_attacked_if_nothing_resists(pair):
    none = torch.zeros(64, 2, dtype=torch.bool)
    assert torch.equal(under_attack(pair, pgd(0.1, 2, restarts=2), resisting=none), none)


def test_a_part_of_the_images_keeps_their_noise(pair):
    part = pair.chosen(10)
    assert len(part) == 10 and torch.equal(part.images, pair.images[part.index])
    noises = PAPER_NOISES[9:11]
    assert torch.equal(under_noises(part, noises), under_noises(pair, noises)[:, part.index])
    assert pair.chosen(64) is pair and pair.chosen(None) is pair
    assert not torch.equal(pair.chosen(10, seed=2).index, part.index)


def test_measuring_leaves_no_trace(pair):
    pair.model.train()
    under_attack(pair, pgd(0.05, 1))
    under_noises(pair, PAPER_NOISES[:1])
    under_transfer(pair, [pgd(0.05, 1, random_start=False)])
    assert all(module.training for module in pair.model.modules())
    assert all(p.requires_grad and p.grad is None for m in (pair.model, pair.surrogate) for p in m.parameters())
    pair.model.eval()


class TwoOutputs(torch.nn.Module):
    def forward(self, x):
        return x, x


class OneNumber(torch.nn.Module):
    def forward(self, x):
        return x.flatten(1).sum(1)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (TwoOutputs(), "the model returns a tuple; expected one logits tensor"),
        (OneNumber(), r"expected logits \(B, classes\)"),
    ],
)
def test_a_model_without_logits_is_refused(model, message):
    with pytest.raises(InputError, match=message):
        subject(model, torch.rand(2, 1, 4, 4), torch.zeros(2, dtype=torch.long))


@pytest.mark.parametrize(
    ("images", "labels", "message"),
    [
        (torch.full((2, 2, 3, 3), 200.0), torch.zeros(2).long(), r"range over \[200, 200\]; expected \[0, 1\]"),
        (torch.full((2, 2, 3, 3), torch.nan), torch.zeros(2).long(), r"expected \[0, 1\]"),
        (torch.zeros(2, 2, 3, 3).long(), torch.zeros(2).long(), "expected uint8"),
        (torch.zeros(2, 2, 3), torch.zeros(2).long(), "shape"),
        (torch.zeros(2, 2, 3, 3), torch.zeros(3).long(), "one per image"),
        (torch.zeros(2, 2, 3, 3), torch.tensor([0, 7]), "expected 0 to 1"),
    ],
)
def test_bad_images_and_labels_are_refused(images, labels, message):
    with pytest.raises(InputError, match=message):
        subject(Linear(), images, labels)


@pytest.mark.parametrize("batch", [0, -1, 2.5, "3", True])
def test_a_batch_of_no_images_is_refused(batch):
    with pytest.raises(InputError, match=f"batch is {batch!r}"):
        subject(Linear(), torch.zeros(2, 2, 3, 3), torch.zeros(2).long(), batch=batch)


@pytest.mark.parametrize("count", [0, -1, 1.5])
def test_no_images_cannot_be_chosen(pair, count):
    with pytest.raises(InputError, match=f"count is {count}"):
        pair.chosen(count)


@pytest.mark.parametrize("resisting", [torch.ones(3, 2).bool(), torch.ones(64, 2)])
def test_images_that_resist_are_marked_for_every_image_and_network(pair, resisting):
    with pytest.raises(InputError, match=r"resisting is .* expected bool"):
        under_attack(pair, pgd(0.1, 1), resisting)


def test_targeted_attacks_are_refused_because_a_subject_has_no_targets(pair):
    attack = pgd(0.1, 1, random_start=False, targeted=True)
    for measure in (lambda: under_attack(pair, attack), lambda: under_transfer(pair, [attack])):
        with pytest.raises(InputError, match="targeted"):
            measure()


def test_a_surrogate_for_other_classes_is_refused():
    with pytest.raises(InputError, match="surrogate has 5 classes; expected 2"):
        subject(Linear(), torch.zeros(2, 2, 3, 3), torch.zeros(2).long(), surrogate=Linear(classes=5))


def test_a_network_for_autoattack_sees_three_sizes_and_answers_as_before():
    model, sizes = small_convolution(classes=10), []
    model.register_forward_pre_hook(lambda module, inputs: sizes.append(len(inputs[0])))
    images = torch.rand(10, 1, 8, 8)
    for count in range(1, 11):
        shown = [images[:count].clone().requires_grad_() for _ in range(2)]
        plain, filled = model(shown[0]), FewSizes(model, 10)(shown[1])
        assert torch.allclose(plain, filled, atol=1e-6)
        gradients = [torch.autograd.grad(out[:, 1].sum(), x)[0] for out, x in zip((plain, filled), shown)]
        assert torch.allclose(*gradients, atol=1e-6)
    assert set(sizes[1::2]) == {3, 5, 10}
    assert len(FewSizes(model, 4)(images)) == 10


def test_a_network_for_autoattack_may_be_shown_nothing():
    """The Square attack does so if two logits of every image that is left are equal, or NaN."""
    assert FewSizes(small_convolution(classes=10), 10)(torch.rand(0, 1, 8, 8)).shape == (0, 10)
