"""The plan of an epoch (order, crops and flips of the images), and the batches that are cut out by it on the device.

Randomness has no state: every random number of a training is a pure function of (seed, purpose, position). There is no
generator to save, move between devices or restore: epoch 17 of seed 3 is shuffled the same way whether the run was
interrupted, moved to another machine, or trained side by side with nine others.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from zerosnet.data.registry import Augmentation
from zerosnet.errors import InputError

if TYPE_CHECKING:
    from zerosnet.data.dataset import ImageSet


def stream_seed(seed: int, purpose: str, *position: int) -> int:
    """Compute a 63-bit number that depends on all arguments, equal on all machines.

    Examples:
        >>> stream_seed(1, "shuffle", 0) == stream_seed(1, "shuffle", 0) != stream_seed(1, "flip", 0)
        True
    """
    text = "/".join([str(int(seed)), purpose, *(str(int(p)) for p in position)])
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big") >> 1


def stream(seed: int, purpose: str, *position: int) -> torch.Generator:
    """Make a fresh CPU generator for one purpose at one position, such as ("shuffle", epoch).

    Torch's generator keeps 32 bits of the seed, so among 100,000 streams one pair is expected to coincide, that
    of two unrelated runs or epochs, which harms nothing.
    """
    return torch.Generator().manual_seed(stream_seed(seed, purpose, *position))


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
    """Join the plans of K replicas to one, with tensors of shape (steps, K, batch)."""
    steps, batch = plans[0].steps, plans[0].batch
    if any((p.steps, p.batch) != (steps, batch) for p in plans):
        raise InputError("replicas can share a step only if they have the same batch and number of steps")
    parts = zip(*(p._tensors() for p in plans), strict=True)
    order, dy, dx, flip = (_stack([t for t in part if t is not None], len(plans), steps, batch) for part in parts)
    assert order is not None
    return EpochPlan(order, dy, dx, flip, steps, batch)


def _stack(tensors: list[Tensor], replicas: int, steps: int, batch: int) -> Tensor | None:
    if not tensors:
        return None
    if len(tensors) != replicas:
        raise InputError("replicas can share a step only if they have the same augmentation")
    return torch.stack([t.view(steps, batch) for t in tensors], dim=1)


def gather(
    images: Tensor,
    index: Tensor,
    dy: Tensor | None,
    dx: Tensor | None,
    flip: Tensor | None,
    mean: Tensor,
    std: Tensor,
    *,
    channels_last: bool = False,
    dtype: torch.dtype = torch.float32,
) -> Tensor:
    """Make a batch for K replicas, (B, K*C, H, W), from images (N, C, H, W) in uint8 and an index (K, B).

    Pixel (y, x) of an output image is pixel (y + dy, x' + dx) of its source, with x' = W-1-x if flipped, and 0
    outside the source; then (pixel/255 - mean) / std per channel. Padding is black *before* the normalisation, as when
    images are padded and then normalised. `dy`, `dx` and `flip` have the shape of `index`, or are None; `mean` and
    `std` have shape (C,). With `channels_last` the result has that memory format, without a copy.

    Pure tensor operations with no data-dependent Python: they can be captured in a CUDA graph, and torch.compile fuses
    them into one kernel that reads each pixel once. The result is bit-identical to the usual per-image pipeline
    (zero padding, crop, flip, division by 255, normalisation).
    """
    channels, height, width = images.shape[1:]
    replicas, batch = index.shape
    # the five coordinates of an output pixel, each along its own axis of the order in which the result is laid out
    axes = "byxkc" if channels_last else "bkcyx"

    def along(t: Tensor, names: str) -> Tensor:
        sizes = iter(t.shape)
        return t.view([next(sizes) if axis in names else 1 for axis in axes])

    def per_image(t: Tensor) -> Tensor:
        return along(t.t().contiguous(), "bk")

    def axis(name: str, size: int) -> Tensor:
        return along(torch.arange(size, device=images.device), name)

    y, x = axis("y", height), axis("x", width)
    if flip is not None:
        x = torch.where(per_image(flip), width - 1 - x, x)
    inside = None
    if dy is not None and dx is not None:
        y, x = y + per_image(dy), x + per_image(dx)
        inside = (y >= 0) & (y < height) & (x >= 0) & (x < width)
        y, x = y.clamp(0, height - 1), x.clamp(0, width - 1)
    pixels = images[per_image(index), axis("c", channels), y, x]
    if inside is not None:
        pixels = torch.where(inside, pixels, 0)
    result = (pixels.to(dtype) / 255 - along(mean.to(dtype), "c")) / along(std.to(dtype), "c")
    if channels_last:
        return result.reshape(batch, height, width, replicas * channels).permute(0, 3, 1, 2)
    return result.reshape(batch, replicas * channels, height, width)


class Feed:
    """The batches of an epoch, made without the host: a counter on the device picks the step's row of the epoch's plan.

    The tables of an epoch are copied over those of the last one, in place, so that a captured step finds them where it
    was recorded. While the device works on an epoch a thread draws the next one.

    `rates(epoch)` gives the learning rates of an epoch, (steps, K). `gather` makes a batch, as `zerosnet.data.gather`.
    """

    def __init__(
        self,
        images: "ImageSet",
        *,
        seeds: Sequence[int],
        batch: int,
        augmentation: Augmentation,
        statistics: tuple[Tensor, Tensor],
        rates: Callable[[int], Tensor],
        epochs: int,
        channels_last: bool = False,
        dtype: torch.dtype = torch.float32,
        gather: Callable[..., Tensor] = gather,
    ) -> None:
        self.images, self.labels = images.images, images.labels
        self.device = self.labels.device
        self.seeds, self.batch_size, self.augmentation, self.rates = list(seeds), batch, augmentation, rates
        self.steps, self.epochs = len(images) // batch, epochs
        self.mean, self.std = statistics
        self.options: dict[str, Any] = {"channels_last": channels_last, "dtype": dtype}
        self._gather = gather
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="epoch-plan")
        self._next: tuple[int, Future[list[Tensor | None]]] = (0, self._worker.submit(self._tables, 0))
        # read by the step: a counter, and tables with one row per step
        self.counter = torch.zeros(1, dtype=torch.int64, device=self.device)
        self._current = [None if t is None else t.to(self.device) for t in self._next[1].result()]

    def begin(self, epoch: int, step: int = 0) -> None:
        """Lay out an epoch, to be read from a step on, and start drawing the one after it."""
        prepared = self._next[1] if self._next[0] == epoch else self._worker.submit(self._tables, epoch)
        for current, fresh in zip(self._current, prepared.result()):
            if current is not None and fresh is not None:
                current.copy_(fresh, non_blocking=True)
        self.counter.fill_(step)
        if epoch + 1 < self.epochs:
            self._next = (epoch + 1, self._worker.submit(self._tables, epoch + 1))

    def batch(self) -> tuple[Tensor, Tensor, Tensor]:
        """Return images (B, K*C, H, W), labels (K, B) and learning rates (K,) of the step that the counter names."""
        order, dy, dx, flip, rates = (
            None if table is None else table.index_select(0, self.counter)[0] for table in self._current
        )
        assert order is not None and rates is not None
        images = self._gather(self.images, order, dy, dx, flip, self.mean, self.std, **self.options)
        return images, self.labels[order], rates

    def close(self) -> None:
        self._worker.shutdown(wait=False, cancel_futures=True)

    def _tables(self, epoch: int) -> list[Tensor | None]:
        plan = self._plan(epoch)
        tables = [plan.order, plan.dy, plan.dx, plan.flip, self.rates(epoch)]
        pinned = self.device.type == "cuda"
        return [t if t is None or not pinned else t.pin_memory() for t in tables]

    def _plan(self, epoch: int) -> EpochPlan:
        n, batch, augmentation = len(self.labels), self.batch_size, self.augmentation
        return stack([epoch_plan(seed, epoch, n, batch=batch, augmentation=augmentation) for seed in self.seeds])
