"""Fit the coefficients of a sum: target = sum of coefficient * regressor, with as few different coefficients as do.

Coefficients may be one set of numbers for all entries, or one per image, per token, per channel. The first of these
groupings under which the sum is exact is taken, so that a mixing that depends on the input is told from a fixed one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import torch
from torch import Tensor


@dataclass(frozen=True)
class Grouping:
    """The axes along which coefficients may differ, for tensors of `dims` axes (None: of any number)."""

    name: str
    axes: tuple[int, ...]
    dims: int | None = None
    of_input: bool = True
    """Coefficients that differ so depend on the input."""


GROUPINGS = (
    Grouping("all", (), of_input=False),
    Grouping("channel", (-1,), of_input=False),
    Grouping("channel", (1,), 4, of_input=False),
    Grouping("position or channel", (1,), 3, of_input=False),
    Grouping("image", (0,)),
    Grouping("token", (0, 1), 3),
    Grouping("channel of an image", (0, 1), 4),
    Grouping("pixel", (0, 2, 3), 4),
    Grouping("pixel", (0, 1, 2), 4),
    Grouping("channel of an image", (0, -1)),
)
"""From the simplest on."""


@dataclass(frozen=True)
class Fit:
    """Coefficients of a sum.

    Attributes:
        values: (groups, targets, regressors).
        grouping: The coefficients that belong together, an entry of `GROUPINGS`.
        error: Norm of what is left over, relative to what the last regressors, the branches, explain.
    """

    values: Tensor
    grouping: Grouping
    error: float

    @property
    def mean(self) -> Tensor:
        return self.values.mean(0)

    @property
    def spread(self) -> Tensor:
        """Deviation of every coefficient among the groups."""
        return self.values.std(0, correction=0)


def fit(targets: Tensor, regressors: Tensor, tolerance: float, branches: int = 0) -> Fit:
    """Fit targets (m, ...) by regressors (k, ...) under the first grouping that is exact, or the best one.

    Args:
        tolerance: An error below it counts as exact.
        branches: So many of the last regressors are branches. The error is relative to their part, which may be far
            smaller than the state; without branches it is relative to the targets.
    """
    best: Fit | None = None
    for grouping in GROUPINGS:
        found = _fit_grouped(targets, regressors, grouping, branches)
        if found is None:
            continue
        if found.error <= tolerance:
            return found
        if best is None or found.error < best.error:
            best = found
    assert best is not None, "the grouping of all entries is always there"
    return best


def _fit_grouped(targets: Tensor, regressors: Tensor, grouping: Grouping, branches: int) -> Fit | None:
    dims = targets.dim() - 1
    kept = sorted({axis % dims for axis in grouping.axes if -dims <= axis < dims})
    if grouping.dims not in (None, dims) or len(kept) != len(grouping.axes) or (dims and len(kept) == dims):
        return None
    left = [axis for axis in range(dims) if axis not in kept]
    order = [1 + axis for axis in kept] + [1 + axis for axis in left]
    y, x = (t.permute(*order, 0).flatten(0, len(kept) - 1) if kept else t.permute(*order, 0)[None]
            for t in (targets, regressors))  # fmt: skip
    y, x = (t.reshape(t.shape[0], -1, t.shape[-1]) for t in (y, x))
    if x.shape[1] < 2 * x.shape[2]:
        return None
    scale = x.square().mean(1, keepdim=True).sqrt().clamp_min(torch.finfo(x.dtype).tiny)
    q, r = torch.linalg.qr(x / scale)
    projected = q.mT @ y
    values = torch.linalg.lstsq(r, projected).solution / scale.mT
    rest = (y - x @ values).norm()
    part = (x[..., -branches:] @ values[..., -branches:, :]).norm() if branches else y.norm()
    floor = 4 * torch.finfo(y.dtype).eps * y.norm()
    error = float(rest / torch.maximum(part, floor)) if rest > floor else 0.0
    return Fit(values.mT, grouping, error)


Layout = tuple[int, bool]
"""The axis that counts streams, and whether it does so with its outer part; it is the same for any number of images."""

ONE_STREAM: Layout = (-1, False)


def layouts(tensor: Tensor, base: Sequence[int]) -> dict[Layout, Tensor]:
    """All ways to see a tensor as streams of shape `base`, (m, *base): one axis, or a part of one, counts streams."""
    shape, wanted = list(tensor.shape), [size for size in base if size != 1]
    size = int(torch.Size(base).numel())
    if not size or tensor.numel() % size:
        return {}
    m = tensor.numel() // size
    if m == 1 and [s for s in shape if s != 1] == wanted:
        return {ONE_STREAM: tensor.reshape(1, *base)}
    found: dict[Layout, Tensor] = {}
    for axis, outer in product(range(len(shape)), (True, False)):
        if shape[axis] % m:
            continue
        rest = shape[axis] // m
        parts = (m, rest) if outer else (rest, m)
        at = axis if outer else axis + 1
        split = tensor.reshape(*shape[:axis], *parts, *shape[axis + 1 :])
        left = [s for i, s in enumerate(split.shape) if i != at and s != 1]
        key = (at if rest > 1 else axis, outer and rest > 1)
        if left == wanted and key not in found:
            found[key] = split.movedim(at, 0).reshape(m, *base)
    return found
