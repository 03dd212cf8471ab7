"""Networks through the kernels: the training step, predictions, and a classifier with gradients to the images."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from zerosnet.kernels.cuda import CudaKernels
from zerosnet.kernels.interface import Kernels
from zerosnet.kernels.native import NativeNetwork
from zerosnet.kernels.prepared import PreparedNetwork
from zerosnet.kernels.streams import NativeStreams
from zerosnet.models import Network, StreamStack


def native_network(
    network: Network,
    batch: int,
    device: torch.device,
    *,
    weights: bool = True,
    gradients: Sequence[Tensor] | None = None,
) -> PreparedNetwork:
    def kernels(channels: int, width: int) -> CudaKernels:
        return CudaKernels(channels, width, network.replicas, batch, device)

    return prepared(network, kernels, weights=weights, gradients=gradients)


def prepared(network: Network, kernels: Callable[[int, int], Kernels], **options: Any) -> PreparedNetwork:
    """Prepare a network of one stream or of several for its kernels; options are those of `PreparedNetwork`."""
    kind = NativeStreams if isinstance(network.stack, StreamStack) else NativeNetwork
    return kind(network, kernels, **options)


class NativeStep:
    """Images (B, K C, 32, 32) and labels (K, B) to losses (K,), correct answers (K,) and gradients.

    The network's gradients are written into `gradients`, such as an optimiser's buffer; None: into tensors of its own.
    """

    def __init__(
        self,
        network: Network,
        *,
        batch: int,
        label_smoothing: float = 0.0,
        gradients: Sequence[Tensor] | None = None,
    ) -> None:
        self.label_smoothing = label_smoothing
        self.native = native_network(network, batch, next(network.parameters()).device, gradients=gradients)
        self.gradients = list(self.native.gradients.values())

    def __call__(self, images: Tensor, labels: Tensor) -> tuple[Tensor, Tensor, Sequence[Tensor]]:
        def objective(logits: Tensor) -> Tensor:
            flat, truth = logits.flatten(0, 1), labels.flatten()
            losses = F.cross_entropy(flat, truth, reduction="none", label_smoothing=self.label_smoothing)
            return losses.view(labels.shape).mean(1)

        self.native.refresh(training=True)
        tape = self.native.forward(images, training=True)
        losses, logits = self.native.head.losses(tape, objective)
        self.native.backward(tape)
        correct = (logits.argmax(-1) == labels).sum(1)
        return losses, correct, self.gradients


class NativePredictor:
    """The network in evaluation mode, as it was at the last `refresh`.

    Takes images (B, K C, 32, 32), or (B, C, 32, 32) for all replicas, and returns logits (K, B, classes).
    """

    shares_images = True

    def __init__(self, network: Network, *, batch: int) -> None:
        self.replicas = network.replicas
        self.native = native_network(network, batch, next(network.parameters()).device, weights=False)
        self.refresh()

    def refresh(self) -> None:
        self.native.refresh(training=False)

    @torch.no_grad()
    def __call__(self, images: Tensor) -> Tensor:
        return self.native.head.logits(self.native.forward(images, training=False, record=False))


class NativeClassifier(nn.Module):
    """Images (B, K C, 32, 32) to logits, as the network's own forward in evaluation mode; differentiable in the images.

    It uses the parameters as they are when it is called: the network may be in training. It has no gradients with
    respect to parameters. `make` builds the native network of a batch size.
    """

    def __init__(self, network: Network, make: Callable[[int], PreparedNetwork] | None = None) -> None:
        super().__init__()
        self.network, self.replicas = network, network.replicas
        self._make = make or self._on_device
        self._by_batch: dict[int, PreparedNetwork] = {}

    def forward(self, images: Tensor) -> Tensor:
        batch = len(images)
        if batch not in self._by_batch:
            self._by_batch[batch] = self._make(batch)
        logits: Tensor = _Logits.apply(images, self._by_batch[batch])
        return logits.squeeze(1) if self.replicas == 1 else logits

    def _on_device(self, batch: int) -> PreparedNetwork:
        device = next(self.network.parameters()).device
        return native_network(self.network, batch, device, weights=False)


class _Logits(torch.autograd.Function):
    """Logits (B, K, classes), with the backward kernels as their derivative."""

    @staticmethod
    def forward(ctx: Any, images: Tensor, native: PreparedNetwork) -> Tensor:
        native.refresh(training=False)
        tape = native.forward(images, training=False, record=ctx.needs_input_grad[0])
        ctx.tape, ctx.native = tape, native
        return native.head.logits(tape).transpose(0, 1)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        native, tape = ctx.native, ctx.tape
        native.head.from_logits(tape, gradients[0].transpose(0, 1).contiguous())
        gradient = native.image_gradient(native.backward(tape))
        ctx.tape = None
        return gradient, None
