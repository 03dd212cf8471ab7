"""Shares, cosines and influences are taken over the features of a token or pixel, wherever their axis is."""

from collections.abc import Callable

import pytest
import torch
from tests.models.reading.zoo import WIDTH, HyperConnections
from torch import Tensor, nn
from torch.nn import functional

from zerosnet.models import diagnose
from zerosnet.models.reading.features import axis_in, feature_axes
from zerosnet.models.reading.trace import run

Measures = list[tuple[float, float, float]]


def _measures(part: Tensor, before: Tensor, after: Tensor, axis: int) -> tuple[float, float, float]:
    """Compute the deviation of the share, the cosine and the influence."""
    spread = (part.norm(dim=axis) / after.norm(dim=axis)).std(correction=0).item()
    cosine = functional.cosine_similarity(part, after - part, dim=axis).mean().item()
    return spread, cosine, 1 - functional.cosine_similarity(before, after, dim=axis).mean().item()


def _reported(model: nn.Module, x: Tensor) -> Measures:
    return [(block.share_spread, block.cosine, block.influence) for block in diagnose(model, x).blocks]


def _close(found: Measures, true: Measures) -> bool:
    return len(found) == len(true) and all(pytest.approx(t, abs=2e-5) == f for f, t in zip(found, true))


class Maps(nn.Module):
    """Residual branches on maps; the channels are at `axis`, 1 or 3."""

    def __init__(self, axis: int, width: int) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.axis = axis
        layer: Callable[[], nn.Module]
        if axis == 3:
            self.stem: nn.Module = nn.Linear(3, width)
            layer = lambda: nn.Sequential(nn.LayerNorm(width), nn.Linear(width, width), nn.GELU())  # noqa: E731
        else:
            self.stem = nn.Conv2d(3, width, 1)
            layer = lambda: nn.Sequential(nn.GroupNorm(1, width), nn.Conv2d(width, width, 3, padding=1))  # noqa: E731
        self.f = nn.ModuleList(layer() for _ in range(3))
        self.head = nn.Linear(width, 2)

    def forward(self, x: Tensor) -> Tensor:
        y = self.stem(x)
        for f in self.f:
            y = y + f(y)
        return self.head(y.mean((1, 2) if self.axis == 3 else (2, 3)))

    def measures(self, x: Tensor) -> Measures:
        found = []
        with torch.no_grad():
            y = self.stem(x)
            for f in self.f:
                found.append(_measures(f(y), y, y + f(y), self.axis))
                y = y + f(y)
        return found


class TokenMixer(nn.Module):
    """Branches that mix tokens, not features."""

    def __init__(self, tokens: int = 6) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.stem, self.head = nn.Linear(8, WIDTH), nn.Linear(WIDTH, 2)
        self.f = nn.ModuleList(nn.Linear(tokens, tokens) for _ in range(3))

    def forward(self, x: Tensor) -> Tensor:
        y = self.stem(x)
        for f in self.f:
            y = f(y.transpose(1, 2)).transpose(1, 2) + y
        return self.head(y.mean(1))


@pytest.mark.parametrize("size", [(8, 8), (8, 12), (16, 8), (1, 12)])
@pytest.mark.parametrize("axis", [1, 3])
@pytest.mark.parametrize("count", [1, 3])
def test_features_of_maps_are_their_channels_first_or_last(axis: int, size: tuple[int, int], count: int) -> None:
    model = Maps(axis, 16)
    x = torch.randn(count, 3, *size) if axis == 1 else torch.randn(count, *size, 3)
    assert _close(_reported(model, x), model.measures(x))


@pytest.mark.parametrize("shape", [(4, 7), (4, 5, 7)])
def test_features_of_streams_in_one_tensor_are_those_of_a_token(shape: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    m = 3
    model = HyperConnections(torch.eye(m) + 0.3 * torch.randn(4, m, m), torch.rand(4, m) + 0.5, torch.rand(4, m))
    x = torch.randn(*shape, 8)
    true, reads, branches = [], [], []
    with torch.no_grad():
        X = model.stem(x).unsqueeze(-2).expand(*x.shape[:-1], m, WIDTH)
        for n, f in enumerate(model.branches):
            reads.append(torch.einsum("m,...md->...d", model.c[n], X))
            branches.append(f(reads[-1]))
            X = model.A[n] @ X + model.b[n][:, None] * branches[-1].unsqueeze(-2)
        reads.append(X.sum(-2))
        weights = [*model.c, torch.ones(m)]
        for n, branch in enumerate(branches):
            true.append(_measures((weights[n + 1] @ model.b[n]) * branch, reads[n], reads[n + 1], -1))
    assert _close(_reported(model, x), true)


def test_tokens_that_a_branch_mixes_are_no_features() -> None:
    model, x = TokenMixer(), torch.randn(3, 6, 8)
    true = []
    with torch.no_grad():
        y = model.stem(x)
        for f in model.f:
            added = f(y.transpose(1, 2)).transpose(1, 2)
            true.append(_measures(added, y, y + added, -1))
            y = y + added
    assert _close(_reported(model, x), true)


def test_features_are_followed_through_every_rearrangement() -> None:
    class Rearranged(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.f = nn.Linear(3, 5)

        def forward(self, x: Tensor) -> Tensor:
            y = self.f(x)  # (2, 7, 5)
            y = y.movedim(-1, 0).unsqueeze(2)  # (5, 2, 1, 7)
            y = torch.einsum("dbst,m->mtbsd", y, torch.ones(4))  # (4, 7, 2, 1, 5)
            y = y.permute(4, 0, 1, 2, 3).flatten(1, 2)  # (5, 28, 2, 1)
            return (y.mT.transpose(0, 1) * 2).squeeze(2)[..., 1:]  # (1, 5, ...)

    trace = run(Rearranged(), torch.randn(2, 7, 3))
    shapes = [v.shape for v in trace.vertices]
    axes = feature_axes(trace.vertices)
    assert all(axis is not None and shape[axis] == 5 for axis, shape in list(zip(axes, shapes))[1:] if 5 in shape)


def test_an_axis_keeps_its_place_among_those_longer_than_one() -> None:
    assert axis_in((3, 7, 5), 3, (3, 7, 1, 5)) == 2
    assert axis_in((1, 5, 7), 0, (5, 7)) == 1
