"""The table of chips and shapes that have kernels. `compile.PRODUCTS` has the sources that it speaks of."""

from dataclasses import dataclass

WIDTHS = ((16, 32), (32, 16), (64, 8))  # channels and pixels across, of the three stages of a network
IMAGE = (WIDTHS[0][1],) * 2  # height and width of the images


@dataclass(frozen=True)
class Chip:
    """A family of chips by compute capability, and by (channels, width) what the kernels of its shapes are built on.

    A chip that is not in the table, and a shape that it does not have, get the plain engine.
    """

    capability: tuple[int, int]
    name: str
    shapes: dict[tuple[int, int], str]


CHIPS = (
    Chip(
        (9, 0),
        "Hopper (H100, H200)",
        {
            (16, 32): "mma.sync m16n8k16, weights in registers where there is no history to read",
            (32, 16): "mma.sync m16n8k16, weights in shared memory; first convolution: images ahead, cp.async",
            (64, 8): "wgmma m64n64k16, pixels and weights in shared memory; first convolution, backward: images ahead",
        },
    ),
)
