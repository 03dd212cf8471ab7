"""Networks whose attacks can be worked out by hand."""

import torch
from torch import Tensor, nn


class Linear(nn.Module):
    """K linear classifiers side by side: logits_k = W_k x_k + b_k; they keep to the interface of fused networks."""

    def __init__(self, replicas: int = 1, channels: int = 2, size: int = 3, classes: int = 2, seed: int = 0) -> None:
        super().__init__()
        self.replicas = replicas
        generator = torch.Generator().manual_seed(seed)
        self.weight = nn.Parameter(torch.randn(replicas, classes, channels * size * size, generator=generator))
        self.bias = nn.Parameter(torch.zeros(replicas, classes))
        self.dropout = nn.Dropout(0.5)

    def forward(self, x: Tensor) -> Tensor:
        x = self.dropout(x).reshape(len(x), self.replicas, -1)
        logits = torch.einsum("bkd,kcd->bkc", x, self.weight) + self.bias
        return logits[:, 0] if self.replicas == 1 else logits


def small_convolution(classes: int = 4, channels: int = 1, size: int = 8, seed: int = 0) -> nn.Module:
    """A smooth nonlinear network, large enough that steps and restarts matter."""
    side = (size - 1) // 2
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return nn.Sequential(
            nn.Conv2d(channels, 8, 3, padding=1),
            nn.GELU(),
            nn.Conv2d(8, 8, 3, stride=2),
            nn.GELU(),
            nn.Flatten(),
            nn.Linear(8 * side * side, classes),
        )


class SideBySide(nn.Module):
    """Independent networks as one fused network: (B, K*C, H, W) to (B, K, classes)."""

    def __init__(self, *networks: nn.Module) -> None:
        super().__init__()
        self.networks = nn.ModuleList(networks)
        self.replicas = len(networks)

    def forward(self, images: Tensor) -> Tensor:
        parts = images.chunk(self.replicas, 1)
        return torch.stack([network(part) for network, part in zip(self.networks, parts)], 1)
