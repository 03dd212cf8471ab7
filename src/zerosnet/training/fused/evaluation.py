"""Accuracy and loss of all replicas in one pass over a set of images, in evaluation mode, without augmentation."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from zerosnet.data import ImageSet, gather, image_weight
from zerosnet.training.fused.cuda_graph import captured, compile_static
from zerosnet.training.fused.step import per_replica, sample_losses

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
