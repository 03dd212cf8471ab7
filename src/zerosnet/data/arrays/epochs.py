"""The plan of an epoch: the order of the images, their crops and their flips, as arrays."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from zerosnet.data.augmentation import Augmentation
from zerosnet.data.randomness import stream
from zerosnet.errors import InputError


@dataclass(frozen=True, eq=False)
class EpochPlan:
    """The plan of one epoch for one network, or with `stack` for K of them; small tensors on the CPU.

    `order` holds the index of each image in the order of use. `dy` and `dx`, int8 from -crop to crop, shift the crop
    window against the image; None if nothing is cropped. `flip` marks the images that are mirrored; None if none is.
    For one network the tensors are flat, (steps*batch,); stacked they are (steps, K, batch), so that
    ``plan.order[step]`` is the (K, batch) index that `gather` takes.
    """

    order: Tensor
    dy: Tensor | None
    dx: Tensor | None
    flip: Tensor | None
    steps: int
    batch: int

    def to(self, device: torch.device | str) -> "EpochPlan":
        order, dy, dx, flip = (None if t is None else t.to(device, non_blocking=True) for t in self._tensors())
        assert order is not None
        return EpochPlan(order, dy, dx, flip, self.steps, self.batch)

    def _tensors(self) -> tuple[Tensor | None, ...]:
        return self.order, self.dy, self.dx, self.flip


def epoch_plan(seed: int, epoch: int, n: int, *, batch: int, augmentation: Augmentation) -> EpochPlan:
    """Draw epoch `epoch` (counted from 0) of the network with seed `seed` over `n` images.

    A pure function of its arguments. Every image is used at most once per epoch; the n mod batch images that do not
    fill a batch are dropped, other ones in each epoch, as the order is shuffled anew.
    """
    steps = n // batch
    if steps < 1:
        raise InputError(f"batch is {batch}, but there are only {n} training images; expected at most as many")
    if augmentation.area is not None:
        raise InputError(f"augmentation area is {list(augmentation.area)}; it is for images decoded while training")
    count = steps * batch
    order = torch.randperm(n, generator=stream(seed, "shuffle", epoch))[:count]
    dy = dx = flip = None
    if augmentation.crop:
        far = augmentation.crop
        offsets = torch.randint(-far, far + 1, (2, n), generator=stream(seed, "crop", epoch), dtype=torch.int8)
        dy, dx = offsets[0, :count].clone(), offsets[1, :count].clone()
    if augmentation.flip:
        flip = torch.randint(2, (n,), generator=stream(seed, "flip", epoch), dtype=torch.uint8)[:count].bool()
    return EpochPlan(order, dy, dx, flip, steps, batch)


def stack(plans: Sequence[EpochPlan]) -> EpochPlan:
    """The plans of K replicas as one, with tensors of shape (steps, K, batch)."""
    steps, batch = plans[0].steps, plans[0].batch
    if any((p.steps, p.batch) != (steps, batch) for p in plans):
        raise InputError("replicas can share a step only where they have the same batch and number of steps")
    parts = zip(*(p._tensors() for p in plans), strict=True)
    order, dy, dx, flip = (_stack([t for t in part if t is not None], len(plans), steps, batch) for part in parts)
    assert order is not None
    return EpochPlan(order, dy, dx, flip, steps, batch)


def _stack(tensors: list[Tensor], replicas: int, steps: int, batch: int) -> Tensor | None:
    if not tensors:
        return None
    if len(tensors) != replicas:
        raise InputError("replicas can share a step only where they have the same augmentation")
    return torch.stack([t.view(steps, batch) for t in tensors], dim=1)
