import pytest
import torch
from tests.robustness.attackable import SideBySide, small_convolution

from zerosnet.data import load
from zerosnet.robustness import Normalised, subject


def trained(seed: int) -> torch.nn.Module:
    """A small network that knows the digits; a second of training."""
    data, model = load("digits"), small_convolution(classes=10, seed=seed)
    images, labels = data.train.images.float() / 255, data.train.labels
    optimizer = torch.optim.Adam(model.parameters(), 0.01)
    generator = torch.Generator().manual_seed(seed)
    for _ in range(6):
        for index in torch.randperm(len(images), generator=generator).split(64):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model((images[index] - 0.3) / 0.4), labels[index]).backward()
            optimizer.step()
    optimizer.zero_grad()
    return model.eval()


@pytest.fixture(scope="session")
def networks():
    return [trained(seed) for seed in range(3)]


@pytest.fixture(scope="session")
def digits():
    return load("digits").test


@pytest.fixture(scope="session")
def pair(networks, digits):
    """Two networks fused, a third one as surrogate, 64 digits."""
    model, surrogate = (Normalised(m, (0.3,), (0.4,)) for m in (SideBySide(*networks[:2]), networks[2]))
    return subject(model, digits.images[:64], digits.labels[:64], surrogate=surrogate)
