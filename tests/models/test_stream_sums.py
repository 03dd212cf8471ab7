"""Streams that are summed up when they are read compute what streams that are made in every block compute."""

import json
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from zerosnet.errors import InputError
from zerosnet.models import Config, Network, combine, configure, create_model, extract, fuse
from zerosnet.models.stepping.laws import LambdaLaw
from zerosnet.models.stepping.stream_sums import add_slope, read_streams
from zerosnet.models.stepping.streams import StreamsLaw, sinkhorn

NAMES = ["streams20", "streams20_sinkhorn", "preresnet20_x0"]
SHAPE = (4, 3, 16, 16)


def drawn(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def network(name: str, replicas: int) -> Network:
    """A network in training, in float64, whose matrices are not those of the start."""
    model = create_model(name, replicas=replicas, seed=list(range(replicas))).double().train()
    with torch.no_grad():
        values = model.stack.coefficients.values
        values += 0.3 * drawn(*values.shape, seed=5)
    return model


def with_gradients(model: Network, logits: Tensor) -> list[Tensor]:
    return [logits, *torch.autograd.grad((logits * drawn(*logits.shape, seed=2)).sum(), list(model.parameters()))]


@pytest.mark.parametrize("replicas", [1, 2])
@pytest.mark.parametrize("name", NAMES)
def test_a_training_step_is_that_of_streams_made_in_every_block(name: str, replicas: int) -> None:
    model, images = network(name, replicas), drawn(*SHAPE)
    history = model.stack.begin(model.first_state(images))
    for block, row in zip(model.stack.steps, model.stack.step_rows(history.states[0])):
        history = model.stack.step(block, history, row)[1]
    made = with_gradients(model, model.logits(model.stack.read(history)))
    summed = with_gradients(model, model(images))
    assert all(torch.allclose(a, b, rtol=1e-9, atol=1e-9) for a, b in zip(made, summed, strict=True))
    assert summed[1 + [name for name, _ in model.named_parameters()].index("stack.coefficients.values")].abs().max() > 0


@pytest.mark.parametrize("name", NAMES)
def test_the_sums_for_a_compiler_are_the_same(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model, images = network(name, 2), drawn(*SHAPE)
    plain = with_gradients(model, model(images))
    monkeypatch.setattr(torch.compiler, "is_compiling", lambda: True)
    compiled = with_gradients(model, model(images))
    assert all(torch.allclose(a, b, rtol=1e-9, atol=1e-9) for a, b in zip(plain, compiled, strict=True))


@pytest.mark.parametrize("name", NAMES)
def test_training_and_evaluation_are_one_function(name: str) -> None:
    """Batch norms aside, which are told to take their running statistics."""
    model, images = network(name, 1), drawn(*SHAPE)
    for module in model.modules():
        module.training = module is model.stack
    summed = model(images)
    assert torch.allclose(model.eval()(images), summed, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_checkpointing_keeps_the_gradients_of_sums(name: str) -> None:
    model, images = network(name, 2), drawn(*SHAPE)
    plain = with_gradients(model, model(images))
    model.set_grad_checkpointing(True)
    again = with_gradients(model, model(images))
    assert all(torch.allclose(a, b, rtol=1e-9, atol=1e-9) for a, b in zip(plain, again, strict=True))


@pytest.mark.parametrize(
    "names", [["streams20"], ["streams20_sinkhorn"], ["preresnet20_x0"], ["streams20", "streams20_sinkhorn"]]
)
@pytest.mark.parametrize("training", [True, False])
def test_a_compiler_sees_one_graph(names: list[str], training: bool) -> None:
    model = Network(fuse([configure(name) for name in names]), seeds=[1] * len(names)).train(training)
    torch._dynamo.reset()
    compiled = torch.compile(model.forward, backend="eager", fullgraph=True, dynamic=False)
    images = torch.ones(SHAPE)
    assert torch.allclose(compiled(images), model(images), atol=1e-4)


def test_weights_follow_the_recursion_of_streams() -> None:
    K, m, C = 2, 3, 2
    streams = drawn(m, 1, K * C, 1, 1)
    weights, tensors = torch.eye(m).double().expand(K, -1, -1), tuple(streams)
    for n in range(4):
        A, b, c, f = (drawn(*shape, seed=9 * n + i) for i, shape in enumerate([(K, m, m), (K, m), (K, m), (1, K * C)]))
        apart = streams.view(m, K, C)
        seen, tensors = read_streams(c, weights, tensors, K)
        assert torch.allclose(seen.view(K, C), torch.einsum("km,mkc->kc", c, apart))
        mixed = torch.einsum("kij,jkc->ikc", A, apart) + torch.einsum("ki,kc->ikc", b, f.view(K, C))
        streams = mixed.reshape(m, 1, K * C, 1, 1)
        weights, tensors = add_slope(weights, A, b), (*tensors, f.view(1, K * C, 1, 1))


def test_sinkhorns_rounds_divide_by_sums_of_rows_and_columns() -> None:
    logits = drawn(7, 4, 4)
    matrix = logits.exp()
    for _ in range(20):
        matrix = matrix / matrix.sum(-1, keepdim=True)
        matrix = matrix / matrix.sum(-2, keepdim=True)
    assert torch.allclose(sinkhorn(logits), matrix, rtol=1e-12)


class Elsewhere(TorchDispatchMode):
    """Notes operations that make a tensor on another device than meta."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        tensors = [one for one in (made if isinstance(made, tuple | list) else [made]) if isinstance(one, Tensor)]
        self.seen += [str(func) for one in tensors if one.device.type != "meta"]
        return made


@pytest.mark.parametrize("name", NAMES)
def test_a_training_step_makes_nothing_on_the_host(name: str) -> None:
    """A copy to the device would break the recording of a step as a CUDA graph."""
    with torch.device("meta"):
        model, images = create_model(name).train(), torch.zeros(*SHAPE)
    with Elsewhere() as watch:
        torch.autograd.grad(model(images).sum(), list(model.parameters()))
    assert not watch.seen


def test_streams_are_not_made_between_changes_of_shape() -> None:
    """A training step keeps what blocks add and read, not four states per block."""
    kept: dict[str, int] = {}
    for name in ("preresnet20", "streams20"):
        model, bytes_of = create_model(name).train(), dict[int, int]()

        def keep(tensor: Tensor, bytes_of: dict[int, int] = bytes_of) -> Tensor:
            bytes_of[tensor.untyped_storage()._cdata] = tensor.untyped_storage().nbytes()
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
            output = model(torch.zeros(4, 3, 32, 32))
        kept[name] = sum(bytes_of.values())
        del output
    assert kept["streams20"] < 1.8 * kept["preresnet20"]


def test_networks_that_mix_differently_are_replicas_of_one() -> None:
    names = ["streams20", "streams20_sinkhorn", "streams20_sinkhorn", "streams20"]
    singles = [network(name, 1) for name in names]
    configs = [single.config for single in singles]
    assert len({config.fusion_key for config in configs}) == 1
    fused = Network(fuse([*configs[:1], fuse(configs[1:])]), seeds=[0] * 4).double().train()
    fused.load_state_dict(combine([single.state_dict() for single in singles]))
    images, read = drawn(*SHAPE), Config.from_json(json.loads(json.dumps(fused.config.to_json())))
    assert read == fused.config and [read.of_replica(k).law for k in range(4)] == [one.law for one in configs]
    together = fused(images)
    gradients = dict(
        zip(dict(fused.named_parameters()), torch.autograd.grad(together.square().sum(), list(fused.parameters())))
    )
    for k, single in enumerate(singles):
        alone = single(images)
        assert torch.allclose(together[:, k], alone, rtol=1e-9, atol=1e-9)
        own = extract(gradients, k, 4)
        for name, gradient in zip(own, torch.autograd.grad(alone.square().sum(), list(single.parameters()))):
            assert torch.allclose(own[name], gradient, rtol=1e-8, atol=1e-8), name


def test_fused_networks_start_as_they_do_alone() -> None:
    configs = [configure(name) for name in ("streams20", "streams20_sinkhorn")]
    values = Network(fuse(configs), seeds=[1, 2]).stack.coefficients.values
    assert torch.equal(values, torch.cat([Network(config, seeds=[1]).stack.coefficients.values for config in configs]))


def test_networks_of_other_shapes_are_no_replicas_of_one() -> None:
    keys = [
        configure(name, **options).fusion_key
        for name, options in [("streams20", {}), ("streams20", {"streams": 2}), ("preresnet20_x0", {})]
    ]
    assert len(set(keys)) == 3
    config = configure("streams20")
    for laws in [(StreamsLaw(4),), (StreamsLaw(4), StreamsLaw(2)), (StreamsLaw(4), LambdaLaw())]:
        with pytest.raises(InputError, match=r"laws is .*expected a law of streams per replica"):
            replace(config, replicas=2, laws=laws)


@pytest.mark.parametrize("name", ["preresnet20", "zerosnet20_tra", "streams20"])
def test_laws_of_replicas_are_those_of_the_network(name: str) -> None:
    config = configure(name, **({"streams": 2} if name == "streams20" else {}))
    with pytest.raises(InputError, match=r"laws is .*expected a law of streams per replica"):
        replace(config, replicas=2, schemes=config.schemes * 2, laws=(StreamsLaw(4), StreamsLaw(4)))


def test_a_truth_value_is_no_number_of_streams() -> None:
    data = configure("streams20", streams=1).to_json()
    data["law"]["streams"] = True
    with pytest.raises(InputError, match="streams is True; expected a whole number"):
        Config.from_json(data)
