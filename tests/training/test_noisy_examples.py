"""Recipe `noise`: images with Gaussian noise, stateless, the same alone as fused."""

from dataclasses import replace

import pytest
import torch
from scipy import stats

from zerosnet.errors import InputError
from zerosnet.training import RunSpec, Store, recipe
from zerosnet.training.engine import train
from zerosnet.training.finished.networks import load_network
from zerosnet.training.fused.examples import NoisyExamples
from zerosnet.training.options import Options

STATISTICS = (torch.tensor([0.3, 0.4]), torch.tensor([0.5, 0.25]))


def examples(seeds: list[int], step: int = 3, epoch: int = 1) -> NoisyExamples:
    made = NoisyExamples(0.25, seeds=seeds, statistics=STATISTICS, counter=torch.tensor([step]))
    made.begin(epoch)
    return made


def test_noise_has_the_deviation_of_the_recipe_in_pixels():
    images, labels = torch.zeros(64, 2, 8, 8), torch.zeros(1, 64, dtype=torch.int64)
    noisy = examples([1])(images, labels) * STATISTICS[1].view(1, 2, 1, 1)
    assert noisy.std().item() == pytest.approx(0.25, rel=0.03)
    assert stats.kstest((noisy[:, 1] / 0.25).flatten().numpy(), "norm").pvalue > 0.01


def test_a_replica_has_the_same_noise_alone_and_fused_and_other_noise_in_other_steps():
    images, labels = torch.rand(5, 4, 8, 8), torch.zeros(2, 5, dtype=torch.int64)
    together = examples([11, 12])(images, labels)
    for k in range(2):
        assert torch.equal(examples([11 + k])(images[:, 2 * k : 2 * k + 2], labels[:1]), together[:, 2 * k : 2 * k + 2])
    for other in (examples([11, 12], step=4), examples([11, 12], epoch=2), examples([13, 14])):
        assert not torch.equal(other(images, labels), together)


def test_the_recipe_is_that_of_the_paper_with_noise_and_old_ids_stay():
    made, paper = recipe("noise", "cifar10"), recipe("paper", "cifar10")
    assert replace(made, name="paper", noise=0.0) == paper and made.noise == 0.25
    assert "noise" not in paper.identity() and recipe("noise", "cifar10", noise=0.5).identity()["noise"] == 0.5
    assert "Gaussian noise 0.25" in made.describe() and "noise" not in paper.describe()


@pytest.mark.parametrize("changes", [{"noise": -0.1}, {"noise": "much"}, {"noise": 100.0}, {"noise": 0.1}])
def test_bad_noise_is_refused(changes):
    name = "pgd-madry" if changes == {"noise": 0.1} else "paper"
    with pytest.raises(InputError, match="recipe option noise"):
        recipe(name, "cifar10", **changes)


def test_fused_training_on_noisy_images_is_that_of_each_alone(tmp_path):
    quick = recipe("quick", "digits", epochs=1, batch=480, noise=0.3)
    both = [RunSpec("zerosnet20_opt", "digits", quick, seed) for seed in (1, 2)]
    clean = replace(both[0], recipe=replace(quick, noise=0.0))
    fused, alone = Store(tmp_path / "fused"), Store(tmp_path / "alone")
    train([*both, clean], fused, Options("cpu"))
    train(both[1:], alone, Options("cpu"))
    ours, single, usual = (
        load_network(store.find(spec.id)).state_dict()
        for store, spec in ((fused, both[1]), (alone, both[1]), (fused, clean))
    )
    assert all(torch.equal(ours[name], single[name]) for name in single)
    assert not torch.equal(load_network(fused.find(both[0].id)).state_dict()["fc.weight"], usual["fc.weight"])
