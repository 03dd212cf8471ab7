"""Parts of corruptions: linear filters, blur along a line, zoom, and colours by hue, saturation and value.

Images are (N, C, H, W) in float64, so that rounding down to bytes agrees with what was published. Borders are
"replicate" (aaa|abcd), "reflect" (dcb|abcd) or "symmetric" (cba|abcd).
"""

import math
from collections.abc import Callable
from functools import lru_cache

import torch
from torch import Tensor
from torch.nn import functional

Grid = tuple[tuple[float, ...], ...]
BYTE = 255.0


def divided(values: Tensor, by: float) -> Tensor:
    """Divide, correctly rounded on every device.

    By a plain number CUDA multiplies with the reciprocal: a tenth of all bytes b then have 255 (b / 255) < b, and
    rounding down loses one.
    """
    return values / torch.full((), by, dtype=values.dtype, device=values.device)


def gaussian_weights(sigma: float, truncate: float = 4.0) -> list[float]:
    """Weights of a Gaussian cut off at `truncate` deviations; [1] if it is narrower than half a pixel."""
    radius = int(truncate * sigma + 0.5)
    weights = [math.exp(-0.5 / (sigma * sigma) * i * i) for i in range(-radius, radius + 1)]
    total = sum(weights)
    return [weight / total for weight in weights]


def _replicated(place: Tensor, size: int) -> Tensor:
    return place.clamp(0, size - 1)


def _reflected(place: Tensor, size: int) -> Tensor:
    place = place % (2 * size - 2)
    return torch.where(place < size, place, 2 * size - 2 - place)


def _symmetric(place: Tensor, size: int) -> Tensor:
    place = place % (2 * size)
    return torch.where(place < size, place, 2 * size - 1 - place)


# what an image is beyond its border: the place inside that stands for any place
BORDERS: dict[str, Callable[[Tensor, int], Tensor]] = {
    "replicate": _replicated,
    "reflect": _reflected,
    "symmetric": _symmetric,
}


def padded(images: Tensor, reach: int, border: str) -> Tensor:
    """Continue images beyond their borders."""
    for dim in (2, 3):
        size = images.shape[dim]
        place = torch.arange(-reach, size + reach, device=images.device)
        images = images.index_select(dim, BORDERS[border](place, size))
    return images


def gaussian(images: Tensor, sigma: float, border: str = "replicate", truncate: float = 4.0) -> Tensor:
    """Blur by a Gaussian, rows and columns one after the other."""
    weights = gaussian_weights(sigma, truncate) if sigma > 0 else [1.0]
    for dim in (2, 3):
        images = _along(images, weights, dim, border)
    return images


def _along(images: Tensor, weights: list[float], dim: int, border: str) -> Tensor:
    """Correlate with symmetric weights along a dimension, in the order of SciPy's sums: flat places round alike."""
    reach, size = len(weights) // 2, images.shape[dim]
    place = torch.arange(-reach, size + reach, device=images.device)
    wide = images.index_select(dim, BORDERS[border](place, size))
    total = images * weights[reach]
    for far in range(reach, 0, -1):
        pair = wide.narrow(dim, reach - far, size) + wide.narrow(dim, reach + far, size)
        total = total + pair * weights[reach - far]
    return total


def correlate(images: Tensor, kernel: Tensor, border: str = "reflect") -> Tensor:
    """Correlate every channel with one kernel of odd size."""
    n, channels, height, width = images.shape
    reach = kernel.shape[-1] // 2
    wide = padded(images, reach, border).reshape(n * channels, 1, height + 2 * reach, width + 2 * reach)
    return functional.conv2d(wide, kernel.to(images).view(1, 1, *kernel.shape)).view(images.shape)


def along_a_line(images: Tensor, radius: int, sigma: float, degrees: Tensor) -> Tensor:
    """Blur along a line, one angle per image, (N,), as ImageMagick's motion blur does, before it rounds.

    2 radius + 1 pixels on one side, with the weights of half a Gaussian; beyond the border the image stays what it is
    at the border.
    """
    _, channels, height, width = images.shape
    count = 2 * radius + 1
    weights = torch.tensor([math.exp(-(i * i) / (2 * sigma * sigma)) for i in range(count)], dtype=torch.float64)
    weights = (weights / weights.sum()).to(images)
    angle = torch.deg2rad(degrees.double())
    steps = torch.arange(count, device=images.device, dtype=torch.float64)
    across, down = ((steps * turn[:, None] - 0.5).ceil().long() for turn in (angle.cos(), angle.sin()))
    rows, columns = (torch.arange(size, device=images.device) for size in (height, width))
    flat, total = images.flatten(2), torch.zeros_like(images)
    for i, weight in enumerate(weights):
        y = (rows + down[:, i, None]).clamp(0, height - 1)
        x = (columns + across[:, i, None]).clamp(0, width - 1)
        place = (y[:, :, None] * width + x[:, None, :]).flatten(1)[:, None].expand(-1, channels, -1)
        total += weight * flat.gather(2, place).view(images.shape)
    return total


@lru_cache
def zoom_matrix(size: int, factor: float) -> Grid:
    """Weights (size, size) that enlarge the middle of a line by a factor, linearly, and cut it to its old size."""
    part = math.ceil(size / factor)
    enlarged = round(part * factor)
    first, cut = (size - part) // 2, (enlarged - size) // 2
    matrix = [[0.0] * size for _ in range(size)]
    for row in range(size):
        place = (row + cut) * (part - 1) / (enlarged - 1)
        below = min(int(place), part - 1)
        above = min(below + 1, part - 1)
        matrix[row][first + below] += 1 - (place - below)
        matrix[row][first + above] += place - below
    return tuple(map(tuple, matrix))


def zoomed(images: Tensor, factor: float) -> Tensor:
    """Enlarge the middle of square images by a factor; the size stays."""
    matrix = images.new_tensor(zoom_matrix(images.shape[-1], factor))
    return matrix @ images @ matrix.t()


def to_hsv(images: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Hue of [0, 1), saturation and value of colours of [0, 1], each (N, H, W)."""
    red, green, blue = images.unbind(1)
    value, least = images.amax(1), images.amin(1)
    spread = value - least
    safe = torch.where(spread > 0, spread, 1)
    hue = torch.where(red == value, (green - blue) / safe, 0)
    hue = torch.where(green == value, 2 + (blue - red) / safe, hue)
    hue = torch.where(blue == value, 4 + (red - green) / safe, hue)
    hue = torch.where(spread > 0, divided(hue, 6) % 1, 0)
    return hue, torch.where(spread > 0, spread / torch.where(value > 0, value, 1), 0), value


def sampled(images: Tensor, y: Tensor, x: Tensor, border: str) -> Tensor:
    """Interpolate linearly at (y, x), each (N, H, W)."""
    _, channels, height, width = images.shape
    inside = BORDERS[border]
    flat, total = images.flatten(2), torch.zeros_like(images)
    top, left = y.floor(), x.floor()
    for dy, wy in ((0, 1 - (y - top)), (1, y - top)):
        for dx, wx in ((0, 1 - (x - left)), (1, x - left)):
            place = inside((top + dy).long(), height) * width + inside((left + dx).long(), width)
            found = flat.gather(2, place.flatten(1)[:, None].expand(-1, channels, -1)).view(images.shape)
            total += (wy * wx)[:, None] * found
    return total


def from_hsv(hue: Tensor, saturation: Tensor, value: Tensor) -> Tensor:
    """Colours (N, 3, H, W) of hue, saturation and value."""
    sector = (hue * 6).floor()
    rest = hue * 6 - sector
    low = value * (1 - saturation)
    falling = value * (1 - rest * saturation)
    rising = value * (1 - (1 - rest) * saturation)
    ways = (
        (value, rising, low),
        (falling, value, low),
        (low, value, rising),
        (low, falling, value),
        (rising, low, value),
        (value, low, falling),
    )
    table = torch.stack([torch.stack(way, 1) for way in ways])
    chosen = (sector.long() % 6)[None, :, None].expand(1, -1, 3, -1, -1)
    return table.gather(0, chosen)[0]
