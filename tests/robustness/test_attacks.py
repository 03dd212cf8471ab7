import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.robustness.attackable import Linear, small_convolution

from zerosnet.errors import InputError
from zerosnet.robustness.attacks.gradient import (
    Attack,
    attack_images,
    attempt,
    climb,
    draw_starts,
    fgsm,
    input_gradient,
    log_odds,
    pgd,
)
from zerosnet.robustness.classifiers import Normalised

LABELS = torch.tensor([0, 1, 1, 0])


def images(channels: int = 2, size: int = 3, low: float = 0.3, high: float = 0.7) -> torch.Tensor:
    generator = torch.Generator().manual_seed(5)
    return low + (high - low) * torch.rand(4, channels, size, size, generator=generator)


def slope(model: Linear, labels: torch.Tensor = LABELS) -> torch.Tensor:
    """Of two linear classes the loss of y rises along w_other - w_y, whatever the image."""
    weight = model.weight.detach()[0]
    return (weight[1 - labels] - weight[labels]).view(4, 2, 3, 3)


def test_fgsm_of_a_linear_model_is_the_sign_of_the_weight_difference():
    model = Linear()
    found = attack_images(model, images(), LABELS, fgsm(0.1)).images
    torch.testing.assert_close(found, images() + 0.1 * slope(model).sign())


def test_pgd_of_a_linear_model_ends_in_the_corner_of_the_ball():
    model = Linear()
    found = attack_images(model, images(), LABELS, pgd(0.1, steps=20)).images
    torch.testing.assert_close(found, images() + 0.1 * slope(model).sign())


def test_l2_pgd_of_a_linear_model_goes_straight_to_the_sphere():
    model = Linear()
    found = attack_images(model, images(), LABELS, pgd(0.2, steps=10, norm="l2", random_start=False)).images
    direction = slope(model) / slope(model).flatten(1).norm(dim=1).view(-1, 1, 1, 1)
    torch.testing.assert_close(found, images() + 0.2 * direction)


def test_attacks_stay_in_the_unit_interval_at_its_edge():
    model = Linear()
    found = attack_images(model, images(low=0.0, high=1.0), LABELS, pgd(0.5)).images
    expected = (images(low=0.0, high=1.0) + 0.5 * slope(model).sign()).clamp(0, 1)
    torch.testing.assert_close(found, expected)


def test_targeted_attack_descends_to_its_target():
    model = Linear()
    found = attack_images(model, images(), LABELS, fgsm(0.1, targeted=True))
    torch.testing.assert_close(found.images, images() - 0.1 * slope(model).sign())
    with torch.no_grad():
        assert torch.equal(found.resists[:, 0], model.eval()(found.images).argmax(1) != LABELS)


def test_without_projection_the_attack_reaches_steps_times_step():
    model, attack = Linear(), pgd(8 / 255, steps=7, projection=False, random_start=False)
    found = attack_images(model, images(), LABELS, attack).images
    assert attack.reach == pytest.approx(14 / 255)
    torch.testing.assert_close(found, images() + 14 / 255 * slope(model).sign())


def test_eps_zero_changes_nothing():
    assert torch.equal(attack_images(Linear(), images(), LABELS, pgd(0.0)).images, images())


@pytest.mark.parametrize("norm", ["linf", "l2"])
@settings(max_examples=15, deadline=None)
@given(eps=st.floats(0.001, 1), steps=st.integers(1, 5), seed=st.integers(0, 99))
def test_projected_attacks_stay_in_their_ball(norm, eps, steps, seed):
    attack = pgd(eps, steps, norm=norm, seed=seed)
    delta = (attack_images(Linear(seed=seed), images(), LABELS, attack).images - images()).flatten(1)
    assert delta.norm(dim=1, p=math.inf if norm == "linf" else 2).max() <= eps + 1e-6  # pixels are float32


@pytest.mark.parametrize("norm", ["linf", "l2"])
@pytest.mark.parametrize("shared", [True, False], ids=["one image for all", "an image each"])
def test_fused_replicas_are_attacked_as_each_alone(norm, shared):
    fused = Linear(replicas=3, seed=7)
    model = Normalised(fused, mean=(0.4, 0.5), std=(0.2, 0.3))
    attack = pgd(0.05, steps=3, norm=norm, restarts=2)
    given_images = images() if shared else torch.cat([images(), images().flip(0), images().flip(2)], 1)
    together = attack_images(model, given_images, LABELS, attack)
    for k in range(3):
        alone = Linear()
        alone.load_state_dict({name: t[k : k + 1] for name, t in fused.state_dict().items()})
        own = images() if shared else given_images[:, 2 * k : 2 * k + 2]
        expected = attack_images(Normalised(alone, (0.4, 0.5), (0.2, 0.3)), own, LABELS, attack)
        torch.testing.assert_close(together.images[:, 2 * k : 2 * k + 2], expected.images)
        assert torch.equal(together.resists[:, k], expected.resists[:, 0])


def test_restarts_keep_the_worst_of_every_image():
    model, attack = small_convolution(), pgd(0.1, steps=2, restarts=4)
    pictures, index = images(channels=1, size=8, low=0, high=1), torch.arange(4)
    tries = [attempt(model, pictures, LABELS, attack, index=index, restart=r) for r in range(4)]
    worst = attack_images(model, pictures, LABELS, attack)
    assert torch.equal(worst.resists, torch.stack([t.resists for t in tries]).all(0))
    assert len({t.images.sum().item() for t in tries}) == 4
    for i in range(4):
        candidates = [(not t.resists[i], t.gain[i].item(), t.images[i]) for t in tries]
        best = max(candidates, key=lambda c: c[:2])
        torch.testing.assert_close(worst.images[i], best[2])


def test_starts_depend_on_index_and_restart_not_on_the_batch():
    attack, shape, index = pgd(0.1), torch.Size((2, 3, 3)), torch.tensor([4, 2, 9])
    whole = draw_starts(attack, index, shape, restart=1)
    assert torch.equal(whole[1:2], draw_starts(attack, index[1:2], shape, restart=1))
    assert not torch.equal(whole, draw_starts(attack, index, shape, restart=2))
    assert whole.abs().max() <= 1


def test_l2_starts_fill_the_ball():
    lengths = draw_starts(pgd(1, norm="l2"), torch.arange(200), torch.Size((1, 1, 2)), 0).flatten(1).norm(dim=1)
    assert lengths.max() <= 1 + 1e-6
    assert (lengths < 0.5).float().mean() == pytest.approx(0.25, abs=0.08)


def test_the_model_is_left_as_it_was_found():
    model = Linear()
    model.train()
    model.dropout.eval()
    model.bias.requires_grad_(False)
    model.weight.grad = torch.ones_like(model.weight)
    before = {name: t.clone() for name, t in model.state_dict().items()}
    attack_images(model, images(), LABELS, pgd(0.1, restarts=2))
    assert model.training and not model.dropout.training
    assert model.weight.requires_grad and not model.bias.requires_grad
    assert torch.equal(model.weight.grad, torch.ones_like(model.weight)) and model.bias.grad is None
    assert all(torch.equal(t, before[name]) for name, t in model.state_dict().items())


def test_the_model_is_left_as_it_was_found_even_after_an_error():
    model = Linear()
    for wrong in (images(channels=5), images() * 255):
        with pytest.raises((RuntimeError, InputError)):
            attack_images(model, wrong, LABELS, pgd(0.1))
    assert model.training and model.weight.requires_grad


def test_attacks_run_in_evaluation_mode():
    model = Linear().train()
    first, second = (attack_images(model, images(), LABELS, fgsm(0.1)).images for _ in range(2))
    assert torch.equal(first, second), "dropout was active"


def test_a_network_sure_of_itself_does_not_hide_its_gradient():
    model = Linear().eval()
    model.bias.data[0, 0] = 1000.0  # softmax is exactly (1, 0), and so is its gradient 0
    labels = torch.zeros(4, dtype=torch.long)
    assert input_gradient(model, images(), labels).abs().min() > 0
    found = climb(model, images(), labels, fgsm(0.1))
    torch.testing.assert_close(found, images() + 0.1 * slope(model, labels).sign())


def test_log_odds_rise_with_the_cross_entropy_and_along_the_same_direction():
    logits = torch.randn(4, 3, 5, generator=torch.Generator().manual_seed(3)).requires_grad_(True)
    labels = torch.tensor([0, 4, 2, 2])
    entropy = torch.nn.functional.cross_entropy(logits.transpose(1, 2), labels[:, None].expand(4, 3), reduction="none")
    odds = log_odds(logits, labels)
    torch.testing.assert_close(torch.nn.functional.softplus(odds), entropy)
    slopes = [torch.autograd.grad(loss.sum(), logits, retain_graph=True)[0] for loss in (odds, entropy)]
    directions = [slope / slope.norm(dim=-1, keepdim=True) for slope in slopes]
    torch.testing.assert_close(*directions)


def test_a_gradient_that_is_not_finite_moves_nothing():
    model = Linear().eval()
    model.weight.data[:] = math.nan
    found = attack_images(model, images(), LABELS, fgsm(0.1))
    assert torch.equal(found.images, images()) and not found.resists.any()


class Outputs(torch.nn.Module):
    """Whatever it is told to make of the first two pixels."""

    def __init__(self, make):
        super().__init__()
        self.make = make

    def forward(self, x):
        return self.make(x.flatten(1)[:, :2])


@pytest.mark.parametrize("norm", ["linf", "l2"])
@pytest.mark.parametrize("make", [lambda x: torch.zeros(len(x), 2), lambda x: x.detach()], ids=["constant", "detached"])
def test_a_network_without_a_gradient_is_refused_and_not_called_robust(make, norm):
    with pytest.raises(InputError, match="no gradient with respect to the images"):
        attack_images(Outputs(make), images(), LABELS, pgd(0.1, 2, norm=norm))


@pytest.mark.parametrize("norm", ["linf", "l2"])
def test_an_attack_stays_at_its_start_if_the_gradient_is_zero(norm):
    found = attack_images(Outputs(lambda x: 0 * x), images(), LABELS, pgd(0.1, 3, norm=norm, random_start=False))
    assert torch.equal(found.images, images())


@pytest.mark.parametrize("size", [1e-30, 1e-20, 1.0, 1e20, 1e30])
def test_an_l2_step_is_as_long_whatever_the_size_of_the_gradient(size):
    model = Outputs(lambda x: size * x)
    found = attack_images(model, images(), LABELS, pgd(0.2, 1, step=0.1, norm="l2", random_start=False)).images
    torch.testing.assert_close((found - images()).flatten(1).norm(dim=1), torch.full((4,), 0.1))


def test_bytes_are_attacked_as_the_floats_they_stand_for():
    pixels = (255 * images()).to(torch.uint8)
    found, expected = (attack_images(Linear(), given, LABELS, pgd(0.1, 3)) for given in (pixels, pixels / 255))
    assert torch.equal(found.images, expected.images)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (torch.tensor([0, 1, 2, 0]), "labels run from 0 to 2; expected 0 to 1"),
        (torch.tensor([0, 1]), r"shape \(2,\); expected whole numbers, one per image: 4"),
        (torch.zeros(4), "labels are torch.float32"),
        ([0, 1, 1, 0], "labels are list"),
    ],
)
def test_labels_that_are_no_classes_are_refused(labels, message):
    with pytest.raises(InputError, match=message):
        attack_images(Linear(), images(), labels, pgd(0.1))


@pytest.mark.parametrize("index", [torch.arange(3), [0, 1, 2, 3], torch.rand(4)])
def test_places_in_the_data_set_are_whole_numbers_one_per_image(index):
    with pytest.raises(InputError, match=r"index is .* one place per image: 4"):
        attack_images(Linear(), images(), LABELS, pgd(0.1), index=index)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: fgsm(8), "eps is 8; expected 0 to 1"),
        (lambda: pgd(-0.1), "eps is -0.1; expected 0 to 1"),
        (lambda: pgd(-0.1, norm="l2"), "eps is -0.1; expected a finite number"),
        (lambda: fgsm(math.nan), "eps is nan"),
        (lambda: pgd("8/255"), "eps is '8/255'; expected 0 to 1"),
        (lambda: fgsm(True), "eps is True"),
        (lambda: fgsm(None), "eps is None"),
        (lambda: pgd(0.1, norm="l1"), "norm is 'l1'; expected one of linf, l2"),
        (lambda: pgd(0.1, norm=["l2"]), "norm is ['l2']; expected one of linf, l2"),
        (lambda: pgd(0.1, steps=0), "steps is 0"),
        (lambda: pgd(0.1, restarts=2, random_start=False), "without random start"),
        (lambda: replace(pgd(0.1), step=2.0), "step is 2.0"),
    ],
)
def test_bad_settings_are_named(make, message):
    with pytest.raises(InputError) as error:
        make()
    assert message in str(error.value)


def test_an_attack_describes_itself():
    assert pgd(8 / 255, 7, projection=False, random_start=False).to_json() == {
        "eps": 8 / 255, "step": 2 / 255, "steps": 7, "norm": "linf", "restarts": 1, "random_start": False,
        "projection": False, "targeted": False, "seed": 1, "reach": 14 / 255,
    }  # fmt: skip
    assert Attack(0.1, 0.1, 1, random_start=False) == fgsm(0.1)
