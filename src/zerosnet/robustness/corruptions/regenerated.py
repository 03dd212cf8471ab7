"""CIFAR-10-C, regenerated: 18 corruptions and a generated frost at the five severities that were published.

After Hendrycks and Dietterich (2019), with the constants of their program for CIFAR. These are not their files: what is
random is drawn anew, by image. With the same random numbers both agree up to rounding (`tools/compare_corruptions.py`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from zerosnet.errors import InputError, did_you_mean
from zerosnet.files import is_whole
from zerosnet.robustness.classifiers import require_index, require_seed
from zerosnet.robustness.corruptions import blur, digital, jpeg, noise, spatter, weather
from zerosnet.robustness.corruptions.draws import SEED, Draws
from zerosnet.robustness.corruptions.filters import BYTE, divided

SIZE = (3, 32, 32)
SEVERITIES = 5


@dataclass(frozen=True)
class Corruption:
    """A corruption and the constants of its five severities.

    Attributes:
        random: It draws random numbers; otherwise it is a function of the image alone.
        published: It follows the published definition, and counts in the mean.
    """

    name: str
    make: Callable[..., Tensor]
    severities: tuple[tuple[Any, ...], ...]
    random: bool
    published: bool = True


def _each(*values: float) -> tuple[tuple[float], ...]:
    return tuple((value,) for value in values)


def _elastic(*settings: tuple[float, float, float]) -> tuple[tuple[float, ...], ...]:
    """Strength, smoothness and shift are given as parts of the image's size."""
    return tuple(tuple(SIZE[1] * value for value in one) for one in settings)


_ALL = (
    Corruption("gaussian_noise", noise.gaussian_noise, _each(0.04, 0.06, 0.08, 0.09, 0.10), True),
    Corruption("shot_noise", noise.shot_noise, _each(500, 250, 100, 75, 50), True),
    Corruption("impulse_noise", noise.impulse_noise, _each(0.01, 0.02, 0.03, 0.05, 0.07), True),
    Corruption("defocus_blur", blur.defocus_blur, ((0.3, 0.4), (0.4, 0.5), (0.5, 0.6), (1, 0.2), (1.5, 0.1)), False),
    Corruption("glass_blur", blur.glass_blur, ((0.05, 1), (0.25, 1), (0.4, 1), (0.25, 2), (0.4, 2)), True),
    Corruption("motion_blur", blur.motion_blur, ((6, 1), (6, 1.5), (6, 2), (8, 2), (9, 2.5)), True),
    Corruption("zoom_blur", blur.zoom_blur, _each(6, 11, 15, 20, 25), False),
    Corruption(
        "snow",
        weather.snow,
        (
            (0.1, 0.2, 1, 0.6, 8, 3, 0.95),
            (0.1, 0.2, 1, 0.5, 10, 4, 0.9),
            (0.15, 0.3, 1.75, 0.55, 10, 4, 0.9),
            (0.25, 0.3, 2.25, 0.6, 12, 6, 0.85),
            (0.3, 0.3, 1.25, 0.65, 14, 12, 0.8),
        ),
        True,
    ),
    Corruption("fog", weather.fog, ((0.2, 3), (0.5, 3), (0.75, 2.5), (1, 2), (1.5, 1.75)), True),
    Corruption("brightness", digital.brightness, _each(0.05, 0.1, 0.15, 0.2, 0.3), False),
    Corruption("contrast", digital.contrast, _each(0.75, 0.5, 0.4, 0.3, 0.15), False),
    Corruption(
        "elastic_transform",
        digital.elastic_transform,
        _elastic((0, 0, 0.08), (0.05, 0.2, 0.07), (0.08, 0.06, 0.06), (0.1, 0.04, 0.05), (0.1, 0.03, 0.03)),
        True,
    ),
    Corruption("pixelate", digital.pixelate, _each(0.95, 0.9, 0.85, 0.75, 0.65), False),
    Corruption("jpeg_compression", jpeg.jpeg_compression, _each(80, 65, 58, 50, 40), False),
    Corruption("speckle_noise", noise.speckle_noise, _each(0.06, 0.1, 0.12, 0.16, 0.2), True),
    Corruption("gaussian_blur", blur.gaussian_blur, _each(0.4, 0.6, 0.7, 0.8, 1), False),
    Corruption(
        "spatter",
        spatter.spatter,
        (
            (0.62, 0.1, 0.7, 0.7, 0.5, False),
            (0.65, 0.1, 0.8, 0.7, 0.5, False),
            (0.65, 0.3, 1, 0.69, 0.5, False),
            (0.65, 0.1, 0.7, 0.69, 0.6, True),
            (0.65, 0.1, 0.5, 0.68, 0.6, True),
        ),
        True,
    ),
    Corruption("saturate", digital.saturate, ((0.3, 0), (0.1, 0), (1.5, 0), (2, 0.1), (2.5, 0.2)), False),
    Corruption(
        "frost_generated",
        weather.frost_generated,
        ((1, 0.2), (1, 0.3), (0.9, 0.4), (0.85, 0.4), (0.75, 0.45)),
        True,
        published=False,
    ),
)
CORRUPTIONS = {corruption.name: corruption for corruption in _ALL}


@torch.no_grad()
def corrupt(images: Tensor, name: str, severity: int, *, index: Tensor | None = None, seed: int = SEED) -> Tensor:
    """Corrupt byte images, (N, 3, 32, 32), on their device; the result is bytes too, rounded down as published.

    Args:
        images: Images of CIFAR's size, uint8.
        name: One of CORRUPTIONS.
        severity: 1 to 5.
        index: The images' places in their data set (0, 1, 2, ... by default); what is random depends on these.
        seed: Draws other random numbers.
    """
    if not isinstance(name, str) or name not in CORRUPTIONS:
        near = did_you_mean(name, CORRUPTIONS)
        raise InputError(f"corruption is {name!r}{near}; expected one of {', '.join(CORRUPTIONS)}")
    if not (is_whole(severity) and 1 <= severity <= SEVERITIES):
        raise InputError(f"severity is {severity!r}; expected 1 to {SEVERITIES}")
    if not isinstance(images, Tensor) or images.dtype != torch.uint8 or tuple(images.shape[1:]) != SIZE:
        found = (
            f"{images.dtype} of shape {tuple(images.shape)}" if isinstance(images, Tensor) else type(images).__name__
        )
        raise InputError(f"images are {found}; expected uint8 (N, {', '.join(map(str, SIZE))})")
    places = torch.arange(len(images)) if index is None else index
    require_index(places, len(images))
    require_seed(seed)
    chosen = CORRUPTIONS[name]
    draws = Draws(places.to(images.device), name, seed)
    made = chosen.make(divided(images.double(), BYTE), *chosen.severities[severity - 1], draws)
    return (made.clamp(0, 1) * BYTE).to(torch.uint8)
