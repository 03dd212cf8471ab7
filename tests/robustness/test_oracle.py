"""Our attacks beside those of foolbox, on a nonlinear network with its normalisation inside."""

import pytest
import torch
from tests.robustness.attackable import small_convolution

from zerosnet.robustness.attacks.gradient import attack_images, fgsm, pgd
from zerosnet.robustness.classifiers import Normalised

foolbox = pytest.importorskip("foolbox", reason="the test extra brings it")

MEAN, STD, EPS = (0.3,), (0.25,), 0.06
ours = Normalised(small_convolution(), MEAN, STD)
theirs = foolbox.PyTorchModel(
    small_convolution().eval(),
    bounds=(0, 1),
    device="cpu",
    preprocessing={"mean": list(MEAN), "std": list(STD), "axis": -3},
)
IMAGES = torch.rand(16, 1, 8, 8, generator=torch.Generator().manual_seed(1))
with torch.no_grad():
    LABELS = ours(IMAGES).argmax(1)
TARGETS = (LABELS + 1) % 4

UNTARGETED = {
    "fgsm": (fgsm(EPS), foolbox.attacks.LinfFastGradientAttack(random_start=False)),
    "fgm in L2": (fgsm(EPS, norm="l2"), foolbox.attacks.L2FastGradientAttack(random_start=False)),
    "pgd": (
        pgd(EPS, 10, random_start=False),
        foolbox.attacks.LinfProjectedGradientDescentAttack(steps=10, rel_stepsize=0.25, random_start=False),
    ),
    "pgd in L2": (
        pgd(EPS, 10, norm="l2", random_start=False),
        foolbox.attacks.L2ProjectedGradientDescentAttack(steps=10, rel_stepsize=0.25, random_start=False),
    ),
}


@pytest.mark.parametrize("name", UNTARGETED)
def test_attacks_agree_with_foolbox(name):
    attack, oracle = UNTARGETED[name]
    found = attack_images(ours, IMAGES, LABELS, attack)
    expected, _, fooled = oracle(theirs, IMAGES, LABELS, epsilons=EPS)
    torch.testing.assert_close(found.images, expected, atol=1e-5, rtol=0)
    assert torch.equal(~found.resists[:, 0], fooled)


@pytest.mark.parametrize("norm", ["linf", "l2"])
def test_targeted_attacks_agree_with_foolbox(norm):
    oracles = {
        "linf": foolbox.attacks.LinfProjectedGradientDescentAttack,
        "l2": foolbox.attacks.L2ProjectedGradientDescentAttack,
    }
    oracle = oracles[norm](steps=10, rel_stepsize=0.25, random_start=False)
    expected, _, reached = oracle(theirs, IMAGES, foolbox.criteria.TargetedMisclassification(TARGETS), epsilons=EPS)
    found = attack_images(ours, IMAGES, TARGETS, pgd(EPS, 10, norm=norm, random_start=False, targeted=True))
    torch.testing.assert_close(found.images, expected, atol=1e-5, rtol=0)
    assert torch.equal(~found.resists[:, 0], reached)


def test_the_attacks_fool_some_images_and_not_all():
    resists = attack_images(ours, IMAGES, LABELS, pgd(EPS, 10)).resists
    assert 0 < resists.sum() < len(IMAGES)
