"""Noises of CIFAR-10-C: Gaussian, shot, impulse and speckle noise.

Every corruption is a function of images (N, 3, 32, 32) of [0, 1] in float64, the constants of a severity, and draws. It
returns images of the same scale, which may leave [0, 1].
"""

from functools import lru_cache

import torch
from torch import Tensor

from zerosnet.robustness.corruptions.draws import Draws
from zerosnet.robustness.corruptions.filters import divided

_LEVELS = 256


def gaussian_noise(images: Tensor, deviation: float, draws: Draws) -> Tensor:
    """Add normal noise."""
    return images + deviation * draws.normal("noise", *images.shape[1:])


def speckle_noise(images: Tensor, deviation: float, draws: Draws) -> Tensor:
    """Add normal noise in proportion to the pixel."""
    return images + images * (deviation * draws.normal("noise", *images.shape[1:]))


def impulse_noise(images: Tensor, amount: float, draws: Draws) -> Tensor:
    """Turn an amount of all values to 0 or 1."""
    extreme = (draws.uniform("extreme", *images.shape[1:]) < 0.5).to(images)
    return torch.where(draws.uniform("hit", *images.shape[1:]) < amount, extreme, images)


def shot_noise(images: Tensor, photons: float, draws: Draws) -> Tensor:
    """Count photons: a Poisson number of mean `photons` times the pixel.

    A count is the quantile of a uniform number. All pixels are multiples of 1/255, so a table of 256 distributions, one
    after the other, answers for all of them.
    """
    table = poisson_table(photons).to(images.device)
    level = (images * (_LEVELS - 1)).round()
    place = torch.searchsorted(table.flatten(), level + draws.uniform("count", *images.shape[1:]))
    return divided((place - level.long() * table.shape[1]).double(), photons)


@lru_cache
def poisson_table(photons: float) -> Tensor:
    """Probabilities of at most k photons, plus the level, for levels 0 to 255 (256, counts): one increasing line."""
    from scipy.special import pdtr  # 10 ms; torch has no Poisson distribution function

    counts = int(photons + 12 * photons**0.5 + 12)
    means = torch.arange(_LEVELS, dtype=torch.float64)[:, None] / (_LEVELS - 1) * photons
    below = torch.from_numpy(pdtr(torch.arange(counts, dtype=torch.float64).numpy(), means.numpy()))
    return below.clamp(0, 1) + torch.arange(_LEVELS, dtype=torch.float64)[:, None]
