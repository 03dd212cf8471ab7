"""The interfaces of training: what the loop knows of networks in training, and those of a step and of predictions.

`fused.trainer.FusedTrainer` trains several networks as one on images in memory; `streamed.trainer.StreamedTrainer`
trains one network on images that are decoded while they are used, in one process or several.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor

from zerosnet.data import DataSet, FolderData
from zerosnet.models import Network
from zerosnet.training.machine import World
from zerosnet.training.runs.spec import RunSpec


@dataclass(frozen=True)
class Score:
    """The mean loss and accuracy (a fraction) of a network on a set, and that of its best five answers if asked for."""

    loss: float
    accuracy: float
    top5_accuracy: float | None = None


class StepResult(NamedTuple):
    """The outcome of one batch for each of K replicas."""

    losses: Tensor  # (K,), mean over the batch
    correct: Tensor  # (K,), int64
    gradients: Sequence[Tensor]  # shaped like the parameters, in their order; the next step may write over them


class GradientStep(Protocol):
    """A function that computes one step of K replicas; it changes only running statistics and its own gradients.

    It never waits for the host and allocates nothing that outlives it, so that it can be captured.
    """

    def __call__(self, images: Tensor, labels: Tensor) -> tuple[Tensor, Tensor, Sequence[Tensor]]:
        """Compute the step for images (B, K*C, H, W) and labels (K, B); return what `StepResult` names."""
        ...


class Predict(Protocol):
    """The network in evaluation mode: images (B, K*C, H, W) to logits (K, B, classes).

    If it `shares_images` it also takes (B, C, H, W), the same images for all replicas.
    """

    replicas: int
    shares_images: bool

    def refresh(self) -> None:
        """Take in what the parameters are now, before a pass over many batches."""

    def __call__(self, images: Tensor) -> Tensor: ...


class ScoringPass(Protocol):
    """A pass over a set of images in evaluation mode; it gives one score per replica."""

    def run(self) -> None: ...

    def scores(self) -> list[Score]: ...


class Trainer(Protocol):
    """Networks that share a step: all that a step reads or writes, and the step itself.

    The tensors of `tensors()` stack the replicas along dim 0. Together with a position they are the whole state, since
    everything random is a function of seed and position.

    Attributes:
        world: The processes that train together. All of them call the same methods in the same order.
        steps: Steps per epoch.
        lived: How many steps each replica has made with finite losses.
        facts: What `environment.json` records about this training.
        why_not_native: Why plain torch computes the step; empty if our own kernels do.
    """

    world: World
    device: torch.device
    model: Network
    steps: int
    lived: Tensor
    facts: dict[str, Any]
    why_not_native: str

    @property
    def specs(self) -> Sequence[RunSpec]:
        """The runs, one per replica."""
        ...

    @property
    def data(self) -> DataSet | FolderData:
        """The images, of which some are to be learnt from and some to be tested on."""
        ...

    @property
    def tests(self) -> Mapping[str, ScoringPass]:
        """The sets of images that are scored after every epoch, by name."""
        ...

    def begin_epoch(self, epoch: int, step: int) -> None:
        """Prepare an epoch from a step on; one that is taken up in the middle keeps the sums it has."""

    def step(self) -> object:
        """Learn from one batch; the device may still be at work afterwards."""

    def settle(self) -> None:
        """Bring together what the processes hold apart, before `tensors()` is read."""

    def diverged(self) -> list[bool]:
        """Find which replicas have a loss or a parameter that is not finite; they are frozen from then on."""
        ...

    def train_scores(self) -> list[Score]:
        """Score the epoch so far, as the steps saw it."""
        ...

    def watch_training_set(self) -> None:
        """Have the training images scored after every epoch, too, in evaluation mode."""

    def final_train_scores(self) -> list[Score]:
        """Score the training images as they are, in evaluation mode."""
        ...

    def trained_coefficients(self) -> list[dict[str, Any]] | None:
        """Describe the trained coefficients per replica, for the record of an epoch; None if they are fixed."""
        ...

    def counted(self) -> dict[str, Any]:
        """Count what a result has to mention, such as files that were skipped."""
        ...

    def tensors(self) -> dict[str, Tensor]:
        """Name all tensors that a checkpoint holds."""
        ...

    def load(self, tensors: Mapping[str, Tensor] | None) -> None:
        """Take up a state, in place, in all processes; a process that does not write gives None."""

    def close(self) -> None:
        """Let threads and worker processes go."""
