"""The plain model of the kernels with the CUDA kernels' rounding: activations in bf16, sums and tables in float32."""

import torch
from tests.kernels.reference import (
    ReferenceKernels,
    activate,
    fill_gradient_table,
    fill_table,
    norm_backward,
    per_replica,
    replica_major,
)
from torch import Tensor
from torch.nn import functional as F

from zerosnet.kernels.interface import (
    BackwardInner,
    BackwardOuter,
    ConvStep,
    Norm,
    NormGradient,
    Slope,
    StateGradient,
)
from zerosnet.kernels.patches import planes


class RoundedKernels(ReferenceKernels):
    """Every result is rounded once, to bf16; the low part of a state is a float, which keeps more than 24 bits."""

    def __init__(self, channels: int, width: int, replicas: int, batch: int, device: torch.device) -> None:
        super().__init__(channels, width, replicas, batch, device, torch.bfloat16)

    def low(self) -> Tensor:
        return torch.empty(self.activation().shape, device=self.device)

    def table(self) -> Tensor:
        return torch.empty(self.replicas, 4, self.channels, device=self.device)

    def conv_step(self, call: ConvStep) -> None:
        y = per_replica(call.coefficients[:, 4]) * self._convolve(activate(call.x, call.norm), call.weights.forward)
        for i, state in enumerate(call.history):
            y = y + per_replica(call.coefficients[:, i]) * (state.high.float() + state.low)
        call.out.high.copy_(y)
        call.out.low.copy_(y - call.out.high.float())
        if call.training:
            fill_table(call.following, call.out.high)

    def state_gradient(self, call: StateGradient) -> Tensor | None:
        super().state_gradient(call._replace(dots_with=None))
        if call.dots_with is None:
            return None
        dots = [(call.dots_with.float() * term.float()).sum((1, 2, 3, 4)) for term in call.terms]
        return torch.stack([*dots, *[call.weights.new_zeros(self.replicas)] * (4 - len(dots))], 1)

    def norm_backward(self, slope: Slope) -> Tensor:
        return norm_backward(slope).bfloat16()

    def pool(self, x: Tensor, norm: Tensor) -> Tensor:
        return activate(x.float(), norm).mean((2, 3))

    def stem(self, images: Tensor, weight: Tensor, following: Norm, training: bool) -> Tensor:
        images = images if images.shape[1] > weight.shape[1] else images.repeat(1, self.replicas, 1, 1)
        result = F.conv2d(rounded(images), rounded(weight), padding=1, groups=self.replicas)
        out = replica_major(result, self.replicas).bfloat16().contiguous()
        if training:
            fill_table(following, out)
        return out

    def stem_weight_gradient(self, images: Tensor, gradient: Tensor) -> Tensor:
        return super().stem_weight_gradient(rounded(images), gradient.float())

    def _masked(self, gradient: Tensor, x: Tensor, norm: NormGradient, training: bool) -> Tensor:
        return super()._masked(gradient.bfloat16(), x, norm, training)

    def _convolve(self, x: Tensor, weight: Tensor) -> Tensor:
        result = F.conv2d(planes(x).float(), rounded(weight), padding=1, groups=self.replicas)
        return replica_major(result, self.replicas)

    def _backward(self, gradient: Tensor, call: BackwardInner | BackwardOuter) -> None:
        activated = planes(activate(call.x, call.norm.norm)).float().requires_grad_()
        weight = rounded(call.weights.backward).requires_grad_()
        with torch.enable_grad():
            result = F.conv2d(activated, weight, padding=1, groups=self.replicas)
        da, dw = torch.autograd.grad(result, (activated, weight), rounded(planes(gradient)))
        call.out.copy_(replica_major(torch.where(activated > 0, da, 0), self.replicas))
        if call.weight_gradient is not None:
            call.weight_gradient.copy_(dw)
        fill_gradient_table(call.norm, call.out, call.x, call.training)


def rounded(x: Tensor) -> Tensor:
    """Round to bf16, in float32."""
    return x.detach().bfloat16().float()
