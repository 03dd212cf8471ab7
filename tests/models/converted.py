"""Networks to convert, and the recursion that they should become, written plainly."""

import pytest
import torch
from torch import Tensor, nn

from zerosnet.models import MultistepStage
from zerosnet.numerics import Scheme

timm = pytest.importorskip("timm")


def network(name: str, **options: object) -> nn.Module:
    torch.manual_seed(1)
    return timm.create_model(name, num_classes=5, **options).double().eval()


def awake(model: nn.Module) -> nn.Module:
    """Blocks that add something: many begin with a last norm of weight 0, or a layer scale of 1e-6."""
    generator = torch.Generator().manual_seed(4)
    for name, parameter in model.named_parameters():
        if parameter.ndim == 1 and not name.endswith("bias"):  # weights of norms, and layer scales
            nn.init.uniform_(parameter, 0.5, 1.5, generator=generator)
    return model


def images(size: int, count: int = 2, channels: int = 3) -> Tensor:
    return torch.randn(count, channels, size, size, generator=torch.Generator().manual_seed(2)).double()


def stages(model: nn.Module) -> dict[str, MultistepStage]:
    return {name: module for name, module in model.named_modules() if isinstance(module, MultistepStage)}


class Post(nn.Module):
    """relu(y + f(y)), as in ResNets; `channels` may change."""

    def __init__(self, channels: int, to: int | None = None) -> None:
        super().__init__()
        self.conv = nn.Conv2d(channels, to or channels, 3, padding=1)
        self.norm = nn.BatchNorm2d(to or channels)
        self.skip = nn.Conv2d(channels, to, 1) if to else nn.Identity()

    def forward(self, y: Tensor) -> Tensor:
        return torch.relu(self.norm(self.conv(y)) + self.skip(y))


def chain(blocks: int, channels: int = 4) -> nn.Sequential:
    torch.manual_seed(3)
    model = nn.Sequential(*(Post(channels) for _ in range(blocks))).double()
    with torch.no_grad():
        model(images(8, 8, channels))
    return model


def recursion(blocks: nn.Sequential, scheme: Scheme, y: Tensor) -> Tensor:
    """The scheme, written plainly over states and slopes; one-step until there are enough states."""
    states, slopes = [y], []
    for block in blocks:
        slopes.insert(0, block(states[0]) - states[0])
        if len(states) < scheme.steps:
            states.insert(0, states[0] + slopes[0])
            continue
        terms = [float(a) * s for a, s in zip(scheme.alphas, states)]
        terms += [float(b) * f for b, f in zip(scheme.betas, slopes)]
        states.insert(0, sum(terms))
    return states[0]


def gradients(model: nn.Module, x: Tensor) -> list[Tensor]:
    model.zero_grad()
    model(x).square().sum().backward()
    return [p.grad.clone() for p in model.parameters() if p.grad is not None]


def close(ours: list[Tensor], theirs: list[Tensor], bound: float = 1e-9) -> bool:
    return len(ours) == len(theirs) and all(
        (a - b).abs().max() <= bound * (1 + b.abs().max()) for a, b in zip(ours, theirs)
    )
