"""The multistep sum: right to the second derivative, and without copies."""

import pytest
import torch
from torch import Tensor

from zerosnet.models import create_model
from zerosnet.models.stepping.history import accumulate, weighted_sum


def tensors(count: int, channels: int = 6) -> list[Tensor]:
    generator = torch.Generator().manual_seed(3)
    return [
        torch.randn(2, channels, 2, 3, dtype=torch.float64, generator=generator, requires_grad=True)
        for _ in range(count)
    ]


def chained(replicas: int, kind: str, *inputs: Tensor) -> Tensor:
    """Four steps of a three-step recursion that hands its states on, so that gradients are collected on the way."""
    numbers = torch.stack(inputs[:3]) if kind == "trained" else None
    states = tuple(inputs[3:])
    for n in range(4):
        if numbers is not None:
            row = tuple(numbers[:, :replicas])
        else:
            row = (0.5, -0.25, 1.5) if kind == "shared" else tuple((c, -c)[:replicas] for c in (0.5, 0.75, 1.5))
        y, handed = accumulate(torch.tanh(states[0]) * (n + 1), row, states, replicas)
        states = (y, *handed)[:3]
    return states[0]


@pytest.mark.parametrize("replicas", [1, 2])
@pytest.mark.parametrize("kind", ["shared", "own", "trained"])
def test_gradients_of_the_chained_sum_are_right_to_second_order(kind: str, replicas: int) -> None:
    numbers = [torch.tensor([a, 1 - a], dtype=torch.float64, requires_grad=True) for a in (0.4, 0.9, -0.3)]
    inputs = (*numbers, *tensors(3))
    used = inputs if kind == "trained" else inputs[3:]

    def function(*values: Tensor) -> Tensor:
        return chained(replicas, kind, *(values if kind == "trained" else (*numbers, *values)))

    assert torch.autograd.gradcheck(function, used)
    assert torch.autograd.gradgradcheck(function, used)


@pytest.mark.parametrize("replicas", [1, 3])
def test_the_sum_in_place_is_the_plain_sum(replicas: int) -> None:
    f, *states = tensors(4)
    for row in ([0.5, -1.0, 0.25], list(torch.randn(3, replicas, dtype=torch.float64))):
        plain = weighted_sum([1.0, *row], [f, *states], replicas)
        total, handed = accumulate(f.clone(), row, states, replicas)
        assert torch.allclose(total, plain, atol=1e-14)
        assert all(a.data_ptr() == b.data_ptr() for a, b in zip(handed, states))
        with torch.no_grad():
            assert torch.equal(accumulate(f.clone(), row, states, replicas)[0], total)


def saved_bytes(name: str) -> int:
    """Bytes that autograd keeps for the backward pass, each storage once."""
    storages: dict[int, int] = {}

    def pack(tensor: Tensor) -> Tensor:
        storages[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    model = create_model(name, seed=0)
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        logits = model(torch.randn(16, 3, 32, 32))
    assert logits.requires_grad
    return sum(storages.values())


@pytest.mark.parametrize(("depth", "kind"), [(20, "opt"), (32, "tra"), (32, "stable")])
def test_the_history_costs_no_memory_in_training(depth: int, kind: str) -> None:
    assert saved_bytes(f"zerosnet{depth}_{kind}") < 1.10 * saved_bytes(f"preresnet{depth}")


@pytest.mark.filterwarnings("ignore:There is a performance drop")
@pytest.mark.parametrize("transform", ["grad", "jvp", "vmap"])
def test_torch_func_sees_through_the_sum(transform: str) -> None:
    model = create_model("zerosnet20_tra", seed=0).double().eval()
    x, v = torch.randn(2, 2, 3, 8, 8, dtype=torch.float64)
    logits = model(x)
    if transform == "vmap":
        assert torch.allclose(torch.func.vmap(lambda image: model(image[None])[0])(x), logits)
        return
    forwards = torch.func.jvp(model, (x,), (v,))[1]
    if transform == "jvp":
        assert torch.allclose(forwards, (model(x + 1e-6 * v) - model(x - 1e-6 * v)) / 2e-6, rtol=1e-4, atol=1e-6)
        return
    backwards = torch.func.grad(lambda z: model(z).sum())(x)
    assert torch.allclose((backwards * v).sum(), forwards.sum(), rtol=1e-8)
