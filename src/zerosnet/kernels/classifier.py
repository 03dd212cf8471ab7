"""A network in evaluation mode through the kernels, as a module: logits, and gradients with respect to the images."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from zerosnet.kernels.native import NativeNetwork
from zerosnet.kernels.training_step import native_network
from zerosnet.models import Network


class NativeClassifier(nn.Module):
    """Images (B, K C, 32, 32) to logits, as the network's own forward in evaluation mode; differentiable in the images.

    It uses the parameters as they are when it is called: the network may be in training. It has no gradients with
    respect to parameters. `make` builds the native network of a batch size.
    """

    def __init__(self, network: Network, make: Callable[[int], NativeNetwork] | None = None) -> None:
        super().__init__()
        self.network, self.replicas = network, network.replicas
        self._make = make or self._on_device
        self._by_batch: dict[int, NativeNetwork] = {}

    def forward(self, images: Tensor) -> Tensor:
        batch = len(images)
        if batch not in self._by_batch:
            self._by_batch[batch] = self._make(batch)
        logits: Tensor = _Logits.apply(images, self._by_batch[batch])
        return logits.squeeze(1) if self.replicas == 1 else logits

    def _on_device(self, batch: int) -> NativeNetwork:
        device = next(self.network.parameters()).device
        return native_network(self.network, batch, device, weights=False)


class _Logits(torch.autograd.Function):
    """Logits (B, K, classes), with the backward kernels as their derivative."""

    @staticmethod
    def forward(ctx: Any, images: Tensor, native: NativeNetwork) -> Tensor:
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
