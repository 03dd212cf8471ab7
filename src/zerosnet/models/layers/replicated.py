"""Convolution, batch norm and linear layer for K independent networks side by side in the channel dimension.

Every parameter and buffer stacks its replicas along dim 0, so that `rows(p, K)[k]` is replica k's part and, at K = 1,
each tensor is that of the ordinary layer. On the CPU convolutions run replica by replica, so that a replica is
bit-identical to the single network; elsewhere one grouped convolution serves all replicas, or one of another form that
is quicker and computes the same.
"""

import math
from collections.abc import Callable
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor, nn
from torch.nn import functional

Coefficient = float | tuple[float, ...] | Tensor
"""A number shared by all replicas, or one per replica: K floats, on the CPU only, or a tensor (K,)."""


def rows(tensor: Tensor, replicas: int) -> Tensor:
    """View a stacked tensor (K * n, ...) as (K, n, ...)."""
    return tensor.view(replicas, tensor.shape[0] // replicas, *tensor.shape[1:])


def one_by_one(tensor: Tensor) -> bool:
    """Check if replicas are computed one after the other: on the CPU, so that bits are those of single networks."""
    return tensor.device.type == "cpu"


def of_replica(coefficient: Coefficient, replica: int) -> float | Tensor:
    return coefficient if isinstance(coefficient, float) else coefficient[replica]


def per_channel(coefficient: Coefficient, channels: int, dims: int) -> float | Tensor:
    """One number for each of the K * channels channels, replica by replica, and `dims` dimensions behind them."""
    if isinstance(coefficient, Tensor):
        return coefficient[:, None].expand(-1, channels).reshape(-1, *(1,) * dims)
    return of_replica(coefficient, 0)


def _channels_last(x: Tensor) -> bool:
    """Check the memory layout by its stride: inside torch.func's transforms a tensor has no memory format."""
    return x.stride(1) == 1


def _every(x: Tensor, stride: int) -> Tensor:
    """Take every stride-th pixel of every stride-th row.

    The gradient of a slice is written into zeros that lie in the order of its dimensions, so channels that lie last are
    put last. Otherwise this gradient would lose the layout, through the sums those of the earlier states, too, and each
    convolution on the way would be handed a copy.

    On a GPU as a tensor of its own: cuDNN would be handed a copy of the view, one forwards and one more backwards, and
    neither by a kernel that a compiler could fuse with others.
    """
    last = _channels_last(x)
    pixels = x.permute(0, 2, 3, 1)[:, ::stride, ::stride] if last else x[:, :, ::stride, ::stride]
    pixels = pixels if one_by_one(x) else pixels.contiguous()
    return pixels.permute(0, 3, 1, 2) if last else pixels


def average(x: Tensor) -> Tensor:
    """The mean over all pixels, (B, C), in float32 or wider; its gradient, too, in the layout of x (see `_every`)."""
    dtype = torch.promote_types(x.dtype, torch.float32)
    if _channels_last(x):
        return x.permute(0, 2, 3, 1).mean((1, 2), dtype=dtype)
    return x.mean((2, 3), dtype=dtype)


def _scaled(weight: Tensor, scale: float | Tensor) -> Tensor:
    return weight * scale if isinstance(scale, Tensor) or scale != 1.0 else weight


class Conv(nn.Module):
    """Convolution without bias, its weight (K * out, in, k, k); `dtype` is what it computes in (None: its input's)."""

    def __init__(self, in_channels: int, channels: int, kernel: int, *, stride: int = 1, replicas: int = 1) -> None:
        super().__init__()
        self.in_channels, self.channels, self.kernel, self.stride = in_channels, channels, kernel, stride
        self.replicas = replicas
        self.dtype: torch.dtype | None = None
        self.ready: Tensor | None = None
        """scale * weight in the type of the computation, made ahead by a training step: taken in the place of both."""
        self.gain: float | tuple[float, ...] = 1.0
        """A factor of the initial weights, or one per replica."""
        self.weight = nn.Parameter(torch.empty(replicas * channels, in_channels, kernel, kernel))

    def reset_replica(self, replica: int, generator: torch.Generator) -> None:
        """Draw He's normal initialisation by fan-out, as the authors do: deviation gain * sqrt(2 / (k * k * out))."""
        gain = self.gain if isinstance(self.gain, float) else self.gain[replica]
        std = gain * math.sqrt(2 / (self.kernel**2 * self.channels))
        _fill(self.weight, self.replicas, replica, torch.Tensor.normal_, generator, 0.0, std)

    def forward(self, x: Tensor, scale: Coefficient = 1.0) -> Tensor:
        """scale * conv(x), the scale multiplied into the weight: cheaper than a pass over the activations.

        An x with the channels of one replica is shared by all of them: one ordinary convolution, in -> K * out.
        """
        if self.kernel == 1 and self.stride > 1:  # read only what is used: backwards on a CPU four times as fast
            x = _every(x, self.stride)
        x = x if self.dtype is None else x.to(self.dtype)
        if self.replicas == 1:
            return self._convolve(x, self.weight, of_replica(scale, 0))
        shared = x.shape[1] == self.in_channels
        if not one_by_one(x):
            number = per_channel(scale, self.channels, 3)
            if not shared and self.is_product(x):
                return self._product(x, self._made_ready(self.weight, number, x.dtype))
            return self._convolve(x, self.weight, number, 1 if shared else self.replicas)
        assert self.ready is None, "replicas are computed one by one, from their own weights"
        inputs = [x] * self.replicas if shared else x.split(self.in_channels, 1)
        parts = zip(inputs, self.weight.split(self.channels))
        return torch.cat([self._convolve(part, w, of_replica(scale, k)) for k, (part, w) in enumerate(parts)], 1)

    def _convolve(self, x: Tensor, weight: Tensor, scale: float | Tensor, groups: int = 1) -> Tensor:
        weight, stride = self._made_ready(weight, scale, x.dtype), self.stride if self.kernel > 1 else 1
        return functional.conv2d(x, weight, stride=stride, padding=self.kernel // 2, groups=groups)

    def _made_ready(self, weight: Tensor, scale: float | Tensor, dtype: torch.dtype) -> Tensor:
        return _scaled(weight, scale).to(dtype) if self.ready is None else self.ready

    def is_product(self, x: Tensor) -> bool:
        """Check if K replicas multiply matrices instead; channels must lie last.

        For 1x1 and strided convolutions with few channels a group cuDNN goes through the groups in turn, with copies of
        its own before and after each. With gradients only the 1x1 ones gain, in graphs of a compiler, which makes the
        copies before and after the product part of other kernels.
        """
        if torch.is_grad_enabled():
            product = self.kernel == 1 and torch.compiler.is_compiling()
        else:
            product = self.kernel == 1 or self.stride > 1
        return self.replicas > 1 and product and _channels_last(x)

    def _product(self, x: Tensor, weight: Tensor) -> Tensor:
        """The convolution of every replica as (pixels, in * k * k) by (in * k * k, out)."""
        last = x.permute(0, 2, 3, 1)
        if self.kernel == 1:
            batch, height, width = last.shape[:3]
            patches = last.reshape(-1, self.replicas, self.in_channels).transpose(0, 1)
        else:
            around = functional.pad(last, (0, 0, *(self.kernel // 2,) * 4))
            windows = around.unfold(1, self.kernel, self.stride).unfold(2, self.kernel, self.stride)
            batch, height, width = windows.shape[:3]
            windows = windows.unflatten(3, (self.replicas, self.in_channels)).permute(3, 0, 1, 2, 4, 5, 6)
            patches = windows.reshape(self.replicas, -1, weight.shape[1:].numel())
        products = torch.bmm(patches, rows(weight.flatten(1), self.replicas).transpose(1, 2))
        return products.transpose(0, 1).reshape(batch, height, width, -1).permute(0, 3, 1, 2)

    def extra_repr(self) -> str:
        return (
            f"{self.in_channels}, {self.channels}, kernel={self.kernel}, stride={self.stride}, replicas={self.replicas}"
        )


class BatchNorm(nn.Module):
    """Batch norm over K * C channels.

    It counts no batches: a scalar counter could not stack its replicas, and the constant momentum needs none.
    """

    running_mean: Tensor
    running_var: Tensor

    def __init__(self, channels: int, *, replicas: int = 1, momentum: float = 0.1, eps: float = 1e-5) -> None:
        super().__init__()
        self.channels, self.replicas, self.momentum, self.eps = channels, replicas, momentum, eps
        self.weight = nn.Parameter(torch.ones(replicas * channels))
        self.bias = nn.Parameter(torch.zeros(replicas * channels))
        self.register_buffer("running_mean", torch.zeros(replicas * channels))
        self.register_buffer("running_var", torch.ones(replicas * channels))

    def forward(self, x: Tensor) -> Tensor:
        return functional.batch_norm(
            x, self.running_mean, self.running_var, self.weight, self.bias, self.training, self.momentum, self.eps
        )

    def as_affine(self) -> tuple[Tensor, Tensor]:
        """factor and shift of every channel, norm(z) = factor * z + shift, in evaluation."""
        factor = self.weight * (self.running_var + self.eps).rsqrt()
        return factor, self.bias - self.running_mean * factor

    def extra_repr(self) -> str:
        return f"{self.channels}, replicas={self.replicas}"


class Bias(nn.Module):
    """A trained number added to each of K * C channels: what is left of a batch norm without normalisation."""

    def __init__(self, channels: int, *, replicas: int = 1) -> None:
        super().__init__()
        self.channels, self.replicas = channels, replicas
        self.bias = nn.Parameter(torch.zeros(replicas * channels))

    def forward(self, x: Tensor) -> Tensor:
        return x + self.bias.view(-1, 1, 1).to(x.dtype)

    def extra_repr(self) -> str:
        return f"{self.channels}, replicas={self.replicas}"


class Linear(nn.Module):
    """Linear layer (B, K * features) -> (B, K, classes), for K = 1 (B, classes); weight (K * classes, features)."""

    def __init__(self, features: int, classes: int, *, replicas: int = 1) -> None:
        super().__init__()
        self.features, self.classes, self.replicas = features, classes, replicas
        self.weight = nn.Parameter(torch.empty(replicas * classes, features))
        self.bias = nn.Parameter(torch.empty(replicas * classes))

    def reset_replica(self, replica: int, generator: torch.Generator) -> None:
        """torch's own initialisation: weight and bias from U[-1, 1] / sqrt(features)."""
        bound = 1 / math.sqrt(self.features)
        for parameter in (self.weight, self.bias):
            _fill(parameter, self.replicas, replica, torch.Tensor.uniform_, generator, -bound, bound)

    def forward(self, x: Tensor) -> Tensor:
        if self.replicas == 1:
            return functional.linear(x, self.weight, self.bias)
        if one_by_one(x):
            parts = zip(x.split(self.features, 1), self.weight.split(self.classes), self.bias.split(self.classes))
            return torch.stack([functional.linear(*part) for part in parts], 1)
        weight, bias = rows(self.weight, self.replicas), rows(self.bias, self.replicas)
        inputs = x.unflatten(1, (self.replicas, self.features)).transpose(0, 1)
        return torch.baddbmm(bias[:, None], inputs, weight.transpose(1, 2)).transpose(0, 1)

    def extra_repr(self) -> str:
        return f"{self.features}, {self.classes}, replicas={self.replicas}"


@runtime_checkable
class Drawn(Protocol):
    """A module with parameters that are drawn, one replica after the other."""

    def reset_replica(self, replica: int, generator: torch.Generator) -> None: ...


def initialise(module: nn.Module, seeds: list[int]) -> None:
    """Draw every replica from a generator of its own: replica k is the single network drawn from seeds[k], to the bit.

    Numbers are drawn on the CPU, whatever device the parameters are on.
    """
    drawn = [layer for layer in module.modules() if isinstance(layer, Drawn)]
    for replica, seed in enumerate(seeds):
        generator = torch.Generator("cpu").manual_seed(seed)
        for layer in drawn:
            layer.reset_replica(replica, generator)


def _fill(
    parameter: nn.Parameter,
    replicas: int,
    replica: int,
    draw: Callable[..., Tensor],
    generator: torch.Generator,
    *arguments: float,
) -> None:
    with torch.no_grad():
        part = rows(parameter, replicas)[replica]
        part.copy_(draw(torch.empty(part.shape, device="cpu"), *arguments, generator=generator))
