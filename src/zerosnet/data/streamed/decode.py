"""Decode a JPEG file to the square of pixels that a network is shown: a random resized crop, or the middle."""

import math
import random
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from zerosnet.data.arrays.epochs import stream_seed
from zerosnet.data.pictures import decode_picture
from zerosnet.data.registry import Augmentation

ATTEMPTS = 10
SHORTER_SIDE = 256 / 224  # of the resized image, for one pixel of the middle that is cut out of it
_JPEG = b"\xff\xd8\xff"

Box = tuple[int, int, int, int]
"""Left, top, width, height, in pixels."""


class BrokenImage(Exception):
    """The reason why a file is no image."""


def random_crop(width: int, height: int, augmentation: Augmentation, chance: random.Random) -> Box:
    """Draw a box with area uniform in `area` (as a part of the image) and log aspect ratio uniform in `aspect`.

    Boxes that do not fit are drawn again; after ten attempts the largest middle with an accepted aspect is taken.
    """
    if augmentation.area is None:
        return 0, 0, width, height
    low, high = (math.log(ratio) for ratio in augmentation.aspect)
    for _ in range(ATTEMPTS):
        area = width * height * chance.uniform(*augmentation.area)
        aspect = math.exp(chance.uniform(low, high))
        w, h = round(math.sqrt(area * aspect)), round(math.sqrt(area / aspect))
        left, top = chance.random(), chance.random()  # drawn even if the box does not fit: a fixed count per attempt
        if 0 < w <= width and 0 < h <= height:
            return int(left * (width - w + 1)), int(top * (height - h + 1)), w, h
    least, most = augmentation.aspect
    w, h = min(width, max(1, round(height * most))), min(height, max(1, round(width / least)))
    return (width - w) // 2, (height - h) // 2, w, h


def training_image(
    path: Path, side: int, augmentation: Augmentation, seed: int, epoch: int, index: int
) -> tuple[Tensor, bool]:
    """Decode the training image (side, side, 3) of an epoch, and tell whether to mirror it.

    This is a pure function of (seed, epoch, index): it does not matter which process decodes it, or when.
    """
    image = read_image(path)
    (left, top, width, height), flip = draw_crop(image.shape[2], image.shape[1], augmentation, seed, epoch, index)
    return resize(image[:, top : top + height, left : left + width], side, side), flip


def draw_crop(
    width: int, height: int, augmentation: Augmentation, seed: int, epoch: int, index: int
) -> tuple[Box, bool]:
    """Draw the box of a training image of that size in an epoch, and whether to mirror it."""
    chance = random.Random(stream_seed(seed, "resized-crop", epoch, index))
    flip = augmentation.flip and chance.random() < 0.5
    return random_crop(width, height, augmentation, chance), flip


def centre_image(path: Path, side: int) -> Tensor:
    """Decode the middle (side, side, 3) of an image, whose shorter side is first resized to 256/224 of `side`."""
    image = read_image(path)
    height, width = image.shape[1:]
    shorter = round(side * SHORTER_SIDE)
    scale = shorter / min(height, width)
    height, width = max(shorter, round(height * scale)), max(shorter, round(width * scale))
    top, left = (height - side) // 2, (width - side) // 2
    return resize(image, height, width)[top : top + side, left : left + side]


def read_image(path: Path) -> Tensor:
    """Read an image file as uint8 (3, height, width); raises `BrokenImage` if it is no image or a truncated one."""
    try:
        content = path.read_bytes()
        if content.startswith(_JPEG):
            return _decode_jpeg(content)
        return torch.from_numpy(np.array(decode_picture(content))).permute(2, 0, 1)
    except (OSError, ValueError, RuntimeError) as error:
        raise BrokenImage(_reason(error)) from None


def _decode_jpeg(content: bytes) -> Tensor:
    from torchvision.io import ImageReadMode, decode_jpeg

    return decode_jpeg(torch.frombuffer(bytearray(content), dtype=torch.uint8), mode=ImageReadMode.RGB)


def resize(image: Tensor, height: int, width: int) -> Tensor:
    """(3, h, w) to (height, width, 3), bilinear with antialiasing, as Pillow does it.

    A part of an image is copied first: torch keeps channels last only if the input is dense in that order. That is
    faster, and (height, width, 3) needs no transposition.
    """
    if image.shape[1:] != (height, width):
        pixels = image[None].contiguous(memory_format=torch.channels_last)
        image = functional.interpolate(pixels, (height, width), mode="bilinear", antialias=True)[0]
    return image.permute(1, 2, 0)


def _reason(error: Exception) -> str:
    """Put an error into a few words; torchvision's begin with the name of a source file."""
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    if text.startswith("decode_jpeg"):
        text = text.split(", ", 2)[-1]
    return " ".join(text.split()) or type(error).__name__
