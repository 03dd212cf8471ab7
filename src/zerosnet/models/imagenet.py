"""ImageNet-size networks: 7x7 stem with max pool, stages of 64 to 512 channels, no BN-ReLU before the pool."""

from torch import Tensor, nn, relu_
from torch.nn import functional

from zerosnet.models.layers.replicated import BatchNorm, Conv
from zerosnet.models.structure import SIZES, Size, Structure


class ImageNetStem(nn.Module):
    """7x7 convolution, BN, ReLU and a 3x3 max pool, with stride 2 each."""

    def __init__(self, in_chans: int, channels: int, *, replicas: int) -> None:
        super().__init__()
        self.conv = Conv(in_chans, channels, 7, stride=2, replicas=replicas)
        self.bn = BatchNorm(channels, replicas=replicas)

    def forward(self, images: Tensor) -> Tensor:
        return functional.max_pool2d(relu_(self.bn(self.conv(images))), 3, stride=2, padding=1)


SIZES["imagenet"] = Size(
    stem=ImageNetStem,
    stem_channels=64,
    stem_stride=4,
    widths=(64, 128, 256, 512),
    activated_projection=True,
    raw_opening=False,
    final_norm=False,
    num_classes=1000,
    image=(224, 224),
    crop=0.875,
    mean=(0.485, 0.456, 0.406),
    std=(0.229, 0.224, 0.225),
)

IMAGENET_STRUCTURES: dict[int, Structure] = {
    18: Structure("imagenet", "basic", (2, 2, 2, 2)),
    34: Structure("imagenet", "basic", (3, 4, 6, 3)),
    50: Structure("imagenet", "bottleneck", (3, 4, 6, 3)),
    101: Structure("imagenet", "bottleneck", (3, 4, 23, 3)),
    152: Structure("imagenet", "bottleneck", (3, 8, 36, 3)),
}
