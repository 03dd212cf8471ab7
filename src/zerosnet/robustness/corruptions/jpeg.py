"""JPEG compression of CIFAR-10-C, there and back in one pass: what the baseline standard loses, without its bits.

Colours to luma and chroma, chroma at half the size, cosine transform of 8 x 8 blocks, quantisation, and back, with the
chroma interpolated. All of it in whole numbers, rounded where libjpeg rounds.
"""

import torch
from torch import Tensor

from zerosnet.robustness.corruptions.draws import Draws
from zerosnet.robustness.corruptions.filters import BYTE, divided

# tables K.1 and K.2 of ITU-T T.81, for quality 50
LUMA = (
    (16, 11, 10, 16, 24, 40, 51, 61),
    (12, 12, 14, 19, 26, 58, 60, 55),
    (14, 13, 16, 24, 40, 57, 69, 56),
    (14, 17, 22, 29, 51, 87, 80, 62),
    (18, 22, 37, 56, 68, 109, 103, 77),
    (24, 35, 55, 64, 81, 104, 113, 92),
    (49, 64, 78, 87, 103, 121, 120, 101),
    (72, 92, 95, 98, 112, 100, 103, 99),
)
CHROMA = (
    (17, 18, 24, 47, 99, 99, 99, 99),
    (18, 21, 26, 66, 99, 99, 99, 99),
    (24, 26, 56, 99, 99, 99, 99, 99),
    (47, 66, 99, 99, 99, 99, 99, 99),
    *((99,) * 8,) * 4,
)

ODD = ((11363, 9633, 6437, 2260), (9633, -2259, -11362, -6436), (6437, -11362, 2261, 9633), (2260, -6436, 9633, -11363))


def jpeg_compression(images: Tensor, quality: int, draws: Draws) -> Tensor:
    """Compress by JPEG at a quality of 1 to 100, with chroma of half the size, and decompress."""
    luma, blue, red = _to_planes((images * BYTE).round())
    luma = _lossy(luma, _table(LUMA, quality).to(images))
    coarse = _table(CHROMA, quality).to(images)
    blue, red = (_enlarged(_lossy(_halved(plane), coarse)) for plane in (blue, red))
    return divided(_from_planes(luma, blue, red), BYTE)


def _to_planes(pixels: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Luma and chroma as whole numbers, each (N, H, W), with libjpeg's factors of 2^-16."""
    red, green, blue = pixels.unbind(1)
    half = 1 << 15
    luma = 19595 * red + 38470 * green + 7471 * blue + half
    cb = -11059 * red - 21709 * green + 32768 * blue + (128 << 16) + half - 1
    cr = 32768 * red - 27439 * green - 5329 * blue + (128 << 16) + half - 1
    return (luma / 65536).floor(), (cb / 65536).floor(), (cr / 65536).floor()


def _from_planes(luma: Tensor, blue: Tensor, red: Tensor) -> Tensor:
    cb, cr = blue - 128, red - 128
    half = 1 << 15
    red = luma + ((91881 * cr + half) / 65536).floor()
    green = luma + ((-22554 * cb - 46802 * cr + half) / 65536).floor()
    blue = luma + ((116130 * cb + half) / 65536).floor()
    return torch.stack([red, green, blue], 1).clamp(0, 255)


def _halved(plane: Tensor) -> Tensor:
    """Means of 2 x 2 pixels, rounded down and up in turn, column by column."""
    total = plane[:, ::2, ::2] + plane[:, 1::2, ::2] + plane[:, ::2, 1::2] + plane[:, 1::2, 1::2]
    bias = 1 + torch.arange(total.shape[-1], device=plane.device) % 2
    return ((total + bias) / 4).floor()


def _enlarged(plane: Tensor) -> Tensor:
    """Twice the size: 3/4 of the nearer and 1/4 of the farther pixel in both directions, with libjpeg's rounding."""

    def between(values: Tensor, dim: int) -> tuple[Tensor, Tensor]:
        size = values.shape[dim]
        index = torch.arange(size, device=values.device)
        before = values.index_select(dim, (index - 1).clamp_min(0))
        after = values.index_select(dim, (index + 1).clamp_max(size - 1))
        return 3 * values + before, 3 * values + after

    rows = torch.stack(between(plane, 1), 2).flatten(1, 2)
    left, right = between(rows, 2)
    return torch.stack([((left + 8) / 16).floor(), ((right + 7) / 16).floor()], 3).flatten(2)


def _lossy(plane: Tensor, table: Tensor) -> Tensor:
    """Quantise the cosine transform of every 8 x 8 block, and transform back to whole numbers of [0, 255]."""
    n, height, width = plane.shape
    blocks = plane.view(n, height // 8, 8, width // 8, 8).transpose(2, 3) - 128
    cosines = cosine_transform().to(plane)
    found = _scaled(cosines @ _scaled(blocks @ cosines.t(), 11), 15)
    whole = ((found.abs() + 4 * table) / (8 * table)).floor() * found.sign()
    back = _scaled(_scaled(cosines.t() @ (whole * table), 11) @ cosines, 18)
    return (back + 128).clamp(0, 255).transpose(2, 3).reshape(n, height, width)


def _scaled(values: Tensor, bits: int) -> Tensor:
    """Divide by a power of two and round, halves up."""
    return ((values + 2 ** (bits - 1)) / 2**bits).floor()


def cosine_transform() -> Tensor:
    """The cosine transform of 8 numbers in units of 2^-13, times the root of 8, (8, 8), as libjpeg has rounded it.

    Its fast algorithm adds up products that are rounded one by one, so entries of one size differ by one.
    """
    matrix = torch.zeros(8, 8, dtype=torch.float64)
    matrix[0], matrix[4] = 8192, 8192 * torch.tensor([1, -1, -1, 1, 1, -1, -1, 1])
    for row, half in ((2, (10703, 4433)), (6, (4433, -10704))):
        matrix[row] = torch.tensor([half[0], half[1], -half[1], -half[0], -half[0], -half[1], half[1], half[0]])
    odd = torch.tensor(ODD)
    matrix[1::2] = torch.cat([odd, -odd.flip(1)], 1).double()
    return matrix


def _table(base: tuple[tuple[int, ...], ...], quality: int) -> Tensor:
    """Quantisation steps of a quality, by libjpeg's rule."""
    scale = 5000 // quality if quality < 50 else 200 - 2 * quality
    return ((torch.tensor(base, dtype=torch.float64) * scale + 50) / 100).floor().clamp(1, 255)
