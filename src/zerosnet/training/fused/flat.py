"""All parameters of a network in one piece of memory, so that an update is one kernel whatever the number of layers."""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn

ALIGNMENT = 64  # elements; convolutions and vector loads want every tensor to start on a boundary


class Flat:
    """Parameters, which stack their replicas along dim 0, moved into one buffer; each stays a view of its part.

    Memory order is kept (channels_last weights too): dim 0 is the outermost one in both layouts, so the part of one
    replica is contiguous. `slot` says of every element which group and which replica it belongs to:

        slot = group * replicas + replica
    """

    def __init__(self, parameters: Mapping[str, nn.Parameter], groups: Mapping[str, int], replicas: int) -> None:
        self.names = list(parameters)
        self.groups = [groups[name] for name in self.names]
        self.replicas = replicas
        self._layout: list[tuple[int, torch.Size, tuple[int, ...]]] = []
        size = 0
        for parameter in parameters.values():
            self._layout.append((size, parameter.shape, parameter.stride()))
            size += -(-parameter.numel() // ALIGNMENT) * ALIGNMENT
        first = next(iter(parameters.values()))
        self.values = torch.zeros(size, dtype=first.dtype, device=first.device)
        slots = torch.zeros(size, dtype=torch.int32)
        for parameter, view, (start, _, _), group in zip(
            parameters.values(), self.views(self.values), self._layout, self.groups
        ):
            view.copy_(parameter.detach())
            parameter.data = view
            part = slots[start : start + parameter.numel()].view(replicas, -1)
            part.copy_(torch.arange(replicas, dtype=torch.int32)[:, None] + group * replicas)
        self.slots = slots.to(first.device)

    def empty(self) -> Tensor:
        """A buffer of zeros of the same layout: momentum, gradients, ..."""
        return torch.zeros_like(self.values)

    def views(self, buffer: Tensor) -> list[Tensor]:
        """The buffer seen as tensors of the parameters' shapes."""
        return [buffer.as_strided(shape, stride, start) for start, shape, stride in self._layout]

    def rows(self, buffer: Tensor) -> list[Tensor]:
        """The buffer seen as one matrix a parameter, a row a replica."""
        return [buffer[start : start + shape.numel()].view(self.replicas, -1) for start, shape, _ in self._layout]

    def fill(self, buffer: Tensor, tensors: Sequence[Tensor]) -> None:
        """Write tensors of the parameters' shapes into a buffer; on a GPU one kernel for all of a type."""
        pieces = zip(self._layout, tensors)
        pairs = [(buffer[at : at + shape.numel()], _in_order(t, stride)) for (at, shape, stride), t in pieces]
        for dtype in dict.fromkeys(source.dtype for _, source in pairs):
            chosen = [pair for pair in pairs if pair[1].dtype == dtype]
            torch._foreach_copy_([target for target, _ in chosen], [source for _, source in chosen])

    def rows_of(self, tensors: Sequence[Tensor]) -> list[Tensor]:
        """Tensors of the parameters' shapes as matrices in the buffer's memory order, a row a replica."""
        return [
            _in_order(tensor, stride).view(self.replicas, -1) for tensor, (_, _, stride) in zip(tensors, self._layout)
        ]


def _in_order(tensor: Tensor, stride: tuple[int, ...]) -> Tensor:
    """The elements of a tensor as a vector, in the order of memory that `stride` describes."""
    if any(n > 1 and own != other for n, own, other in zip(tensor.shape, tensor.stride(), stride)):
        tensor = torch.empty_strided(tensor.shape, stride, dtype=tensor.dtype, device=tensor.device).copy_(tensor)
    return tensor.as_strided((tensor.numel(),), (1,))
