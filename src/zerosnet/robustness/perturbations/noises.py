"""The paper's noises: random or constant perturbations of images in [0, 1], clipped back to [0, 1].

All three are one affine family, noise = shift + scale * field, over a field that is drawn once for every image.
The field of an image depends on the seed and on the image's index alone, so that every network, batch size, order and
device sees the same noise, and levels of one kind differ by their size only.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from zerosnet.data import stream
from zerosnet.errors import InputError
from zerosnet.files import is_number
from zerosnet.robustness.classifiers import require_index, require_size, require_unit_images, unit_images

# what is drawn for one image; always on the CPU, because no two devices agree on the last bit of a normal number
FIELDS: dict[str, Callable[[torch.Size, torch.Generator], Tensor]] = {
    "uniform": lambda shape, generator: torch.rand(shape, generator=generator),
    "normal": lambda shape, generator: torch.randn(shape, generator=generator),
    "sign": lambda shape, generator: 2.0 * torch.randint(2, shape, generator=generator) - 1.0,
}
NOISE_SEED = 1


@dataclass(frozen=True)
class Noise:
    """shift + scale * field, with `field` a name in FIELDS, or None for a constant."""

    label: str
    field: str | None
    shift: float
    scale: float

    def to_json(self) -> dict[str, Any]:
        return {"field": self.field, "shift": self.shift, "scale": self.scale}


def uniform(low: float, high: float) -> Noise:
    """Uniform noise on [low, high].

    Examples:
        >>> uniform(-0.08, 0).label
        'uniform [-0.08, 0]'
    """
    if not (is_number(low) and is_number(high) and -1 <= low <= high <= 1):
        raise InputError(f"uniform noise on [{low!r}, {high!r}]; expected -1 <= low <= high <= 1")
    return Noise(f"uniform [{low:g}, {high:g}]", "uniform", low, high - low)


def gaussian(delta: float) -> Noise:
    """Gaussian noise of mean 0 and standard deviation `delta`."""
    if not (is_number(delta) and 0 <= delta <= 1):
        raise InputError(f"Gaussian noise with standard deviation {delta!r}; expected 0 to 1")
    return Noise(f"Gaussian {delta:g}", "normal", 0.0, delta)


def constant(mu: float) -> Noise:
    """The same `mu` added to every pixel, a grey image; constant(0) is no noise."""
    if not (is_number(mu) and -1 <= mu <= 1):
        raise InputError(f"constant noise of {mu!r}; expected -1 to 1")
    return Noise("clean" if mu == 0 else f"constant {mu:g}", None, mu, 0.0)


def random_signs(eps: float) -> Noise:
    """+eps or -eps for every pixel: a random corner of the L-infinity ball, the attack that knows nothing."""
    require_size("eps", eps)
    return Noise(f"random signs {eps:.4g}", "sign", 0.0, eps)


def draw_field(name: str, index: Tensor, shape: torch.Size, seed: int = NOISE_SEED) -> Tensor:
    """Draw the field `name` of the images with these indices, (len(index), *shape), on the CPU."""
    return torch.stack([FIELDS[name](shape, stream(seed, f"{name} noise", i)) for i in index.tolist()])


def add_noise(images: Tensor, noise: Noise, *, index: Tensor | None = None, seed: int = NOISE_SEED) -> Tensor:
    """clip(images + noise, 0, 1) for images that are uint8 or floats of [0, 1].

    `index` holds the images' places in their data set (0, 1, 2, ... by default).
    """
    require_unit_images(images)
    field = None
    if noise.field is not None:
        index = torch.arange(len(images)) if index is None else index
        require_index(index, len(images))
        field = draw_field(noise.field, index, images.shape[1:], seed).to(images.device)
    return shifted(unit_images(images), noise, field)


def shifted(images: Tensor, noise: Noise, field: Tensor | None) -> Tensor:
    """Add noise to floats of [0, 1] whose field has been drawn: levels of one kind share it."""
    return (images + (noise.shift if field is None else noise.shift + noise.scale * field)).clamp(0, 1)


# the levels of the three appendix tables; Gaussian 0 is their clean column
PAPER_NOISES: tuple[Noise, ...] = (
    *(uniform(low, high) for low, high in [(-0.08, 0), (-0.06, 0), (-0.04, 0), (0, 0.04), (0, 0.06), (0, 0.08)]),
    *(gaussian(delta) for delta in [0.01, 0.02, 0.03, 0.035, 0.04]),
    *(constant(mu) for mu in [-0.4, -0.3, -0.2, 0.2, 0.3, 0.4]),
)
