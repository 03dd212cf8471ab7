"""Examples to learn from, made of the images of a batch: adversarial or noisy ones.

Everything is on the device and a function of seed, epoch and step, so that it can be recorded in a CUDA graph, goes on
after an interruption as if there had been none, and is the same for a replica alone and among others.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from zerosnet.errors import InputError
from zerosnet.robustness import Attack, Normalised, climb, counted_normal, counted_uniform, fast, frozen
from zerosnet.training.recipes.adversarial import Adversarial


class AdversarialExamples:
    """L-infinity examples of the images, made on the network in training or on a frozen surrogate, in evaluation mode.

    Args:
        settings: The attack.
        source: A network that takes images of [0, 1]: the one in training, or the surrogate.
        seeds: One seed per replica.
        statistics: Mean and std, (C,), of the images that come in and go out.
        counter: The number of the step in the epoch, (1,), on the device.
        compiled: Use the fastest form of the source.
        native: That form may be our own kernels.
    """

    def __init__(
        self,
        settings: Adversarial,
        source: Normalised,
        *,
        seeds: Sequence[int],
        statistics: tuple[Tensor, Tensor],
        counter: Tensor,
        compiled: bool = False,
        native: bool = True,
    ) -> None:
        self.attack = Attack(
            settings.eps,
            settings.step,
            settings.steps,
            random_start=settings.random_start,
            projection=settings.project,
        )
        self.source, self.replicas, self.native = source, len(seeds), native
        self._classify: nn.Module | None = None if compiled else source  # made when the size of the images is known
        self._mean, self._std = (values.view(1, 1, -1, 1, 1) for values in statistics)
        self._seeds = torch.tensor(list(seeds), dtype=torch.int64, device=counter.device)
        self._epoch, self._step = torch.zeros_like(counter), counter
        # a surrogate is one network; replicas with the same seed have the same images, and so the same examples
        self._shared = source.replicas != self.replicas
        distinct, places = torch.unique(self._seeds, return_inverse=True)
        self._first = (places == torch.arange(len(distinct), device=places.device)[:, None]).int().argmax(1)
        self._place = places

    def begin(self, epoch: int) -> None:
        """Begin an epoch."""
        self._epoch.fill_(epoch)

    def __call__(self, images: Tensor, labels: Tensor) -> Tensor:
        """Turn images (B, K*C, H, W) and labels (K, B) into the images to learn from."""
        batch, _, height, width = images.shape
        apart, seeds = images.reshape(batch, self.replicas, -1, height, width), self._seeds
        shape = images.shape
        if self._shared:  # it sees the images of all seeds one after the other
            apart, labels, seeds = apart[:, self._first], labels[self._first], seeds[self._first]
            shape = torch.Size((batch * len(seeds), *apart.shape[2:]))
        pixels = (apart * self._std + self._mean).clamp(0, 1).reshape(shape)
        targets = labels.t().reshape(len(pixels), -1)
        start = self._starts(seeds, apart).reshape(shape) if self.attack.random_start else None
        if self._classify is None:
            self._classify = fast(self.source, (height, width), native=self.native)
        with frozen(self.source):
            found = climb(self._classify, pixels, targets, self.attack, start)
        examples = (found.reshape(apart.shape) - self._mean) / self._std
        return (examples[:, self._place] if self._shared else examples).reshape(images.shape)

    def _starts(self, seeds: Tensor, apart: Tensor) -> Tensor:
        """Draw numbers of [-1, 1] per pixel, (B, K, C, H, W), for every k by its own seed."""
        position = torch.cat([self._epoch, self._step])
        drawn = counted_uniform(seeds, position, apart[:, 0].numel())
        by_image = drawn.view(len(seeds), len(apart), *apart.shape[2:]).transpose(0, 1)
        return (2 * by_image - 1).to(apart.dtype)


def make_examples(
    settings: Adversarial,
    model: nn.Module,
    surrogate: Normalised | None,
    *,
    seeds: Sequence[int],
    statistics: tuple[Tensor, Tensor],
    counter: Tensor,
    compiled: bool,
    native: bool,
) -> AdversarialExamples:
    """Make the examples that a recipe asks for; `model` is in training, and its images have `statistics`."""
    if settings.kind == "surrogate":
        if surrogate is None:
            raise InputError("the recipe makes its adversarial examples on a surrogate, and there is none")
        source = surrogate
    else:
        source = Normalised(model, *(values.tolist() for values in statistics))
    return AdversarialExamples(
        settings, source, seeds=seeds, statistics=statistics, counter=counter, compiled=compiled, native=native
    )


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
