"""Spatter of CIFAR-10-C: drops of water with shaded borders, or mud; see `noise` for what a corruption is.

The shading is a chain of operations on bytes: edges (Canny, 1986), distance to them, histogram, relief. Each is written
for all images at once.
"""

import torch
from torch import Tensor
from torch.nn import functional

from zerosnet.robustness.corruptions.draws import Draws
from zerosnet.robustness.corruptions.filters import BYTE, correlate, divided, gaussian, padded

WATER, MUD = (175 / 255, 238 / 255, 238 / 255), (63 / 255, 42 / 255, 20 / 255)
RELIEF = ((-2.0, -1.0, 0.0), (-1.0, 1.0, 1.0), (0.0, 1.0, 2.0))
FAINT, CLEAR = 50, 150  # an edge begins above the second, and goes on above the first
FARTHEST = 20
TAN_22 = 13573  # tan(22.5 degrees) in units of 2^-15
# moves of a chamfer distance on 5 x 5 pixels (Borgefors, 1986), in units of 2^-16
STEPS = {(0, 1): 65536, (1, 1): 91750, (1, 2): 143976}


def spatter(
    images: Tensor,
    mean: float,
    deviation: float,
    blur: float,
    least: float,
    strength: float,
    mud: bool,
    draws: Draws,
) -> Tensor:
    """Blur noise, keep what is high, and let it lie on the image as water or as mud."""
    layer = gaussian(mean + deviation * draws.normal("liquid", 1, *images.shape[-2:]), blur)
    layer = torch.where(layer < least, 0, layer)
    if mud:
        cover = gaussian((layer > least).to(images), strength)
        cover = torch.where(cover < 0.8, 0, cover)
        return images * (1 - cover) + cover * images.new_tensor(MUD).view(1, 3, 1, 1)
    drops = (layer * BYTE).floor() % 256  # a byte that is too small for a value begins again at 0, as published
    shaded = drops * shading(drops)
    highest = shaded.amax((1, 2, 3), keepdim=True)
    shaded = strength * shaded / torch.where(highest > 0, highest, 1)
    return images + shaded * images.new_tensor(WATER).view(1, 3, 1, 1)


def shading(drops: Tensor) -> Tensor:
    """Relief of the distance to the border of drops, bytes (N, 1, H, W) to bytes."""
    distance = distance_to(edges(drops)).clamp_max(FARTHEST)
    levels = equalized(_mean(distance).floor())
    relief = correlate(levels, levels.new_tensor(RELIEF)).clamp(0, 255)
    return _mean(relief).round()


def _mean(images: Tensor) -> Tensor:
    return divided(correlate(images, images.new_ones(3, 3)), 9)


def edges(images: Tensor) -> Tensor:
    """Find the edges of byte images, (N, 1, H, W): maxima of the slope across, connected to a clear one."""
    wide = padded(images, 1, "replicate")[:, 0]
    rows = wide[:, :-2] + 2 * wide[:, 1:-1] + wide[:, 2:]
    columns = wide[:, :, :-2] + 2 * wide[:, :, 1:-1] + wide[:, :, 2:]
    dx, dy = rows[:, :, 2:] - rows[:, :, :-2], columns[:, 2:] - columns[:, :-2]
    size = dx.abs() + dy.abs()
    around = functional.pad(size, (1, 1, 1, 1))

    def at(down: int, right: int) -> Tensor:
        height, width = size.shape[1:]
        return around[:, 1 + down : 1 + down + height, 1 + right : 1 + right + width]

    x, y = dx.abs() * TAN_22, dy.abs() * 32768
    flat, steep = y < x, y > x + dx.abs() * 65536
    across = (size > at(0, -1)) & (size >= at(0, 1))
    down = (size > at(-1, 0)) & (size >= at(1, 0))
    falling = (size > at(-1, -1)) & (size > at(1, 1))
    rising = (size > at(-1, 1)) & (size > at(1, -1))
    slanted = torch.where((dx < 0) ^ (dy < 0), rising, falling)
    thin = torch.where(flat, across, torch.where(steep, down, slanted)) & (size > FAINT)
    found = thin & (size > CLEAR)
    while True:
        grown = functional.max_pool2d(found.float(), 3, 1, 1).bool() & thin
        if torch.equal(grown, found):
            return found[:, None]
        found = grown


def distance_to(found: Tensor) -> Tensor:
    """The chamfer distance to the nearest marked pixel, (N, 1, H, W); at least FARTHEST if there is none near."""
    far = (FARTHEST + 5) << 16
    height, width = found.shape[2:]
    distance = torch.where(found, 0, far).double()
    moves = [
        (sign * a, other * b, cost)
        for (one, two), cost in STEPS.items()
        for a, b in {(one, two), (two, one)}
        for sign in ((1, -1) if a else (1,))
        for other in ((1, -1) if b else (1,))
    ]
    for _ in range(FARTHEST + 1):
        wide = functional.pad(distance, (2, 2, 2, 2), value=float(far))
        nearer = distance
        for down, right, cost in moves:
            nearer = torch.minimum(nearer, wide[:, :, 2 + down :, 2 + right :][:, :, :height, :width] + cost)
        if torch.equal(nearer, distance):
            break
        distance = nearer
    return (distance / 65536).float().double()


def equalized(images: Tensor) -> Tensor:
    """Spread the histogram of small whole numbers (0 to FARTHEST), (N, 1, H, W), over all bytes."""
    n, pixels = len(images), images[0].numel()
    levels = images.flatten(1).long()
    counts = torch.zeros(n, FARTHEST + 1, dtype=torch.float64, device=images.device)
    counts.scatter_add_(1, levels, torch.ones_like(levels, dtype=torch.float64))
    below = counts.cumsum(1)
    lowest = levels.amin(1, keepdim=True)
    first = counts.gather(1, lowest)
    table = ((below - first) * (255 / (pixels - first).clamp_min(1)).float().double()).round().clamp(0, 255)
    spread = table.gather(1, levels).view(images.shape)
    return torch.where((first == pixels).view(-1, 1, 1, 1), images, spread)
