"""The training step through the kernels, with the interface of the engine's plain step."""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

from zerosnet.kernels.cuda import CudaKernels
from zerosnet.kernels.native import NativeNetwork
from zerosnet.models import Network


def native_network(
    network: Network,
    batch: int,
    device: torch.device,
    *,
    weights: bool = True,
    gradients: Sequence[Tensor] | None = None,
) -> NativeNetwork:
    def kernels(channels: int, width: int) -> CudaKernels:
        return CudaKernels(channels, width, network.replicas, batch, device)

    return NativeNetwork(network, kernels, weights=weights, gradients=gradients)


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
    """The network in evaluation mode, as it was at the last `refresh`: (B, K C, 32, 32) to (K, B, classes)."""

    shares_images = False  # every replica reads images of its own

    def __init__(self, network: Network, *, batch: int) -> None:
        self.replicas = network.replicas
        self.native = native_network(network, batch, next(network.parameters()).device, weights=False)
        self.refresh()

    def refresh(self) -> None:
        self.native.refresh(training=False)

    @torch.no_grad()
    def __call__(self, images: Tensor) -> Tensor:
        return self.native.head.logits(self.native.forward(images, training=False, record=False))
