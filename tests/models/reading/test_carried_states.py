"""Gains follow what the next block reads, with all that is carried along, whatever the layout of streams."""

import pytest
import torch
from tests.models.reading.zoo import WIDTH, Branch, FirstStateMixedIn, HyperConnections
from torch import Tensor, nn

from zerosnet.models import WiringDiagnosis, diagnose, wiring_of


class Momentum(nn.Module):
    """v <- 0.9 v + 0.1 f(x), then x <- x + v."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.stem, self.head = nn.Linear(8, WIDTH), nn.Linear(WIDTH, 3)
        self.branches = nn.ModuleList(Branch() for _ in range(4))

    def states(self, y: Tensor) -> list[Tensor]:
        states, v = [y], torch.zeros_like(y)
        for f in self.branches:
            v = 0.9 * v + 0.1 * f(states[-1])
            states.append(states[-1] + v)
        return states

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.states(self.stem(x))[-1])


class MixedIn(FirstStateMixedIn):
    """The same with what every block and the head read."""

    def states(self, y: Tensor) -> list[Tensor]:
        first, reads = y, []
        for (a, m), f in zip(self.weights, self.branches):
            reads.append(a * y + m * first)
            y = reads[-1] + f(reads[-1])
        return [*reads, y]


class Folded(HyperConnections):
    """Hyper-connections with the streams folded into the batch."""

    def forward(self, x: Tensor) -> Tensor:
        m, y = self.A.shape[-1], self.stem(x)
        X = y.repeat_interleave(m, 0)
        for n, f in enumerate(self.branches):
            streams = X.view(len(x), m, *y.shape[1:])
            added = f(torch.einsum("m,bmtd->btd", self.c[n], streams))
            streams = torch.einsum("ij,bjtd->bitd", self.A[n], streams) + self.b[n][:, None, None] * added[:, None]
            X = streams.reshape(len(x) * m, *y.shape[1:])
        return self.head(X.view(len(x), m, *y.shape[1:]).sum(1))


class Apart(HyperConnections):
    """Hyper-connections with every stream a tensor of its own."""

    def forward(self, x: Tensor) -> Tensor:
        m = self.A.shape[-1]
        X = [self.stem(x)] * m
        for n, f in enumerate(self.branches):
            added = f(sum(self.c[n, i] * X[i] for i in range(m)))
            X = [sum(self.A[n, i, j] * X[j] for j in range(m)) + self.b[n, i] * added for i in range(m)]
        return self.head(sum(X))


def _rms(tensor: Tensor) -> float:
    return tensor.square().mean().sqrt().item()


def _true_gains(model: Momentum | MixedIn, x: Tensor) -> tuple[list[float], list[float]]:
    """Disturb the stem's output as well as a diagnosis does, and follow a gradient back."""
    torch.manual_seed(1)
    y = model.stem(x).detach().requires_grad_()
    states = model.states(y)
    with torch.no_grad():
        moved = model.states(y + 1e-2 * _rms(y) * torch.randn_like(y))
    moves = [_rms(after - before) for before, after in zip(states, moved)]
    loss = model.head(states[-1]).mul(torch.randn(len(x), x.shape[1], 3)).sum()
    norms = [gradient.norm().item() for gradient in torch.autograd.grad(loss, states[1:])]
    return [move / moves[0] for move in moves[1:]], [norm / norms[-1] for norm in norms]


def _hyper(kind: type[HyperConnections], m: int) -> HyperConnections:
    torch.manual_seed(0)
    return kind(torch.eye(m) + 0.3 * torch.randn(4, m, m), 1 + 0.3 * torch.randn(4, m), torch.rand(4, m)).eval()


@pytest.mark.parametrize(
    "build", [Momentum, lambda: MixedIn([(0.8, 0.2), (0.85, 0.2), (0.9, 0.2), (0.7, 0.5)])], ids=["momentum", "x0"]
)
def test_gains_are_those_of_what_the_next_block_reads(build) -> None:
    torch.manual_seed(0)
    model = build()
    x = torch.randn(4, 12, 8)
    forward, backward = _true_gains(model, x)
    found = diagnose(model, x)
    assert [block.forward_gain for block in found.blocks] == pytest.approx(forward, rel=0.05)
    assert [block.backward_gain for block in found.blocks] == pytest.approx(backward, rel=0.05)


def test_a_share_is_measured_after_the_first_state_is_mixed_in_for_the_last_time() -> None:
    torch.manual_seed(0)
    found = diagnose(MixedIn([(0.8, 0.2), (0.85, 0.2), (0.5, 2.0)]), torch.randn(4, 12, 8))
    assert found.prediction_error < 0.05


@pytest.mark.parametrize("kind", [Folded, Apart])
def test_the_layout_of_streams_does_not_matter(kind: type[HyperConnections]) -> None:
    x = torch.randn(3, 6, 8, generator=torch.Generator().manual_seed(5))
    usual, other = (diagnose(_hyper(one, 3), x) for one in (HyperConnections, kind))
    assert isinstance(usual, WiringDiagnosis) and isinstance(other, WiringDiagnosis)
    for a, b in zip(usual.blocks, other.blocks):
        for name in ("share", "share_spread", "predicted_share", "forward_gain", "backward_gain", "cosine",
                     "influence", "likeness"):  # fmt: skip
            assert getattr(a, name) == pytest.approx(getattr(b, name), rel=1e-3, abs=1e-5), name


@pytest.mark.parametrize("m", [2, 3, 4])
def test_streams_in_the_batch_start_as_they_are(m: int) -> None:
    wiring = wiring_of(_hyper(Folded, m), torch.randn(4, 6, 8))
    assert wiring.start == pytest.approx((1.0,) * m, abs=1e-9)


def test_copies_of_the_first_state_are_disturbed_alike() -> None:
    """Without branches and mixing, streams keep a disturbance of their first state, whatever reads them."""
    for kind in (HyperConnections, Folded, Apart):
        m = 4
        model = kind(torch.ones(3, m, m) / m, torch.zeros(3, m), torch.ones(3, m) / m)
        gains = [block.forward_gain for block in diagnose(model, torch.randn(3, 6, 8)).blocks]
        assert gains == pytest.approx([1.0] * 3, rel=1e-4), kind.__name__
