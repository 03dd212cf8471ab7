"""Pool and classifier: from the last state to logits and losses, and back to the gradient of that state."""

from collections.abc import Callable

import torch
from torch import Tensor

from zerosnet.kernels.norm_tables import NormGradient, Slope
from zerosnet.kernels.tape import Tape
from zerosnet.models import Linear


class Head:
    """The head of a network.

    Args:
        fc: The classifier.
        norm: The batch norm before the pool.
        gradients: Places for the gradients of the classifier; None: they are not computed.
    """

    def __init__(self, fc: Linear, norm: NormGradient, gradients: tuple[Tensor, Tensor] | None) -> None:
        self.fc, self.norm, self.gradients = fc, norm, gradients
        self.replicas = fc.replicas

    @torch.no_grad()
    def logits(self, tape: Tape) -> Tensor:
        """Compute the logits (K, B, classes), without gradients."""
        return self._classify(self._pool(tape))

    def losses(self, tape: Tape, objective: Callable[[Tensor], Tensor]) -> tuple[Tensor, Tensor]:
        """Compute losses (K,), an objective of the logits (K, B, classes), and those logits.

        The gradient of the sum of losses is left in the last state, for the way back through the blocks.
        """
        parameters = [self.fc.weight, self.fc.bias] if self.gradients is not None else []
        with torch.enable_grad():
            pooled = self._pool(tape).requires_grad_()
            logits = self._classify(pooled)
            losses = objective(logits)
            gradient, *others = torch.autograd.grad(losses.sum(), [pooled, *parameters])
        for place, other in zip(self.gradients or (), others):
            place.copy_(other)
        self._backward(tape, gradient)
        return losses.detach(), logits.detach()

    def from_logits(self, tape: Tape, gradient: Tensor) -> None:
        """Compute the gradient of the last state, and leave it there, from that of the logits (K, B, classes)."""
        matrix = self.fc.weight.detach().unflatten(0, (self.replicas, -1))
        self._backward(tape, torch.bmm(gradient.to(matrix.dtype), matrix))

    def _pool(self, tape: Tape) -> Tensor:
        return tape.last.kernels.pool(tape.last.state.high, self.norm.norm)

    def _classify(self, pooled: Tensor) -> Tensor:
        matrix, bias = (t.unflatten(0, (self.replicas, -1)) for t in (self.fc.weight, self.fc.bias))
        return torch.baddbmm(bias[:, None], pooled, matrix.transpose(1, 2))

    def _backward(self, tape: Tape, gradient: Tensor) -> None:
        last = tape.last
        dy = last.kernels.pool_backward(gradient, last.state.high, self.norm, tape.training)
        last.gradient = last.kernels.norm_backward(Slope(dy, last.state.high, self.norm.table))
