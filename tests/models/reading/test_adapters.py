"""Declared wirings of known packages agree with what is measured."""

import pytest
import torch
from tests.models.reading.networks import NETWORKS, awake
from tests.models.reading.zoo import Gains
from torch import nn

from zerosnet.errors import InputError
from zerosnet.models import declared_wiring, wiring_of
from zerosnet.models.reading.adapters import ADAPTERS, plain

AGREES = 1e-4


@pytest.mark.parametrize("name", NETWORKS)
def test_an_adapter_agrees_with_what_is_measured(name: str) -> None:
    network = NETWORKS[name]
    model, example = network.build(), network.example()
    awake(model)
    measured = wiring_of(model, example)
    declared = declared_wiring(model, example)
    assert measured.difference(declared) < AGREES
    assert measured.counts == declared.counts == network.counts
    assert measured.streams == network.streams
    assert measured.names[0] == network.first


@pytest.mark.parametrize("name", ["deepseek", "hyper-connections", "mhc"])
def test_mixing_computed_from_the_state_is_reported_as_such(name: str) -> None:
    network = NETWORKS[name]
    model = network.build()
    awake(model)
    found = wiring_of(model, network.example())
    assert found.depends_on_input
    assert all(step.over == "token" and step.spread > 1e-3 for step in found.measured)


def test_doubly_stochastic_mixing_is_measured_as_such() -> None:
    network = NETWORKS["deepseek"]
    found = wiring_of(network.build(), network.example())
    for step in found.steps:
        A = torch.tensor(step.A)
        assert torch.allclose(A.sum(0), torch.ones(4, dtype=A.dtype), atol=1e-3)
        assert torch.allclose(A.sum(1), torch.ones(4, dtype=A.dtype), atol=1e-3)


def test_a_class_of_ones_own_takes_an_adapter() -> None:
    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.f, self.gain = nn.Sequential(nn.Linear(8, 8), nn.Tanh()), nn.Parameter(torch.tensor(0.3))

        def forward(self, y: torch.Tensor) -> torch.Tensor:
            return y + self.gain * self.f(y)

    model, example = nn.Sequential(Block(), Block()), torch.randn(4, 8)
    own = {f"{Block.__module__}.{Block.__qualname__}": plain("gain")}
    assert wiring_of(model, example).difference(declared_wiring(model, example, own)) < 1e-7
    assert not own.keys() & ADAPTERS.keys()


def test_a_network_without_known_blocks_is_refused() -> None:
    with pytest.raises(InputError, match="no block of a known class"):
        declared_wiring(Gains([1.0], [1.0]), torch.randn(2, 5, 8))
