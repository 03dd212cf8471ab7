"""A GPU makes the same corruptions, noise and certificates as a CPU."""

import pytest
import torch
from tests.robustness.attackable import small_convolution

from zerosnet.robustness import CORRUPTIONS, corrupt, counted_normal, subject
from zerosnet.robustness.smoothing import count_answers
from zerosnet.training import RunSpec, recipe
from zerosnet.training.fused.trainer import FusedTrainer
from zerosnet.training.machine import torch_settings

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]


@pytest.mark.parametrize("name", list(CORRUPTIONS))
def test_a_gpu_corrupts_as_a_cpu_does(name):
    generator = torch.Generator().manual_seed(0)
    coarse = torch.rand(16, 3, 8, 8, generator=generator)
    images = (255 * torch.nn.functional.interpolate(coarse, size=32, mode="bicubic").clamp(0, 1)).byte()
    for severity in (1, 5):
        here, there = corrupt(images, name, severity), corrupt(images.cuda(), name, severity).cpu()
        apart = (here.int() - there.int()).abs()
        assert (apart > 0).float().mean() < 1e-3 and (apart > 1).sum() == 0, name


def test_normal_numbers_agree_but_for_their_last_bits():
    seeds, position = torch.tensor([1, 2**40 + 5]), torch.tensor([3, 4])
    there = counted_normal(seeds.cuda(), position.cuda(), 10_001).cpu()
    torch.testing.assert_close(there, counted_normal(seeds, position, 10_001), atol=1e-4, rtol=1e-5)


def test_answers_to_noisy_images_agree_within_a_few_samples():
    images = torch.rand(8, 1, 8, 8, generator=torch.Generator().manual_seed(0))
    labels = torch.arange(8) % 4
    here, there = (
        count_answers(subject(small_convolution().to(device), images.to(device), labels.to(device)), 0.25, 500)
        for device in ("cpu", "cuda")
    )
    assert int((here - there).abs().max()) <= 5


def test_recorded_steps_on_noisy_images_follow_the_plain_ones_on_the_cpu():
    from zerosnet.data import load

    quick = recipe("quick", "digits", epochs=1, batch=480, noise=0.3)
    specs = [RunSpec("zerosnet20_opt", "digits", quick, seed, precision="fp32") for seed in (1, 2)]
    losses = []
    for device in (torch.device("cpu"), torch.device("cuda", 0)):
        with torch_settings(device, deterministic=False):
            training = FusedTrainer(specs, load("digits"), device)
            training.begin_epoch(0, 0)
            for _ in range(training.steps):
                training.step()
            losses.append([score.loss for score in training.train_scores()])
            training.close()
    assert losses[1] == pytest.approx(losses[0], rel=0.02)
