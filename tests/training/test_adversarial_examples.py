"""Adversarial examples for training: made on the network or a surrogate, stateless, and the same alone as fused."""

from dataclasses import replace

import pytest
import torch

from zerosnet.models import create_model, extract
from zerosnet.robustness import Normalised
from zerosnet.training.fused.examples import AdversarialExamples
from zerosnet.training.recipes.adversarial import Adversarial
from zerosnet.training.recipes.book import recipe

EPS = 8 / 255
MADRY = replace(recipe("pgd-madry", "digits").adversarial, steps=2)
PAPER = recipe("pgd-paper", "digits").adversarial
MEAN, STD = (0.3,), (0.5,)
STATISTICS = (torch.tensor(MEAN), torch.tensor(STD))


def network(replicas: int = 1, seed: int = 0) -> torch.nn.Module:
    model = create_model("zerosnet20_opt", in_chans=1, replicas=replicas, seed=list(range(seed, seed + replicas)))
    return model.eval()


def batch(replicas: int) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(3)
    pixels = torch.rand(5, replicas, 8, 8, generator=generator)
    return (pixels - MEAN[0]) / STD[0], torch.randint(10, (replicas, 5), generator=generator)


def examples(settings: Adversarial, model: torch.nn.Module, seeds: list[int], step: int = 3) -> AdversarialExamples:
    source = Normalised(model, MEAN, STD)
    counter = torch.tensor([step])
    return AdversarialExamples(settings, source, seeds=seeds, statistics=STATISTICS, counter=counter)


def alone(model: torch.nn.Module, k: int) -> torch.nn.Module:
    single = network()
    single.load_state_dict(extract(model.state_dict(), k, model.replicas))
    return single


def test_a_replica_learns_from_the_same_examples_alone_and_fused():
    model, (images, labels) = network(2), batch(2)
    together = examples(MADRY, model, [11, 12])(images, labels)
    for k in range(2):
        single = examples(MADRY, alone(model, k), [11 + k])(images[:, k : k + 1], labels[k : k + 1])
        assert torch.equal(together[:, k : k + 1], single)


def test_a_surrogate_serves_all_replicas():
    surrogate, (images, labels) = network(seed=5), batch(2)
    together = examples(PAPER, surrogate, [1, 2])(images, labels)
    for k in range(2):
        single = examples(PAPER, surrogate, [1 + k])(images[:, k : k + 1], labels[k : k + 1])
        torch.testing.assert_close(together[:, k : k + 1], single)


def test_white_box_examples_stay_within_eps_and_in_the_unit_interval():
    images, labels = batch(2)
    found = examples(MADRY, network(2), [1, 2])(images, labels)
    change = (found - images) * STD[0]
    assert 0.5 * EPS < change.abs().max() <= EPS + 1e-6
    pixels = found * STD[0] + MEAN[0]
    assert pixels.min() >= -1e-6 and pixels.max() <= 1 + 1e-6


def test_examples_of_the_papers_source_leave_the_ball():
    images, labels = batch(1)
    change = (examples(PAPER, network(), [1])(images, labels) - images) * STD[0]
    assert EPS < change.abs().max() <= 7 / 4 * EPS + 1e-6


def test_random_starts_depend_on_seed_epoch_and_step_only():
    images, labels = batch(1)
    settings, model = replace(MADRY, steps=1), network()

    def drawn(seed: int, epoch: int, step: int) -> torch.Tensor:
        made = examples(settings, model, [seed], step)
        made.begin(epoch)
        return made(images, labels)

    assert torch.equal(drawn(1, 2, 3), drawn(1, 2, 3))
    others = [drawn(2, 2, 3), drawn(1, 3, 3), drawn(1, 2, 4)]
    assert not any(torch.equal(drawn(1, 2, 3), other) for other in others)


def test_the_network_in_training_is_left_as_it_was():
    model, (images, labels) = network(2).train(), batch(2)
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    examples(MADRY, model, [1, 2])(images, labels)
    assert model.training and all(p.requires_grad and p.grad is None for p in model.parameters())
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())


@pytest.mark.parametrize("settings", [MADRY, PAPER], ids=["white-box", "surrogate"])
def test_channels_last_images_give_the_same_examples(settings):
    images, labels = batch(2)
    model = network(2 if settings is MADRY else 1)
    usual = examples(settings, model, [1, 2])(images, labels)
    other = examples(settings, model, [1, 2])(images.to(memory_format=torch.channels_last), labels)
    torch.testing.assert_close(other, usual)


@pytest.mark.parametrize("native", [True, False])
def test_plain_torch_is_used_for_the_examples_too_if_asked_for(monkeypatch, native):
    asked = []

    def fast(source, size, *, native):
        asked.append((size, native))
        return source

    monkeypatch.setattr("zerosnet.training.fused.examples.fast", fast)
    model, (images, labels) = network(2), batch(2)
    counter, source = torch.tensor([3]), Normalised(model, MEAN, STD)
    options = {"seeds": [1, 2], "statistics": STATISTICS, "counter": counter, "compiled": True, "native": native}
    AdversarialExamples(MADRY, source, **options)(images, labels)
    assert asked == [((8, 8), native)]
