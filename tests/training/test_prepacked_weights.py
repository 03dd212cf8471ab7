"""Weights made ready at once: the same step, to the bit."""

import pytest
import torch

from zerosnet.models import Network, create_model
from zerosnet.models.layers import replicated as layers
from zerosnet.models.stepping import stack, sums
from zerosnet.training.fused.optimizer import Optimizer, Sgd
from zerosnet.training.fused.step import TorchStep, ready_weights

LAST = torch.channels_last
SCHEMES = ["zerosnet(-9/5)", "zerosnet(10)", "zerosnet(1/2)"]


def made(
    replicas: int, model: str = "zerosnet20", scheme: list[str] | str | None = None, *, flat_update: bool = True
) -> tuple[Network, Optimizer]:
    network = create_model(model, scheme=scheme, replicas=replicas, seed=list(range(replicas)))
    network = network.to(memory_format=LAST)
    network.conv_dtype = torch.float32  # on a GPU bfloat16, which batch norm does not mix with float32 on a CPU
    parameters = dict(network.named_parameters())
    groups = dict.fromkeys(parameters, 0)
    rule, decays = Sgd(0.9), [[0.0] * replicas]
    return network, Optimizer(
        parameters, rule, replicas=replicas, decays=decays, groups=groups, flat_update=flat_update
    )


@pytest.fixture
def as_on_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (layers, sums, stack):
        monkeypatch.setattr(module, "one_by_one", lambda _: False)


@pytest.mark.parametrize("replicas", [1, 3])
def test_losses_and_gradients_are_those_of_weights_made_ready_one_by_one(replicas: int, as_on_a_gpu: None) -> None:
    network, optimizer = made(replicas, scheme=SCHEMES[:replicas])
    ready = ready_weights(network, optimizer)
    assert ready is not None and optimizer.gradients is not None
    parameters = list(network.parameters())
    images = torch.randn(4, 3 * replicas, 16, 16).to(memory_format=LAST)
    labels = torch.randint(10, (replicas, 4))
    step = TorchStep(network, parameters, replicas=replicas, ready=ready)
    plain = TorchStep(network, parameters, replicas=replicas)
    for _ in range(2):
        expected, found = plain(images, labels), step(images, labels)
        assert torch.equal(found.losses, expected.losses) and torch.equal(found.correct, expected.correct)
        assert found.gradients[0] is optimizer.gradients[0], "they lie where the optimizer wants them"
        for name, ours, theirs in zip(optimizer.flat.names, found.gradients, expected.gradients):
            assert ours.dtype == torch.float32 and torch.equal(ours, theirs), name
        rates = torch.full((replicas,), 0.1, dtype=torch.float64)
        optimizer.update(found.gradients, rates, torch.ones(replicas, dtype=torch.bool))  # seen by the second step


@pytest.mark.parametrize("checkpointing", [False, True])
@pytest.mark.parametrize(
    ("name", "scheme"), [("zerosnet20", "adams-bashforth(2)"), ("zerosnet164", SCHEMES[0]), ("preresnet20", None)]
)
def test_prepacked_weights_match_with_several_betas_bottlenecks_and_checkpointing(
    name: str, scheme: str | None, checkpointing: bool, as_on_a_gpu: None
) -> None:
    network, optimizer = made(1, name, scheme)
    network.set_grad_checkpointing(checkpointing)
    images, labels = torch.randn(4, 3, 16, 16).to(memory_format=LAST), torch.randint(10, (1, 4))
    steps = (
        TorchStep(network, list(network.parameters()), replicas=1, ready=ready)
        for ready in (None, ready_weights(network, optimizer))
    )
    expected, found = (step(images, labels) for step in steps)
    assert found.gradients is optimizer.gradients and torch.equal(found.losses, expected.losses)
    for place, (ours, theirs) in enumerate(zip(found.gradients, expected.gradients)):
        assert torch.equal(ours, theirs), optimizer.flat.names[place]


def test_outside_of_the_step_the_convolutions_have_their_own_weights() -> None:
    network, optimizer = made(1, scheme=SCHEMES[0])
    ready = ready_weights(network, optimizer)
    assert ready is not None
    with pytest.raises(RuntimeError, match="stop"), ready.in_use():
        assert all(conv.ready is not None for conv in ready.convolutions.values())
        raise RuntimeError("stop")
    assert all(conv.ready is None for conv in ready.convolutions.values())


def test_nothing_is_made_ready_where_there_is_nothing_to_make() -> None:
    network, optimizer = made(1, scheme=SCHEMES[0])
    network.conv_dtype = None
    assert ready_weights(network, optimizer) is None
    assert ready_weights(*made(1, scheme=SCHEMES[0], flat_update=False)) is None
    assert ready_weights(*made(1, "zerosnet20_tra")) is None, "its scales are trained"
