"""Digital corruptions of CIFAR-10-C: brightness, contrast, saturation, pixels, and elastic transforms; see `noise`."""

import torch
from torch import Tensor

from zerosnet.robustness.corruptions.draws import Draws
from zerosnet.robustness.corruptions.filters import BYTE, divided, from_hsv, gaussian, sampled, to_hsv

_FINE, _COARSE = 1024, 32  # steps per pixel in which OpenCV adds up and rounds where it looks


def brightness(images: Tensor, added: float, draws: Draws) -> Tensor:
    """Add to the value of every colour."""
    hue, saturation, value = to_hsv(images)
    return from_hsv(hue, saturation, (value + added).clamp(0, 1))


def saturate(images: Tensor, factor: float, added: float, draws: Draws) -> Tensor:
    """Change the saturation of every colour."""
    hue, saturation, value = to_hsv(images)
    return from_hsv(hue, (saturation * factor + added).clamp(0, 1), value)


def contrast(images: Tensor, factor: float, draws: Draws) -> Tensor:
    """Move every pixel towards the mean of its channel."""
    mean = images.mean((2, 3), keepdim=True)
    return (images - mean) * factor + mean


def pixelate(images: Tensor, part: float, draws: Draws) -> Tensor:
    """Make the image smaller by a box filter, and large again; Pillow rounds to bytes four times on the way."""
    size = images.shape[-1]
    small = int(size * part)
    down, up = box_matrix(size, small).to(images), box_matrix(small, size).to(images)
    pixels = (images * BYTE).round()
    for matrix in (down, up):
        pixels = (pixels @ matrix.t() + 0.5).floor()
        pixels = (matrix @ pixels + 0.5).floor()
    return divided(pixels, BYTE)


def box_matrix(before: int, after: int) -> Tensor:
    """Weights (after, before) of a resize by a box filter: the mean of all pixels whose middles are in the box."""
    scale = before / after
    support = 0.5 * max(scale, 1.0)
    matrix = torch.zeros(after, before, dtype=torch.float64)
    for row in range(after):
        centre = (row + 0.5) * scale
        first, end = max(0, int(centre - support + 0.5)), min(before, int(centre + support + 0.5))
        inside = [x for x in range(first, end) if -0.5 < (x - centre + 0.5) / max(scale, 1.0) <= 0.5]
        matrix[row, inside] = 1 / len(inside)
    return matrix


def elastic_transform(images: Tensor, strength: float, sigma: float, shift: float, draws: Draws) -> Tensor:
    """Move three points of the image at random and the rest with them, then every pixel by a smooth random field."""
    moved = affine(images, draws.between("points", -shift, shift, 3, 2))
    if strength == 0:
        return moved
    size = images.shape[-2:]
    fields = (draws.between(way, -1, 1, 1, *size) for way in ("across", "down"))
    across, down = (strength * gaussian(field, sigma, "symmetric", truncate=3)[:, 0] for field in fields)
    rows, columns = (torch.arange(n, device=images.device, dtype=images.dtype) for n in size)
    return sampled(moved, rows[:, None] + down, columns + across, "symmetric")


def affine(images: Tensor, moves: Tensor) -> Tensor:
    """Warp images so that three points around the middle move by `moves`, (N, 3, 2) of (x, y), in pixels.

    Places are looked up as OpenCV does: in steps of 1/1024, rounded to 1/32 of a pixel; borders are mirrored.
    """
    size = images.shape[-1]
    middle, third = size // 2, size // 3
    corners = [(middle + third, middle + third), (middle + third, middle - third), (middle - third, middle - third)]
    before = images.new_tensor(corners)
    after = before + moves.float().to(images)
    ones = torch.ones(len(images), 3, 1, dtype=images.dtype, device=images.device)
    back = torch.linalg.solve(torch.cat([after, ones], -1), before.expand(len(images), -1, -1)).transpose(1, 2)
    line = torch.arange(size, device=images.device, dtype=images.dtype)

    def places(row: Tensor) -> Tensor:
        along = (row[:, 0, None] * line * _FINE).round()
        start = ((row[:, 1, None] * line + row[:, 2, None]) * _FINE).round()
        fine = start[:, :, None] + along[:, None] + _FINE // _COARSE // 2
        return (fine / (_FINE // _COARSE)).floor() / _COARSE

    return sampled(images, places(back[:, 1]), places(back[:, 0]), "reflect")
