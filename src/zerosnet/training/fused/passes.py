"""Passes over a set of images on the device, for K replicas: batches to learn from, and scores in evaluation mode."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from zerosnet.data import Augmentation, EpochPlan, ImageSet, epoch_plan, gather, image_weight, stack
from zerosnet.training.fused.cuda_graph import captured, compile_static


class Feed:
    """The batches of an epoch, made without the host: a counter on the device picks the step's row of the epoch's plan.

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


# images of 32 x 32; does not depend on the number of replicas: results are the same to the bit alone or fused
CPU_BATCH = 256
CUDA_IMAGES = 2_500  # such images, times replicas, fill a large GPU in one forward pass, in little memory
LEAST = 100  # images per replica, however many replicas there are


@dataclass(frozen=True)
class Score:
    """The mean loss and accuracy (a fraction) of a network on a set, and that of its best five answers if asked for."""

    loss: float
    accuracy: float
    top5_accuracy: float | None = None


class Predict(Protocol):
    """The network in evaluation mode: images (B, K*C, H, W) to logits (K, B, classes).

    If it `shares_images` it also takes (B, C, H, W), the same images for all replicas.
    """

    replicas: int
    shares_images: bool

    def refresh(self) -> None:
        """Take in what the parameters are now, before a pass over many batches."""

    def __call__(self, images: Tensor) -> Tensor: ...


class Predictor:
    """The network in evaluation mode as a function of images: (B, K*C, H, W) or (B, C, H, W) to (K, B, classes)."""

    shares_images = True

    def __init__(self, model: nn.Module, *, replicas: int, compiled: bool) -> None:
        self.model, self.replicas = model, replicas

        def forward(images: Tensor) -> Tensor:
            return per_replica(model(images), replicas)

        self._forward: Callable[[Tensor], Tensor] = compile_static(forward) if compiled else forward

    def refresh(self) -> None:
        """Do nothing: the network itself is used."""

    def __call__(self, images: Tensor) -> Tensor:
        if self.model.training:
            self.model.eval()
        with torch.no_grad():
            return self._forward(images)


class Evaluation:
    """A set of images and the sums over it; every replica sees the same images.

    Batches have one fixed shape: the last one is filled up with images that do not count. `batch` None: a size that
    suits the device and the number of replicas.
    """

    def __init__(
        self,
        predict: Predict,
        images: ImageSet,
        statistics: tuple[Tensor, Tensor],
        *,
        batch: int | None = None,
        channels_last: bool = False,
        dtype: torch.dtype = torch.float32,
        gather: Callable[..., Tensor] = gather,
        pool: Any = None,
        capture: bool = True,
    ) -> None:
        self.predict, self.images, self.statistics = predict, images, statistics
        self.options: dict[str, Any] = {"channels_last": channels_last, "dtype": dtype}
        device, replicas = images.labels.device, predict.replicas
        self.batch = batch or batch_size(images, replicas, device)
        self.passes = -(-len(images) // self.batch)
        self.start = torch.zeros(1, dtype=torch.int64, device=device)
        self.offsets = torch.arange(self.batch, device=device)
        self.losses = torch.zeros(replicas, dtype=torch.float64, device=device)
        self.correct = torch.zeros(replicas, dtype=torch.int64, device=device)
        self._gather = gather
        state = (self.start, self.losses, self.correct)
        self._pass = captured(self._one_batch, state, device, pool) if capture else self._one_batch

    def run(self) -> None:
        """Start the pass over the set; on CUDA this returns before the device is done."""
        for tensor in (self.start, self.losses, self.correct):
            tensor.zero_()
        self.predict.refresh()
        for _ in range(self.passes):
            self._pass()

    def scores(self) -> list[Score]:
        """Return one score per replica, of the last pass; waits for the device."""
        n = len(self.images)
        return [Score(loss / n, hits / n) for loss, hits in zip(self.losses.tolist(), self.correct.tolist())]

    def _one_batch(self) -> None:
        index = self.start + self.offsets
        counts = index < len(self.images)
        index = index.clamp(max=len(self.images) - 1)
        copies = index.expand(1 if self.predict.shares_images else self.predict.replicas, -1)
        pixels = self._gather(self.images.images, copies, None, None, None, *self.statistics, **self.options)
        labels = self.images.labels[index].expand(self.predict.replicas, -1)
        logits = self.predict(pixels)
        losses = sample_losses(logits, labels).double()
        self.losses += torch.where(counts, losses, 0).sum(1)
        self.correct += ((logits.argmax(-1) == labels) & counts).sum(1)
        self.start += self.batch


def batch_size(images: ImageSet, replicas: int, device: torch.device, least: int = LEAST) -> int:
    """Choose how many images to take at a time, such that they fill the device and the batches evenly.

    `least` is the smallest batch on a GPU, however many replicas there are.
    """
    most = max(CUDA_IMAGES // replicas, least) if device.type == "cuda" else CPU_BATCH
    passes = -(-len(images) // max(1, most // image_weight(images.images)))
    return -(-len(images) // passes)


def evaluate(
    model: nn.Module,
    images: ImageSet,
    statistics: tuple[tuple[float, ...], tuple[float, ...]],
    *,
    replicas: int = 1,
) -> list[Score]:
    """Score a network, or the replicas of a fused one, on a set; nothing is compiled or captured."""
    device, dtype = next((p.device, p.dtype) for p in model.parameters())
    mean, std = (torch.tensor(values, dtype=dtype, device=device) for values in statistics)
    was_training = model.training
    evaluation = Evaluation(
        Predictor(model, replicas=replicas, compiled=False),
        images.to(device),
        (mean, std),
        dtype=dtype,
        channels_last=device.type == "cuda",
        capture=False,
    )
    evaluation.run()
    model.train(was_training)
    return evaluation.scores()


def per_replica(logits: Tensor, replicas: int) -> Tensor:
    """Reshape logits (B, classes) of one network or (B, K, classes) of K to (K, B, classes)."""
    return logits.view(len(logits), replicas, -1).transpose(0, 1)


def sample_losses(logits: Tensor, labels: Tensor, label_smoothing: float = 0.0) -> Tensor:
    """Compute cross entropies (K, B) of logits (K, B, classes) and labels (K, B), in at least float32."""
    replicas, batch, classes = logits.shape
    flat = logits.contiguous().view(-1, classes)
    flat = flat if flat.dtype == torch.float64 else flat.float()
    losses = F.cross_entropy(flat, labels.reshape(-1), reduction="none", label_smoothing=label_smoothing)
    return losses.view(replicas, batch)


def scores(logits: Tensor, labels: Tensor, label_smoothing: float = 0.0) -> tuple[Tensor, Tensor]:
    """Compute the mean loss (K,) and the number of correct answers (K,) of logits (K, B, classes)."""
    correct = (logits.argmax(-1) == labels).sum(1)
    return sample_losses(logits, labels, label_smoothing).mean(1), correct
