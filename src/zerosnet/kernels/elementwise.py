"""Batches out of uint8 images and the optimiser's update, by kernels of our own: nothing waits for torch's compiler."""

from typing import Any, NamedTuple

import torch
from torch import Tensor

from zerosnet.kernels.compile import elementwise_program

THREADS = 256


class FlatBuffers(NamedTuple):
    """The arguments of an update: all parameters of K replicas as one vector, and what belongs to them.

    Attributes:
        state: The optimiser's buffers, shaped as the values.
        rates: Vectors (K,) that the rule makes of the learning rates.
        decays: The decay of every group and replica, (groups, K).
        alive: Replicas that are updated, (K,).
        slots: Group and replica of every value: group * K + replica.
    """

    values: Tensor
    gradients: Tensor
    state: tuple[Tensor, ...]
    rates: tuple[Tensor, ...]
    decays: Tensor
    alive: Tensor
    slots: Tensor


def _launch(name: str, device: torch.device, items: int, arguments: list[Any]) -> None:
    elementwise_program(device.index or 0).launch(name, (-(-items // THREADS), 1), THREADS, 0, arguments)


def native_gather(
    images: Tensor,
    index: Tensor,
    dy: Tensor | None,
    dx: Tensor | None,
    flip: Tensor | None,
    mean: Tensor,
    std: Tensor,
    *,
    channels_last: bool = True,
    dtype: torch.dtype = torch.float32,
) -> Tensor:
    """`zerosnet.data.gather`, to the bit, for results in float32 and channels_last."""
    assert channels_last and dtype == torch.float32
    channels, height, width = images.shape[1:]
    replicas, batch = index.shape
    index = index.contiguous()
    out = torch.empty(batch, height, width, replicas * channels, device=images.device)
    shifts = [index if t is None else t.contiguous() for t in (dy, dx)]  # what is None is not read
    bytes_of = [t if t.dtype == torch.int8 else t.view(torch.int8) for t in shifts]
    flips = index.view(torch.uint8) if flip is None else flip.contiguous().view(torch.uint8)
    sizes = [batch, replicas, channels, height, width, int(dy is not None), int(flip is not None)]
    arguments = [images, index, *bytes_of, flips, mean, std, out, *sizes]
    _launch("gather_images", images.device, batch * height * width * replicas, arguments)
    return out.permute(0, 3, 1, 2)


def update_sgd(buffers: FlatBuffers, *, momentum: float, nesterov: bool) -> None:
    """Make a step of SGD with momentum, in place."""
    _update("update_sgd", buffers, [float(momentum), int(nesterov)])


def update_adam(buffers: FlatBuffers, *, beta1: float, beta2: float, eps: float) -> None:
    """Make a step of Adam, in place."""
    _update("update_adam", buffers, [beta1, 1 - beta1, beta2, 1 - beta2, eps])


def _update(name: str, buffers: FlatBuffers, numbers: list[int | float]) -> None:
    values, gradients, state, rates, decays, alive, slots = buffers
    tensors = [values, gradients, *state, *rates, decays, alive.view(torch.uint8), slots]
    _launch(name, values.device, len(values), [*tensors, len(values), len(alive), *numbers])
