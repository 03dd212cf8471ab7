"""Batch norm whose statistics are those of all processes' images together."""

from typing import Any

import torch
from torch import Tensor, distributed, nn
from torch.autograd import Function

from zerosnet.models import BatchNorm


class SynchronisedBatchNorm(BatchNorm):
    """Batch norm over the images of all processes, equally many in each; with one process it is plain batch norm.

    torch.nn.SyncBatchNorm is for its own kind of batch norm, and for GPUs only.
    """

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or not distributed.is_initialized():
            return super().forward(x)
        wide = x.to(torch.promote_types(x.dtype, self.weight.dtype))
        size, axes = distributed.get_world_size(), (0, 2, 3)
        mean = _AddUp.apply(wide.mean(axes)) / size
        centred = wide - mean[:, None, None]
        variance = _AddUp.apply(centred.square().mean(axes)) / size
        with torch.no_grad():
            count = size * x.numel() // x.shape[1]
            self.running_mean.lerp_(mean.to(self.running_mean.dtype), self.momentum)
            self.running_var.lerp_((variance * (count / (count - 1))).to(self.running_var.dtype), self.momentum)
        scale = self.weight * torch.rsqrt(variance + self.eps)
        return (centred * scale[:, None, None] + self.bias[:, None, None]).to(x.dtype)


class _AddUp(Function):
    """The sum over all processes. Its gradient is the sum of theirs: each one's result depends on every input."""

    @staticmethod
    def forward(ctx: Any, tensor: Tensor) -> Tensor:
        total = tensor.clone()
        distributed.all_reduce(total)
        return total

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        total = gradient.clone(memory_format=torch.contiguous_format)
        distributed.all_reduce(total)
        return total


def synchronise_batch_norms(module: nn.Module) -> None:
    """Replace every batch norm by a synchronised one with the same parameters and buffers."""
    for name, child in module.named_children():
        if type(child) is BatchNorm:
            twin = SynchronisedBatchNorm(
                child.channels, replicas=child.replicas, momentum=child.momentum, eps=child.eps
            )
            twin.weight, twin.bias = child.weight, child.bias
            twin.running_mean, twin.running_var = child.running_mean, child.running_var
            setattr(module, name, twin)
        else:
            synchronise_batch_norms(child)
