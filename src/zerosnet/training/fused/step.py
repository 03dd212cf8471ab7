"""The one small interface between the engine and whatever computes gradients.

Parameters and a batch in; losses, correct answers and gradients out. `TorchStep` is the reference, in plain torch;
other implementations take its place without the engine noticing, and are held to it by tests.
"""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import NamedTuple, Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from zerosnet.training.fused.cuda_graph import compile_static
from zerosnet.training.fused.prepacked_weights import ReadyWeights


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


class TorchStep:
    """The reference: autograd through the network, in training mode.

    The losses of the replicas are summed before the backward pass. No parameter of one replica enters the loss of
    another, so the gradient of the sum with respect to a replica's parameters is the gradient of its own mean loss.
    `ready` holds copies of all convolution weights in half precision.
    """

    def __init__(
        self,
        model: nn.Module,
        parameters: Sequence[nn.Parameter],
        *,
        replicas: int,
        label_smoothing: float = 0.0,
        compiled: bool = False,
        ready: ReadyWeights | None = None,
    ) -> None:
        self.model, self.ready = model, ready
        self.parameters = list(parameters)

        def forward(images: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
            return scores(per_replica(model(images), replicas), labels, label_smoothing)

        self._forward: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]] = (
            compile_static(forward) if compiled else forward
        )

    def __call__(self, images: Tensor, labels: Tensor) -> StepResult:
        if not self.model.training:
            self.model.train()
        ready = self.ready
        leaves: Sequence[Tensor] = self.parameters if ready is None else ready.leaves
        with torch.enable_grad(), nullcontext() if ready is None else ready.in_use():
            losses, correct = self._forward(images, labels)
            gradients: Sequence[Tensor] = torch.autograd.grad(losses.sum(), leaves)
        return StepResult(losses.detach(), correct, gradients if ready is None else ready.take_back(gradients))


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
