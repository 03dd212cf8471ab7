"""The networks of the authors' published code, written again as plainly as possible: the oracle of `load_official`.

Nothing here knows `zerosnet`. Names of modules are those of the authors' state dicts, tensors that their forward never
uses included, and the order of operations is theirs. Blocks hand on three states (y_n, y_{n-1}, y_{n-2}); None stands
for a state that is not there yet.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

OPT = (1 / 3, 5 / 9, 1 / 9, 16 / 9)


def conv(inputs: int, outputs: int, size: int, stride: int = 1) -> nn.Conv2d:
    layer = nn.Conv2d(inputs, outputs, size, stride, padding=size // 2, bias=False)
    nn.init.normal_(layer.weight, 0.0, (2 / (size * size * outputs)) ** 0.5)
    return layer


class Residual(nn.Module):
    """f: BN-ReLU-conv twice, or three times with the stride on the 3x3 convolution (`bottleneck`)."""

    def __init__(self, inputs: int, planes: int, stride: int, bottleneck: bool) -> None:
        super().__init__()
        self.outputs = 4 * planes if bottleneck else planes
        self.bn1, self.bn2 = nn.BatchNorm2d(inputs), nn.BatchNorm2d(planes)
        if bottleneck:
            self.conv1, self.conv2 = conv(inputs, planes, 1), conv(planes, planes, 3, stride)
            self.bn3, self.conv3 = nn.BatchNorm2d(planes), conv(planes, self.outputs, 1)
        else:
            self.conv1, self.conv2 = conv(inputs, planes, 3, stride), conv(planes, planes, 3)

    def activated(self, y: Tensor) -> Tensor:
        return F.relu(self.bn1(y))

    def f(self, activated: Tensor) -> Tensor:
        out = self.conv2(F.relu(self.bn2(self.conv1(activated))))
        return self.conv3(F.relu(self.bn3(out))) if hasattr(self, "conv3") else out


class Multistep(Residual):
    """A residual function and the coefficients it is added with: given, or a trainable lambda called `coe`."""

    def __init__(
        self, inputs: int, planes: int, stride: int, bottleneck: bool, coefficients: Sequence[float] | None
    ) -> None:
        super().__init__(inputs, planes, stride, bottleneck)
        self.given = coefficients
        if coefficients is None:
            self.coe = nn.Parameter(torch.ones(1))

    def advance(self, states: Sequence[Tensor], f: Tensor) -> Tensor:
        y, last, before_last = states
        if self.given is None:
            lam = self.coe
            given = (3 * (1 + lam) / (4 * lam), -1 / lam, (1 + lam) / (4 * lam), (3 * lam - 1) / (2 * lam))
        else:
            given = self.given
        return given[0] * y + given[1] * last + given[2] * before_last + given[3] * f


# -- CIFAR -------------------------------------------------------------------------------------------------------------


class Downsample(nn.Module):
    """A bare strided 1x1 convolution."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.downsample_ = nn.Sequential(conv(inputs, outputs, 1, stride))

    def forward(self, y: Tensor) -> Tensor:
        return self.downsample_(y)


class FirstDownsample(nn.Module):
    """BN-ReLU-1x1 convolution on the skip of a bottleneck net's first block; basic nets carry it unused."""

    def __init__(self) -> None:
        super().__init__()
        self.downsample = nn.Sequential(nn.BatchNorm2d(16), nn.ReLU(), conv(16, 64, 1))

    def forward(self, y: Tensor) -> Tensor:
        return self.downsample(y)


class CifarBlock(Multistep):
    """Block n of the CIFAR net; `widths` are the channels of y_n, y_{n-1}, y_{n-2} on arrival (0: not there)."""

    def __init__(
        self, widths: Sequence[int], planes: int, stride: int, bottleneck: bool, coefficients: Sequence[float] | None
    ) -> None:
        super().__init__(widths[0], planes, stride, bottleneck, coefficients)
        self.one_step = 0 in widths
        for name, width in zip(("x", "l", "ll"), widths):
            # the first block projects by `downsample1` of the net
            if width not in (0, self.outputs) and widths[1]:
                setattr(self, f"downsample_{name}", Downsample(width, self.outputs, stride))

    def forward(self, states: Sequence[Tensor | None], skip: nn.Module | None = None) -> list[Tensor | None]:
        f = self.f(self.activated(states[0]))
        if self.one_step:  # y + f(y), and the raw states are handed on
            y = states[0] if skip is None else skip(states[0])
            return [y + f, states[0], states[1]]
        states = [
            getattr(self, f"downsample_{name}", nn.Identity())(state) for name, state in zip(("x", "l", "ll"), states)
        ]
        return [self.advance(states, f), states[0], states[1]]


class CifarZeroSNet(nn.Module):
    """Stem 3x3 without BN, stages of 16/32/64 planes, BN-ReLU-pool-linear at the end.

    `coefficients` are (alpha_0, alpha_1, alpha_2, beta), or None for a trainable lambda a block.
    """

    def __init__(
        self,
        blocks_per_stage: int,
        *,
        bottleneck: bool = False,
        coefficients: Sequence[float] | None = OPT,
        num_classes: int = 10,
        in_chans: int = 3,
    ) -> None:
        super().__init__()
        self.bottleneck = bottleneck
        self.conv1, self.bn1 = conv(in_chans, 16, 3), nn.BatchNorm2d(16)
        self.downsample1 = FirstDownsample()
        self.blocks = nn.ModuleList()
        widths = [16, 0, 0]
        for stage, planes in enumerate((16, 32, 64)):
            for n in range(blocks_per_stage):
                block = CifarBlock(widths, planes, 2 if stage and not n else 1, bottleneck, coefficients)
                self.blocks.append(block)
                widths = [block.outputs, *(widths[:2] if block.one_step else [block.outputs] * 2)]
        self.bn = nn.BatchNorm2d(widths[0])
        self.fc = nn.Linear(widths[0], num_classes)

    def forward(self, images: Tensor) -> Tensor:
        states: list[Tensor | None] = [self.conv1(images), None, None]
        for n, block in enumerate(self.blocks):
            states = block(states, self.downsample1 if self.bottleneck and n == 0 else None)
        return self.fc(F.relu(self.bn(states[0])).mean((2, 3)))


# -- ImageNet ----------------------------------------------------------------------------------------------------------


class ImageNetBlock(Multistep):
    """y_n is projected after BN-ReLU, the older states raw; the projected ones are handed on."""

    def __init__(
        self,
        inputs: int,
        planes: int,
        stride: int,
        bottleneck: bool,
        coefficients: Sequence[float] | None,
        one_step: bool,
    ) -> None:
        super().__init__(inputs, planes, stride, bottleneck, coefficients)
        self.one_step = one_step
        if inputs != self.outputs or stride != 1:
            for name in ("x",) if one_step else ("x", "l", "ll"):
                setattr(self, f"shortcut_{name}", nn.Sequential(conv(inputs, self.outputs, 1, stride)))

    def forward(self, states: Sequence[Tensor | None]) -> list[Tensor | None]:
        activated = self.activated(states[0])
        states = list(states)
        if hasattr(self, "shortcut_x"):
            states[0] = self.shortcut_x(activated)
        if hasattr(self, "shortcut_l"):
            states[1:] = [self.shortcut_l(states[1]), self.shortcut_ll(states[2])]
        f = self.f(activated)
        y = states[0] + f if self.one_step else self.advance(states, f)
        return [y, states[0], states[1]]


class PreActBlock(Residual):
    """y + f(y), where a stage change projects the activated input."""

    def __init__(self, inputs: int, planes: int, stride: int, bottleneck: bool) -> None:
        super().__init__(inputs, planes, stride, bottleneck)
        if inputs != self.outputs or stride != 1:
            self.shortcut = nn.Sequential(conv(inputs, self.outputs, 1, stride))

    def forward(self, states: Sequence[Tensor | None]) -> list[Tensor | None]:
        activated = self.activated(states[0])
        skip = self.shortcut(activated) if hasattr(self, "shortcut") else states[0]
        return [skip + self.f(activated), None, None]


class ImageNetNet(nn.Module):
    """Stem 7x7/2, BN, ReLU, max pool; `layer1` to `layer4`; pool and linear, no BN before them.

    `preact` gives their PreAct net, anything else a ZeroSNet with `coefficients` as above.
    """

    def __init__(
        self,
        layers: Sequence[int],
        *,
        bottleneck: bool = False,
        preact: bool = False,
        coefficients: Sequence[float] | None = OPT,
        num_classes: int = 1000,
        in_chans: int = 3,
    ) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(in_chans, 64, 7, 2, padding=3, bias=False), nn.BatchNorm2d(64)
        width, count = 64, 0
        for stage, depth in enumerate(layers):
            layer = nn.Sequential()
            for n in range(depth):
                shape = (width, 64 * 2**stage, 2 if stage and not n else 1, bottleneck)
                block = PreActBlock(*shape) if preact else ImageNetBlock(*shape, coefficients, one_step=count < 2)
                layer.append(block)
                width, count = block.outputs, count + 1
            self.add_module(f"layer{stage + 1}", layer)
        self.fc = nn.Linear(width, num_classes)

    def forward(self, images: Tensor) -> Tensor:
        stem = F.max_pool2d(F.relu(self.bn1(self.conv1(images))), 3, 2, padding=1)
        states: list[Tensor | None] = [stem, None, None]
        for name, layer in self.named_children():
            if name.startswith("layer"):
                for block in layer:
                    states = block(states)
        return self.fc(states[0].mean((2, 3)))


def scramble(network: nn.Module, seed: int = 0) -> nn.Module:
    """Every parameter and buffer off its start value, so that a test sees it when two of them are swapped."""
    generator = torch.Generator().manual_seed(seed)
    for name, tensor in network.state_dict().items():
        if tensor.is_floating_point() and tensor.dim() == 1:  # batch norms, lambdas, the bias of fc
            tensor.add_(0.2 * torch.rand(tensor.shape, generator=generator))
        elif name == "fc.weight":
            tensor.copy_(0.1 * torch.randn(tensor.shape, generator=generator))
    return network
