"""The wiring of any network, measured from outside."""

import copy

import numpy as np
import pytest
import torch
from tests.models.reading.zoo import (
    Branch,
    DenseAverages,
    Dictionaries,
    FirstStateMixedIn,
    Gains,
    Highway,
    HyperConnections,
    ListOfStreams,
    Parallel,
    Permuted,
    Positions,
    PostNorm,
)
from torch import nn

from zerosnet.errors import InputError
from zerosnet.models import MeasuredWiring, wiring_of
from zerosnet.numerics import Wiring, same_up_to_gauge

EXACT = 1e-8


class Joined(nn.Module):
    """Maps are joined, as in a U-Net."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.head = nn.Linear(8, 24), nn.Linear(24, 48), nn.Linear(72, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.first(x)
        return self.head(torch.cat([y, self.second(y.relu()).relu()], -1))


def tokens(count: int = 3) -> torch.Tensor:
    return torch.randn(count, 5, 8, generator=torch.Generator().manual_seed(1))


def random(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def matrices(wiring: Wiring) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    parts = zip(*((step.A, step.b, step.c) for step in wiring.steps))
    A, b, c = (np.array(part, dtype=float) for part in parts)
    return A, b, c


def test_residual_gains_are_measured() -> None:
    keep, add = [1.0, 0.5, -0.25, 2.0], [1.0, 0.0, 3.0, 1e-6]
    found = wiring_of(Gains(keep, add), tokens())
    A, b, c = matrices(found)
    assert np.allclose(A[:, 0, 0], keep, atol=EXACT)
    assert np.allclose(b[:, 0], add, rtol=1e-6, atol=1e-12)
    assert (c == 1).all()
    assert found.names == tuple(f"branches.{n}" for n in range(4))
    assert not found.depends_on_input
    assert found.spread == 0


def test_a_network_is_left_as_it_was() -> None:
    model = Gains([1.0, 0.5], [1.0, 1.0]).train()
    before = copy.deepcopy(model.state_dict())
    state = torch.get_rng_state()
    wiring_of(model, tokens())
    assert model.training
    assert torch.equal(torch.get_rng_state(), state)
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())


def test_a_first_state_that_is_mixed_in_is_a_second_stream() -> None:
    weights = [(0.9, 0.1), (0.8, 0.3), (0.7, -0.2)]
    found = wiring_of(FirstStateMixedIn(weights), tokens())
    keep = [[[1, 0], [m, a]] for a, m in weights]
    expected = Wiring.of_matrices(keep, [[0, 1]] * 3, [[m, a] for a, m in weights], [0, 1])
    assert same_up_to_gauge(found, expected, tolerance=1e-8)
    assert not same_up_to_gauge(found, Wiring.of_gains([0.9, 0.8, 0.7], [1, 1, 1]), tolerance=1e-3)


@pytest.mark.parametrize("m", [2, 4])
def test_hyper_connections_are_measured(m: int) -> None:
    A, b, c = random(3, m, m), random(3, m, seed=1), random(3, m, seed=2)
    found = wiring_of(HyperConnections(A, b, c), tokens())
    for ours, theirs in zip(matrices(found), (A, b, c)):
        assert np.abs(ours - theirs.numpy()).max() < 1e-6
    assert found.start == (1.0,) * m
    assert np.allclose(found.read, 1)
    assert not found.depends_on_input


def test_a_mixing_that_is_declared_but_never_applied_is_seen() -> None:
    A, b, c = random(3, 4, 4), random(3, 4, seed=1), random(3, 4, seed=2)
    found = wiring_of(HyperConnections(A, b, c, used=False), tokens())
    assert np.abs(matrices(found)[0] - np.eye(4)).max() < EXACT


def test_mixing_that_depends_on_the_input_has_a_spread() -> None:
    A, b, c = torch.eye(4).repeat(3, 1, 1), torch.ones(3, 4), torch.ones(3, 4) / 4
    torch.manual_seed(0)
    model = HyperConnections(A, b, c, dynamic=0.1)
    found = wiring_of(model, tokens())
    assert found.depends_on_input
    assert all(step.over == "token" for step in found.measured)
    X = model.stem(tokens()).unsqueeze(-2).expand(3, 5, 4, -1)
    own = model.mixing(0, X).detach()
    assert np.abs(matrices(found)[0][0] - own.mean((0, 1)).numpy()).max() < 1e-4
    assert found.measured[0].spread == pytest.approx(float(own.std((0, 1), correction=0).max()), rel=1e-2)


def test_streams_may_be_tensors_of_their_own() -> None:
    A, b, c = random(3, 2, 2), random(3, 2, seed=1), random(3, 2, seed=2)
    found = wiring_of(ListOfStreams(A, b, c), tokens())
    for ours, theirs in zip(matrices(found), (A, b, c)):
        assert np.abs(ours - theirs.numpy()).max() < 1e-6
    assert np.allclose(found.read, [1, -1])


def test_dictionaries_and_keywords_are_followed() -> None:
    found = wiring_of(Dictionaries([1.0, 0.5, 0.25]), {"images": tokens(), "unused": torch.zeros(3)})
    assert np.allclose(matrices(found)[1][:, 0], [1, 0.5, 0.25])
    assert found.names == ("blocks.0.f", "blocks.1.f", "blocks.2.f")


def test_branches_side_by_side_are_one_block() -> None:
    found = wiring_of(Parallel(3), tokens())
    assert found.names == ("first.0+second.0", "first.1+second.1", "first.2+second.2")
    assert matrices(found)[0].shape == (3, 1, 1)


def test_a_norm_after_the_sum_divides_both_terms() -> None:
    torch.manual_seed(0)
    model = PostNorm(3)
    found = wiring_of(model, tokens())
    y = model.stem(tokens())
    total = y + model.branches[0](y)
    A, b, _ = matrices(found)
    assert A[0, 0, 0] == pytest.approx(b[0, 0])
    assert b[0, 0] == pytest.approx(1 / total.detach().std().item(), rel=0.1)
    assert found.measured[0].passes == ("layer_norm",)


def test_names_of_blocks_choose_them() -> None:
    model = Dictionaries([1.0, 0.5, 0.25])
    found = wiring_of(model, {"images": tokens()}, blocks=["blocks.1", "blocks.2"])
    assert np.allclose(matrices(found)[1][:, 0], [0.5, 0.25])


@pytest.mark.parametrize(
    ("model", "reported"),
    [
        (Permuted(3), "no linear combination"),
        (Highway(2), "in 2 of them weights that differ for every entry"),
        (Joined(), "made by cat in the network of tensors of shapes (3, 5, 24), (3, 5, 48), which are joined"),
        (nn.Sequential(nn.Linear(8, 8), nn.Tanh()), "there are no sums;"),
        (nn.Sequential(nn.Linear(7, 8)), "fails on the example of shape (3, 5, 8)"),
    ],
)
def test_what_cannot_be_read_is_an_error_that_reports_what_was_seen(model: nn.Module, reported: str) -> None:
    with pytest.raises(InputError, match=reported.replace("(", r"\(").replace(")", r"\)")):
        wiring_of(model, tokens())


def test_unknown_names_of_blocks_are_refused() -> None:
    with pytest.raises(InputError, match=r"blocks has 'layers\.0'"):
        wiring_of(Gains([1.0], [1.0]), tokens(), blocks=["layers.0"])


def test_a_model_that_is_no_module_is_refused() -> None:
    with pytest.raises(InputError, match="model is str"):
        wiring_of("vit", tokens())  # type: ignore[arg-type]


def test_a_chain_of_blocks_without_stem_or_head_is_read() -> None:
    class Residual(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.f = Branch(8)

        def forward(self, y: torch.Tensor) -> torch.Tensor:
            return y + self.f(y)

    found = wiring_of(nn.Sequential(*(Residual() for _ in range(4))), tokens())
    assert found.names == ("0.f", "1.f", "2.f", "3.f")


def test_shares_of_a_measured_wiring_follow_from_its_sizes() -> None:
    torch.manual_seed(0)
    model = Gains([1.0] * 3, [1.0] * 3)
    found = wiring_of(model, tokens())
    assert isinstance(found, MeasuredWiring)
    squares = np.cumsum([found.stem_size**2, *(size**2 for size in found.sizes)])
    expected = np.array(found.sizes) / np.sqrt(squares[1:])
    assert np.allclose(found.predicted_shares(), expected, rtol=1e-6)
    assert found.difference(Wiring.of_gains([1] * 3, [1] * 3)) < EXACT


@pytest.mark.parametrize("blocks", [3, 10])
def test_averages_over_all_earlier_states_are_one_stream_each(blocks: int) -> None:
    torch.manual_seed(0)
    weights = torch.rand(blocks, blocks + 1)
    wiring = wiring_of(DenseAverages(weights), torch.randn(3, 5, 16))
    assert [len(step.A) for step in wiring.steps[:-1]] == list(range(2, blocks + 1))
    first = wiring.steps[0]  # x is kept; y = x + f(x) becomes w0 x + w1 y
    w0, w1 = weights[0, :2].tolist()
    assert as_array(first.A) == pytest.approx(np.array([[1.0], [w0 + w1]]), abs=1e-6)
    assert as_array(first.b) == pytest.approx(np.array([0.0, w1]), abs=1e-6)


def as_array(values: object) -> np.ndarray:
    return np.array(values, dtype=float)


@pytest.mark.parametrize("each", [False, True])
def test_embeddings_that_are_added_are_no_blocks(each: bool) -> None:
    found = wiring_of(Positions(each=each), torch.arange(15).reshape(3, 5))
    assert found.names == ("branches.0", "branches.1", "branches.2")
    assert [float(step.b[0]) for step in found.steps] == [1.0] * 3
