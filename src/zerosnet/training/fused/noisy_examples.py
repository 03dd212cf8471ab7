"""Noisy images to learn from; like adversarial examples a function of seed, epoch and step, on the device."""

from collections.abc import Sequence

import torch
from torch import Tensor

from zerosnet.robustness import counted_normal


class NoisyExamples:
    """The images of a batch with Gaussian noise, which is not clipped: the noise that smoothing adds is not either.

    Args:
        noise: Standard deviation, for pixels of [0, 1].
        seeds: One seed per replica.
        statistics: Mean and std, (C,), of the images that come in and go out.
        counter: The number of the step in the epoch, (1,), on the device.
    """

    def __init__(
        self, noise: float, *, seeds: Sequence[int], statistics: tuple[Tensor, Tensor], counter: Tensor
    ) -> None:
        self._deviation = noise / statistics[1].view(1, 1, -1, 1, 1)
        self._seeds = torch.tensor(list(seeds), dtype=torch.int64, device=counter.device)
        self._epoch, self._step = torch.zeros_like(counter), counter

    def begin(self, epoch: int) -> None:
        self._epoch.fill_(epoch)

    def __call__(self, images: Tensor, labels: Tensor) -> Tensor:
        batch, channels, height, width = images.shape
        replicas = len(self._seeds)
        shape = (replicas, batch, channels // replicas, height, width)
        position = torch.cat([self._epoch, self._step])
        drawn = counted_normal(self._seeds, position, images.numel() // replicas).view(shape).transpose(0, 1)
        return images + (self._deviation * drawn).reshape(images.shape).to(images.dtype)
