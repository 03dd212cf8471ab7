"""Networks of several streams: hyper-connections, free and doubly stochastic, and a first state that is mixed in."""

import numpy as np
import pytest
import torch
from torch.nn import functional

from zerosnet.errors import InputError
from zerosnet.models import create_model, diagnose, extract, tails, wiring_of, wiring_of_network
from zerosnet.models.stepping.streams import StreamsLaw, sinkhorn
from zerosnet.numerics import same_up_to_gauge

NAMES = ["streams20", "streams20_sinkhorn", "preresnet20_x0"]


def images(count: int = 4, channels: int = 3, size: int = 16) -> torch.Tensor:
    return torch.randn(count, channels, size, size, generator=torch.Generator().manual_seed(0))


def stirred(name: str, **options: object) -> torch.nn.Module:
    """A network whose matrices are not those of the start."""
    model = create_model(name, seed=1, **options)
    with torch.no_grad():
        values = model.stack.coefficients.values
        values += 0.2 * torch.randn(values.shape, generator=torch.Generator().manual_seed(5))
    return model


@pytest.mark.parametrize("name", ["streams20", "preresnet20_x0"])
def test_streams_start_as_a_preresnet_with_one_stream_a_stage(name: str) -> None:
    wiring = wiring_of_network(create_model(name))
    plain = wiring_of_network(create_model("preresnet20"))
    assert np.allclose(wiring.shares()[:3], plain.shares()[:3])


@pytest.mark.parametrize("name", NAMES)
def test_the_wiring_of_a_network_is_what_is_measured(name: str) -> None:
    model = stirred(name).eval()
    measured, own = wiring_of(model, images()), wiring_of_network(model)
    assert measured.counts == own.counts == (3, 3, 3)
    assert same_up_to_gauge(measured, own, tolerance=1e-5)
    for ours, theirs in zip(measured.steps[1:-1], own.steps[1:-1]):
        assert np.allclose(np.array(ours.A, dtype=float), np.array(theirs.A, dtype=float), atol=1e-5)
        assert np.allclose(np.array(ours.c, dtype=float), np.array(theirs.c, dtype=float), atol=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_a_network_of_streams_learns_and_its_matrices_move(name: str) -> None:
    model = create_model(name, in_chans=1, seed=1)
    before = model.stack.coefficients.values.detach().clone()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x, labels = images(16, 1, 8), torch.arange(16) % 10
    losses = []
    for _ in range(4):
        loss = functional.cross_entropy(model(x), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0]
    assert not torch.equal(model.stack.coefficients.values, before)


def test_sinkhorns_matrices_are_doubly_stochastic_whatever_the_optimiser_does() -> None:
    logits = 4 * torch.randn(50, 4, 4, generator=torch.Generator().manual_seed(0))
    A = sinkhorn(logits)
    assert A.dtype == torch.float32
    assert (A >= 0).all()
    assert torch.allclose(A.sum(-2), torch.ones(50, 4), atol=1e-5)
    assert torch.allclose(A.sum(-1), torch.ones(50, 4), atol=0.05)
    gains = wiring_of_network(stirred("streams56_sinkhorn")).gains()
    assert gains.forward_columns.max() < 1e-4


@pytest.mark.parametrize("name", NAMES)
def test_replicas_are_the_single_networks(name: str) -> None:
    model = stirred(name, replicas=2).eval()
    x = images()
    both = model(x)
    for k in range(2):
        single = create_model(name).eval()
        single.load_state_dict(extract(model.state_dict(), k, 2))
        assert torch.allclose(both[:, k], single(x), atol=1e-5)


def test_checkpointing_keeps_outputs_and_gradients() -> None:
    model, x = stirred("streams20").train(), images()
    found = []
    for enable in (False, True):
        model.set_grad_checkpointing(enable)
        model.zero_grad()
        model(x).square().sum().backward()
        found.append([p.grad.clone() for p in model.parameters()])
    assert all(torch.allclose(a, b, atol=1e-5) for a, b in zip(*found))


def test_a_network_of_streams_is_diagnosed() -> None:
    found = diagnose(create_model("streams20_sinkhorn", seed=1), images(8, size=32))
    assert found.wiring.streams == 4
    assert len(found.blocks) == 9
    assert found.blocks[1].likeness is not None


def test_wrong_numbers_of_streams_are_refused() -> None:
    with pytest.raises(InputError, match="streams is 9; expected a whole number from 1 to 8"):
        create_model("streams20", streams=9)
    with pytest.raises(InputError, match="mixing is 'some'"):
        StreamsLaw(2, "some")
    with pytest.raises(InputError, match="unknown option 'start'"):
        create_model("streams20", start="1;1")


@pytest.mark.parametrize("name", NAMES)
def test_branches_can_be_switched_off_from_any_block_on(name: str) -> None:
    model = stirred(name).eval()
    x = images()
    found = list(tails(model, x))
    assert len(found) == 10 and torch.equal(found[-1].logits, model(x))
    assert not torch.allclose(found[0].logits, found[-1].logits)
    step = found[3].step
    assert step is not None and step.slope.shape == step.state.shape
    together = create_model(name, replicas=2, seed=[1, 2]).eval()
    for n, tail in enumerate(tails(together, x)):
        alone = list(tails(create_model(name, seed=2).eval(), x))[n] if n in (0, 5) else None
        assert alone is None or torch.allclose(tail.logits[:, 1], alone.logits, atol=1e-5)
