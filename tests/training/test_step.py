"""The step in plain torch, its prepacked weights, and the choice of what computes it on a machine without a GPU."""

import pytest
import torch
from torch.nn import functional as F

from zerosnet.errors import InputError
from zerosnet.kernels import KernelsUnavailable
from zerosnet.models import Network, create_model
from zerosnet.models.layers import replicated as layers
from zerosnet.models.stepping import history, stack
from zerosnet.training.fused import passes as backend_module
from zerosnet.training.fused.optimizer import Optimizer, Sgd
from zerosnet.training.fused.passes import (
    Backend,
    TorchStep,
    choose_backend,
    per_replica,
    ready_weights,
    sample_losses,
    scores,
)
from zerosnet.training.options import ASKED_FOR
from zerosnet.training.screen.displays import report_plain_torch


def test_gradients_of_replicas_do_not_mix() -> None:
    seeds = [1, 2, 3]
    generator = torch.Generator().manual_seed(0)
    images = torch.randn(8, 3, 8, 8, generator=generator).double()
    labels = torch.randint(10, (3, 8), generator=generator)
    fused = create_model("zerosnet20_opt", in_chans=1, replicas=3, seed=seeds).double()
    losses, correct, gradients = TorchStep(fused, list(fused.parameters()), replicas=3)(images, labels)
    for k, seed in enumerate(seeds):
        single = create_model("zerosnet20_opt", in_chans=1, seed=seed).double()
        own = TorchStep(single, list(single.parameters()), replicas=1)(images[:, k : k + 1], labels[k : k + 1])
        assert losses[k] == own.losses[0] and correct[k] == own.correct[0]
        for ours, reference in zip(gradients, own.gradients):
            torch.testing.assert_close(ours.view(3, -1)[k], reference.reshape(-1))


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_losses_are_mean_cross_entropies(smoothing: float) -> None:
    logits, labels = torch.randn(5, 3, 4).double(), torch.randint(4, (3, 5))
    losses, correct = scores(per_replica(logits, 3), labels, smoothing)
    for k in range(3):
        expected = F.cross_entropy(logits[:, k], labels[k], label_smoothing=smoothing)
        torch.testing.assert_close(losses[k], expected)
        assert correct[k] == (logits[:, k].argmax(1) == labels[k]).sum()


@pytest.mark.parametrize("batch", [1, 5, 64, 129])
def test_the_loss_of_a_replica_has_the_same_bits_alone_or_among_others(batch: int) -> None:
    logits, labels = torch.randn(batch, 7, 10), torch.randint(10, (7, batch))
    together = scores(per_replica(logits, 7), labels)[0]
    for k in range(7):
        assert scores(per_replica(logits[:, k].contiguous(), 1), labels[k : k + 1])[0][0] == together[k]


def test_narrow_logits_are_scored_in_float32() -> None:
    assert (
        sample_losses(torch.zeros(1, 2, 3, dtype=torch.bfloat16), torch.zeros(1, 2, dtype=torch.int64)).dtype
        == torch.float32
    )


def test_the_step_leaves_the_parameters_alone_and_trains_the_statistics() -> None:
    model = create_model("zerosnet20_opt", in_chans=1, seed=0).eval()
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    TorchStep(model, list(model.parameters()), replicas=1)(
        torch.randn(4, 1, 8, 8), torch.zeros(1, 4, dtype=torch.int64)
    )
    changed = {name for name, tensor in model.state_dict().items() if not torch.equal(tensor, before[name])}
    assert changed and all("running" in name for name in changed)
    assert all(parameter.grad is None for parameter in model.parameters())


def chosen(kernels: str | None) -> Backend:
    return choose_backend(
        kernels,
        create_model("zerosnet20_opt"),
        size=(32, 32),
        batch=4,
        label_smoothing=0.0,
        device=torch.device("cpu"),
        compiled=False,
    )


@pytest.mark.parametrize("kernels", [None, "native"])
def test_without_a_gpu_plain_torch_takes_over_and_reports_why(kernels):
    backend = chosen(kernels)
    assert backend.kernels == "torch"
    assert "no CUDA device" in backend.why_not_native


def test_plain_torch_takes_over_and_reports_why_kernels_cannot_be_built(monkeypatch):
    class Broken:
        def __init__(self, *arguments, **options):
            self.native = self

        def warm_up(self):
            raise KernelsUnavailable("NVRTC could not build the kernels: it is not there")

    monkeypatch.setattr(backend_module, "reason_against", lambda *arguments: None)
    monkeypatch.setattr(backend_module, "NativeStep", Broken)
    backend = chosen("native")
    assert backend.kernels == "torch"
    assert backend.why_not_native == "NVRTC could not build the kernels: it is not there"


def test_plain_torch_on_request_needs_no_reason():
    assert chosen("torch").why_not_native == "asked for"


def test_unknown_kernels_are_refused_by_name():
    with pytest.raises(InputError, match="'cuda'; expected one of native, torch"):
        chosen("cuda")


def test_why_plain_torch_computes_is_reported_once_and_not_if_it_was_asked_for():
    said: list[str] = []
    for why in ("", "no chip", "no chip", ASKED_FOR, "odd images", "no chip"):
        report_plain_torch(why, said.append)
    assert said == [f"plain torch instead of the native kernels: {why}" for why in ("no chip", "odd images")]


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
    for module in (layers, history, stack):
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
    ("name", "scheme"),
    [
        ("zerosnet20", "adams-bashforth(2)"),
        ("zerosnet164", SCHEMES[0]),
        ("preresnet20", None),
        ("streams20", None),
        ("streams20_sinkhorn", None),
    ],
)
def test_prepacked_weights_match_with_several_betas_bottlenecks_streams_and_checkpointing(
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


def test_nothing_is_made_ready_in_float32_or_for_trained_scales() -> None:
    network, optimizer = made(1, scheme=SCHEMES[0])
    network.conv_dtype = None
    assert ready_weights(network, optimizer) is None
    assert ready_weights(*made(1, scheme=SCHEMES[0], flat_update=False)) is None
    assert ready_weights(*made(1, "zerosnet20_tra")) is None, "its scales are trained"
