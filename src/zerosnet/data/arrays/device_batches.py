"""Batches straight from uint8 images on the device: pick, crop, flip and normalise for K replicas in one expression.

Pure tensor operations with no data-dependent Python: they can be captured in a CUDA graph, and torch.compile fuses
them into one kernel that reads each pixel once. The result is bit-identical to the usual per-image pipeline
(zero padding, crop, flip, division by 255, normalisation).
"""

import torch
from torch import Tensor


def gather(
    images: Tensor,
    index: Tensor,
    dy: Tensor | None,
    dx: Tensor | None,
    flip: Tensor | None,
    mean: Tensor,
    std: Tensor,
    *,
    channels_last: bool = False,
    dtype: torch.dtype = torch.float32,
) -> Tensor:
    """Batches for K replicas, (B, K*C, H, W), from images (N, C, H, W) in uint8 and an index (K, B).

    Pixel (y, x) of an output image is pixel (y + dy, x' + dx) of its source, with x' = W-1-x where flipped, and 0
    outside the source; then (pixel/255 - mean) / std per channel. Padding is black *before* the normalisation, as when
    images are padded and then normalised. `dy`, `dx` and `flip` have the shape of `index`, or are None; `mean` and
    `std` have shape (C,). With `channels_last` the result has that memory format, without a copy.
    """
    channels, height, width = images.shape[1:]
    replicas, batch = index.shape
    # the five coordinates of an output pixel, each along its own axis of the order in which the result is laid out
    axes = "byxkc" if channels_last else "bkcyx"

    def along(t: Tensor, names: str) -> Tensor:
        sizes = iter(t.shape)
        return t.view([next(sizes) if axis in names else 1 for axis in axes])

    def per_image(t: Tensor) -> Tensor:
        return along(t.t().contiguous(), "bk")

    def axis(name: str, size: int) -> Tensor:
        return along(torch.arange(size, device=images.device), name)

    y, x = axis("y", height), axis("x", width)
    if flip is not None:
        x = torch.where(per_image(flip), width - 1 - x, x)
    inside = None
    if dy is not None and dx is not None:
        y, x = y + per_image(dy), x + per_image(dx)
        inside = (y >= 0) & (y < height) & (x >= 0) & (x < width)
        y, x = y.clamp(0, height - 1), x.clamp(0, width - 1)
    pixels = images[per_image(index), axis("c", channels), y, x]
    if inside is not None:
        pixels = torch.where(inside, pixels, 0)
    result = (pixels.to(dtype) / 255 - along(mean.to(dtype), "c")) / along(std.to(dtype), "c")
    if channels_last:
        return result.reshape(batch, height, width, replicas * channels).permute(0, 3, 1, 2)
    return result.reshape(batch, replicas * channels, height, width)
