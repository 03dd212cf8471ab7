"""How sums are followed backwards to a state."""

import pytest
import torch
from tests.models.reading.zoo import Branch
from torch import Tensor, nn

from zerosnet.models import wiring_of
from zerosnet.models.reading.states import Walk
from zerosnet.models.reading.trace import Vertex


class TwoSteps(nn.Module):
    """y_{n+1} = 1.8 y_n - 0.8 y_{n-1} + f(y_n), by hand."""

    def __init__(self, blocks: int) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.f = nn.ModuleList(Branch(8) for _ in range(blocks))
        self.head = nn.Linear(8, 3)

    def forward(self, x: Tensor) -> Tensor:
        older = y = 2 * x
        for f in self.f:
            older, y = y, 1.8 * y - 0.8 * older + f(y)
        return self.head(y)


class FourStreams(TwoSteps):
    """Streams in a list, all of which are mixed."""

    def forward(self, x: Tensor) -> Tensor:
        streams = [2 * x] * 4
        for f in self.f:
            added = f(sum(streams))
            streams = [0.6 * stream + 0.1 * sum(streams) + added for stream in streams]
        return self.head(sum(streams))


@pytest.mark.parametrize("build", [TwoSteps, FourStreams])
def test_the_work_of_following_sums_is_linear_in_the_number_of_blocks(build, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    through = Walk._through

    def counted(self: Walk, vertex: Vertex) -> tuple[int, ...]:
        calls.append(1)
        assert len(calls) < 100_000, "it follows every path"
        return through(self, vertex)

    monkeypatch.setattr(Walk, "_through", counted)
    counts = []
    for blocks in (12, 24):
        calls.clear()
        assert len(wiring_of(build(blocks), torch.randn(2, 5, 8)).steps) == blocks
        counts.append(len(calls))
    assert counts[1] < 2.5 * counts[0]


def test_networks_of_many_blocks_are_read() -> None:
    assert len(wiring_of(TwoSteps(250), torch.randn(2, 5, 8)).steps) == 250
