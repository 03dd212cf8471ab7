"""Weather of CIFAR-10-C: snow, fog, and frost by a generated texture; see `noise` for what a corruption is."""

import torch
from torch import Tensor

from zerosnet.robustness.corruptions.draws import Draws
from zerosnet.robustness.corruptions.filters import BYTE, along_a_line, divided, gaussian, zoomed

GREY = (0.299, 0.587, 0.114)
FIRST_WIBBLE = 100.0


def snow(
    images: Tensor,
    mean: float,
    deviation: float,
    zoom: float,
    least: float,
    radius: int,
    sigma: float,
    kept: float,
    draws: Draws,
) -> Tensor:
    """Whiten the image and add flakes: bright spots of noise, drawn out along a steep line, twice, once upside down."""
    size = images.shape[-2:]
    layer = zoomed(mean + deviation * draws.normal("flakes", 1, *size), zoom)
    flakes = (torch.where(layer < least, 0, layer).clamp(0, 1) * BYTE).floor()
    flakes = along_a_line(flakes, radius, sigma, draws.between("angle", -135, -45))
    flakes = divided(flakes.floor(), BYTE)
    grey = (images * images.new_tensor(GREY).view(1, 3, 1, 1)).sum(1, keepdim=True)
    white = kept * images + (1 - kept) * torch.maximum(images, grey * 1.5 + 0.5)
    return white + flakes + flakes.flip(-2, -1)


def fog(images: Tensor, density: float, decay: float, draws: Draws) -> Tensor:
    """Add a plasma fractal, and scale so that the brightest pixel of the image stays where it is."""
    brightest = images.amax((1, 2, 3), keepdim=True)
    foggy = images + density * plasma(draws, images.shape[-1], decay)[:, None]
    return foggy * brightest / (brightest + density)


def plasma(draws: Draws, size: int, decay: float) -> Tensor:
    """A height map of [0, 1] by the diamond-square algorithm on a torus, (N, size, size); size is a power of two."""
    grid = torch.zeros(len(draws.index), size, size, dtype=torch.float64, device=draws.index.device)
    step, wibble = size, FIRST_WIBBLE

    def filled(total: Tensor, what: str) -> Tensor:
        return total / 4 + wibble * draws.between(f"{what} {step}", -wibble, wibble, *total.shape[1:])

    while step >= 2:
        half = step // 2
        corners = grid[:, ::step, ::step]
        rows = corners + corners.roll(-1, 1)
        grid[:, half::step, half::step] = filled(rows + rows.roll(-1, 2), "square")
        middles = grid[:, half::step, half::step]
        grid[:, ::step, half::step] = filled(middles + middles.roll(1, 1) + corners + corners.roll(-1, 2), "across")
        grid[:, half::step, ::step] = filled(middles + middles.roll(1, 2) + corners + corners.roll(-1, 1), "down")
        step, wibble = half, wibble / decay
    grid = grid - grid.amin((1, 2), keepdim=True)
    return grid / grid.amax((1, 2), keepdim=True)


def frost_generated(images: Tensor, kept: float, added: float, draws: Draws) -> Tensor:
    """Add ice of the published strength, but generated: the published one is cut out of photographs.

    Bright bluish veins, the ridges of smooth noise at two scales.
    """
    size = images.shape[-2:]
    ridges = torch.zeros(len(images), 1, *size, dtype=images.dtype, device=images.device)
    for scale, weight in ((4.0, 0.6), (1.5, 0.4)):
        smooth = gaussian(draws.normal(f"ice {scale}", 1, *size), scale, "symmetric")
        smooth = smooth / smooth.flatten(1).std(1).view(-1, 1, 1, 1)
        ridges = ridges + weight * (1 - smooth.abs()).clamp(0, 1)
    colour = images.new_tensor((0.85, 0.95, 1.0)).view(1, 3, 1, 1)
    return kept * images + added * ridges * colour
