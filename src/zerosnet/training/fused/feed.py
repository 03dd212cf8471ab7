"""Batches for K replicas without the host: images, the plan of an epoch and a step counter on the device."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import torch
from torch import Tensor

from zerosnet.data import Augmentation, EpochPlan, ImageSet, epoch_plan, gather, stack


class Feed:
    """The batches of an epoch: a counter on the device picks the step's row of the epoch's plan.

    The tables of an epoch are copied over those of the last one, in place, so that a captured step finds them where it
    was recorded. While the device works on an epoch a thread draws the next one.

    `rates(epoch)` gives the learning rates of an epoch, (steps, K). `gather` makes a batch, as `zerosnet.data.gather`.
    """

    def __init__(
        self,
        images: ImageSet,
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
