"""The plainest hand-written ZeroSNet there is: what a reader of the paper would type, and nothing more.

The yardstick of the networks built from a scheme: they must not be slower than this one. And the way its authors train.
"""

import statistics
import time
from collections.abc import Sequence
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from zerosnet.data import DataSet


class Block(nn.Module):
    """BN-ReLU-conv3x3 twice; a stage change projects the three states."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.bn1 = nn.BatchNorm2d(inputs)
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1, bias=False)
        self.project: nn.ModuleList | None = None
        if stride != 1:
            self.project = nn.ModuleList(nn.Conv2d(inputs, outputs, 1, stride, bias=False) for _ in range(3))

    def forward(self, y: Tensor) -> Tensor:
        return self.conv2(F.relu(self.bn2(self.conv1(F.relu(self.bn1(y))))))


class PlainZeroSNet(nn.Module):
    """CIFAR-size ZeroSNet-Opt: y_{n+1} = (y_n)/3 + 5/9 y_{n-1} + 1/9 y_{n-2} + 16/9 f(y_n)."""

    def __init__(self, depth: int, num_classes: int = 10) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 16, 3, padding=1, bias=False)
        widths = [16 * 2**stage for stage in range(3) for _ in range((depth - 2) // 6)]
        self.blocks = nn.ModuleList(
            Block(inputs, outputs, outputs // inputs) for inputs, outputs in zip([16, *widths], widths)
        )
        self.bn = nn.BatchNorm2d(64)
        self.fc = nn.Linear(64, num_classes)

    def forward(self, images: Tensor) -> Tensor:
        y = self.stem(images)
        last = before = y
        for n, block in enumerate(cast(Sequence[Block], self.blocks)):
            f = block(y)
            if block.project is not None:
                y, last, before = (project(state) for project, state in zip(block.project, (y, last, before)))
            new = y + f if n < 2 else 1 / 3 * y + 5 / 9 * last + 1 / 9 * before + 16 / 9 * f
            y, last, before = new, y, last
        return self.fc(F.relu(self.bn(y)).mean((2, 3)))


def authors_way(device: str, data: DataSet, steps: int = 60) -> dict[str, float]:
    """Eager, channels first, float32, one network, `loss.item()` and the accuracy read in every step."""
    model = PlainZeroSNet(56).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=5e-4)
    batch = min(128, len(data.train))
    images = (data.train.images[:batch].float() / 255).to(device)
    labels = data.train.labels[:batch].to(device)

    def step() -> float:
        logits = model(images)
        loss = F.cross_entropy(logits, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        correct = (logits.argmax(1) == labels).sum().item()
        return loss.item() + correct

    steps = steps if device == "cuda" else 1
    times = []
    for _ in range(steps // 3 + 1):
        step()
    for _ in range(steps):
        began = time.monotonic()
        step()
        times.append(time.monotonic() - began)
    seconds = statistics.median(times)
    return {"ms_per_step": 1e3 * seconds, "seconds_per_epoch": seconds * (len(data.train) // batch)}
