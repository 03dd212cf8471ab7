"""Boxes of images of any size to squares of one size, a whole batch in one kernel, on the GPU.

Needs Triton, which comes with PyTorch for CUDA. Import this module only if images are on a GPU.
"""

from collections.abc import Sequence

import torch
import triton
import triton.language as tl
from torch import Tensor

from zerosnet.data.streamed.decode import Box

WARPS = 4


def resized_crops(images: Sequence[Tensor], boxes: Sequence[Box], side: int) -> Tensor:
    """uint8 images (3, h, w) and a box in each to (n, side, side, 3): bilinear with antialiasing, as Pillow does it.

    Along each axis an output pixel is the mean of the box's pixels, weighted by a triangle around its centre,

        out_i = sum_j w_ij in_j / sum_j w_ij,   w_ij = max(0, 1 - |j + 1/2 - s (i + 1/2)| / max(s, 1)),

    where s is the box's side divided by `side`. Nothing outside the box is read.
    """
    corners, device = [], images[0].device
    for image, (left, top, width, height) in zip(images, boxes, strict=True):
        planes, rows, columns = image.stride()
        assert image.dtype == torch.uint8 and columns == 1 and image.device == device
        assert left >= 0 and top >= 0 and left + width <= image.shape[2] and top + height <= image.shape[1]
        corners.append([image.data_ptr() + top * rows + left, planes, rows, height, width])
    table = torch.tensor(corners, dtype=torch.int64)
    if device.type == "cuda":
        table = table.pin_memory().to(device, non_blocking=True)
    out = torch.empty(len(images), side, side, 3, dtype=torch.uint8, device=device)
    _resize_boxes[side, len(images)](table, out, side, BLOCK=triton.next_power_of_2(side), num_warps=WARPS)
    return out


@triton.jit
def _resize_boxes(table, out, side, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    """Compute one row of one square: BLOCK pixels, with four channels of which three exist."""
    y, n = tl.program_id(0), tl.program_id(1)
    corner = tl.load(table + 5 * n).to(tl.pointer_type(tl.uint8))
    planes, rows = tl.load(table + 5 * n + 1), tl.load(table + 5 * n + 2)
    height, width = tl.load(table + 5 * n + 3).to(tl.int32), tl.load(table + 5 * n + 4).to(tl.int32)
    x, channel = tl.arange(0, BLOCK), tl.arange(0, 4)

    scale = height.to(tl.float32) / side
    reach, centre = tl.maximum(scale, 1.0), scale * (y + 0.5)
    top = tl.maximum((centre - reach + 0.5).to(tl.int32), 0)
    bottom = tl.minimum((centre + reach + 0.5).to(tl.int32), height)

    scale_x = width.to(tl.float32) / side
    reach_x, centre_x = tl.maximum(scale_x, 1.0), scale_x * (x + 0.5)
    left = tl.maximum((centre_x - reach_x + 0.5).to(tl.int32), 0)
    right = tl.minimum((centre_x + reach_x + 0.5).to(tl.int32), width)
    right = tl.where(x < side, right, 0)
    taps = (2 * reach_x).to(tl.int32) + 2

    sums = tl.zeros((4, BLOCK), dtype=tl.float32)
    weights = tl.zeros((BLOCK,), dtype=tl.float32)
    for row in range(top, bottom):
        weight = tl.maximum(1 - tl.abs(row + 0.5 - centre) / reach, 0.0)
        for tap in range(taps):
            column = left + tap
            inside = column < right
            weight_x = weight * tl.maximum(1 - tl.abs(column + 0.5 - centre_x) / reach_x, 0.0)
            weight_x = tl.where(inside, weight_x, 0.0)
            places = channel[:, None] * planes + row * rows + column[None, :]
            pixels = tl.load(corner + places, mask=(channel[:, None] < 3) & inside[None, :], other=0)
            sums += weight_x[None, :] * pixels.to(tl.float32)
            weights += weight_x
    means = sums / tl.maximum(weights, 1e-20)[None, :]
    here = out + (n * side + y) * side * 3 + 3 * x[None, :] + channel[:, None]
    tl.store(here, (means + 0.5).to(tl.int32).to(tl.uint8), mask=(channel[:, None] < 3) & (x[None, :] < side))
