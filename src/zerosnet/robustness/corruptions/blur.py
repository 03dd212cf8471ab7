"""Blurs of CIFAR-10-C: defocus, glass, motion, zoom and Gaussian blur; see `noise` for what a corruption is."""

import math

import torch
from torch import Tensor

from zerosnet.robustness.corruptions.draws import Draws
from zerosnet.robustness.corruptions.filters import BYTE, along_a_line, correlate, divided, gaussian, zoomed


def gaussian_blur(images: Tensor, sigma: float, draws: Draws) -> Tensor:
    return gaussian(images, sigma)


def defocus_blur(images: Tensor, radius: float, softness: float, draws: Draws) -> Tensor:
    """Spread every pixel over a disc whose border is softened by a small Gaussian."""
    return correlate(images, disc(radius, softness))


def disc(radius: float, softness: float) -> Tensor:
    """Weights of a disc with a soft border, in the float32 that they were published with."""
    reach = math.floor(radius) + 1
    place = torch.arange(-reach, reach + 1)
    sharp = (place[:, None] ** 2 + place**2 <= radius**2).float()
    side = math.exp(-1 / (2 * softness**2))
    line = torch.tensor([side, 1.0, side], dtype=torch.float64)
    line = (line / line.sum()).float()
    flat = (sharp / sharp.sum())[None, None]
    blurred = torch.nn.functional.conv2d(flat, line.view(1, 1, 1, 3), padding=(0, 1))
    return torch.nn.functional.conv2d(blurred, line.view(1, 1, 3, 1), padding=(1, 0))[0, 0]


def glass_blur(images: Tensor, sigma: float, rounds: int, draws: Draws) -> Tensor:
    """Blur, replace every pixel by itself or one of three neighbours, and blur again.

    The published code means to swap pixels, but both sides of its assignment are views, and so it copies: pixel (h, w)
    becomes pixel (h - 0 or 1, w - 0 or 1). The first two rows and columns stay.
    """
    size = images.shape[-1]
    bytes_ = (gaussian(images, sigma) * BYTE).floor().flatten(2)
    line = torch.arange(size, device=images.device)
    inside = (line > 1)[:, None] & (line > 1)
    for turn in range(rounds):
        up, left = (draws.uniform(f"{way} {turn}", size, size) < 0.5 for way in ("up", "left"))
        place = (line[:, None] - (up & inside).long()) * size + line - (left & inside).long()
        bytes_ = bytes_.gather(2, place.flatten(1)[:, None].expand(-1, images.shape[1], -1))
    return gaussian(divided(bytes_.view(images.shape), BYTE), sigma)


def motion_blur(images: Tensor, radius: int, sigma: float, draws: Draws) -> Tensor:
    """Blur along a line at an angle between -45 and 45 degrees; the result is rounded to bytes."""
    angle = draws.between("angle", -45, 45)
    return divided(along_a_line(images * BYTE, radius, sigma, angle).floor(), BYTE)


def zoom_blur(images: Tensor, most: int, draws: Draws) -> Tensor:
    """Average the image with enlarged ones, by 0, 1, ... and `most` per cent.

    The factors are those of the published program to the last bit: 26 pixels enlarged 1.25-fold are 32 or 33.
    """
    percent = (1 + 0.01) - 1
    total = images.clone()
    for n in range(most + 1):
        total += zoomed(images, 1 + n * percent)
    return divided(total, most + 2)
