"""CIFAR-size networks: 3x3 stem, stages of 16, 32, 64 channels, BN-ReLU before the pool."""

from torch import Tensor, nn

from zerosnet.errors import InputError
from zerosnet.models.layers.replicated import Conv
from zerosnet.models.structure import LAYERS, SIZES, Size, Structure


class CifarStem(nn.Module):
    """One 3x3 convolution, without batch norm."""

    def __init__(self, in_chans: int, channels: int, *, replicas: int) -> None:
        super().__init__()
        self.conv = Conv(in_chans, channels, 3, replicas=replicas)

    def forward(self, images: Tensor) -> Tensor:
        return self.conv(images)


SIZES["cifar"] = Size(
    stem=CifarStem,
    stem_channels=16,
    stem_stride=1,
    widths=(16, 32, 64),
    activated_projection=False,
    raw_opening=True,
    final_norm=True,
    num_classes=10,
    image=(32, 32),
    crop=1.0,
    mean=(0.4914, 0.4822, 0.4465),
    std=(0.2470, 0.2435, 0.2616),
)


def cifar(depth: int, block: str = "basic") -> Structure:
    """The structure with `depth` layers: 6n + 2 with basic blocks, 9n + 2 with bottlenecks, n blocks a stage."""
    period = 3 * LAYERS[block]
    n, rest = divmod(depth - 2, period)
    if rest or n < 1:
        raise InputError(f"depth is {depth}; expected {period}n + 2 layers with {block} blocks")
    return Structure("cifar", block, (n, n, n))


CIFAR_STRUCTURES: dict[int, Structure] = {
    **{depth: cifar(depth) for depth in (20, 32, 44, 56, 110)},
    **{depth: cifar(depth, "bottleneck") for depth in (164, 326, 650, 1298)},
}
