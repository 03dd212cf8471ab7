"""Weights of convolutions made ready for a step in half precision, all at once."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor

from zerosnet.models import Conv, Network, per_channel
from zerosnet.training.fused.optimizer import Optimizer


class ReadyWeights:
    """Half-precision copies of all convolution weights, refreshed in one kernel, and the way back for their gradients.

    A convolution in half precision on float32 parameters computes with ready = half(scale * w), and hands back
    dL/dw = scale * float32(dL/dready). Convolution by convolution that is two kernels of a microsecond each, a
    twentieth of the step of a single network.
    """

    def __init__(self, network: Network, optimizer: Optimizer) -> None:
        assert optimizer.gradients is not None
        self.flat, self.flat_gradients = optimizer.flat, optimizer.flat_gradients
        self.gradients = optimizer.gradients
        values, parameters = self.flat.values, dict(network.named_parameters())
        self.buffer, self.scales = torch.zeros_like(values, dtype=network.conv_dtype), torch.ones_like(values)
        places = {id(parameters[name]): place for place, name in enumerate(self.flat.names)}
        for conv, scale in network.stack.scaled_convolutions(values):
            self.flat.views(self.scales)[places[id(conv.weight)]].mul_(per_channel(scale, conv.channels, 3))
        ready = self.flat.views(self.buffer)
        self.leaves: list[Tensor] = [parameters[name] for name in self.flat.names]
        """The tensors to differentiate with respect to, in the order of the parameters."""
        self.convolutions: dict[int, Conv] = {}
        for conv in (module for module in network.modules() if isinstance(module, Conv)):
            place = places[id(conv.weight)]
            self.convolutions[place], self.leaves[place] = conv, ready[place].detach().requires_grad_()

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Refresh the copies, and let the convolutions use them instead of their own weights for a while."""
        with torch.no_grad():
            torch.mul(self.flat.values, self.scales, out=self.buffer)
        try:
            for place, conv in self.convolutions.items():
                conv.ready = self.leaves[place]
            yield
        finally:
            for conv in self.convolutions.values():
                conv.ready = None

    @torch.no_grad()
    def take_back(self, gradients: Sequence[Tensor]) -> Sequence[Tensor]:
        """Turn the gradients of the leaves into those of the parameters, in the optimizer's buffer."""
        self.flat.fill(self.flat_gradients, gradients)
        self.flat_gradients.mul_(self.scales)
        return self.gradients
