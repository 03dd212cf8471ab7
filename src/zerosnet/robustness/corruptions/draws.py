"""What is random in a corruption: numbers that depend on the image's index and on what they are for, and nothing else.

They are hashed from integers on the device (`counted_uniform`), so batch, order and device do not matter. Severities of
one corruption share them: a higher severity is the same corruption, stronger.
"""

import math
from dataclasses import dataclass
from zlib import crc32

import torch
from torch import Tensor

from zerosnet.robustness.perturbations.counter import counted_uniform

SEED = 1


@dataclass(frozen=True, eq=False)
class Draws:
    """Random numbers for a batch of images, one stream for every image and purpose.

    Attributes:
        index: The images' places in their data set, (N,), on the device.
        purpose: What all of these are for, a corruption's name.
    """

    index: Tensor
    purpose: str
    seed: int = SEED

    def uniform(self, what: str, *shape: int) -> Tensor:
        """Draw numbers of (0, 1), (N, *shape), in float64: odd multiples of 2^-25."""
        words = [self.seed, crc32(f"{self.purpose} {what}".encode())]
        position = torch.tensor(words, dtype=torch.int64, device=self.index.device)
        drawn = counted_uniform(self.index.long(), position, math.prod(shape))
        return drawn.double().add_(2.0**-25).view(-1, *shape)

    def between(self, what: str, low: float, high: float, *shape: int) -> Tensor:
        """Draw numbers of (low, high)."""
        return low + (high - low) * self.uniform(what, *shape)

    def normal(self, what: str, *shape: int) -> Tensor:
        """Draw standard normal numbers (Box and Muller, 1958)."""
        radius = self.uniform(f"{what} radius", *shape).log_().mul_(-2).sqrt_()
        return self.uniform(f"{what} angle", *shape).mul_(2 * math.pi).cos_().mul_(radius)
