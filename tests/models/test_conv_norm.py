"""Convolution, norm and ReLU in one: the same numbers, and only where nothing else is wanted."""

import pytest
import torch
from torch import Tensor

from zerosnet.models import Network, conv_norm, create_model
from zerosnet.models.conv_norm import conv_norm_relu, conv_relu
from zerosnet.models.layers import BatchNorm, Conv, initialise

LAST = torch.channels_last


def layers(kernel: int, stride: int, replicas: int) -> tuple[Conv, BatchNorm, Tensor]:
    conv = Conv(4, 6, kernel, stride=stride, replicas=replicas).double()
    initialise(conv, list(range(replicas)))
    norm = BatchNorm(6, replicas=replicas).double().eval()
    for tensor in (norm.weight, norm.bias, norm.running_mean):
        tensor.data.normal_()
    norm.running_var.uniform_(0.5, 2)
    conv.dtype = torch.float64
    return conv.requires_grad_(False), norm, torch.randn(2, 4 * replicas, 8, 6).double().to(memory_format=LAST)


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[Tensor]:
    """As on a GPU, with float64 in the place of half precision; what the one kernel was handed."""
    handed = []

    def noted(x: Tensor, *others: object) -> Tensor:
        handed.append(x)
        return conv_relu(x, *others)

    monkeypatch.setattr(conv_norm, "one_by_one", lambda _: False)
    monkeypatch.setattr(conv_norm, "HALF", (torch.float64,))
    monkeypatch.setattr(conv_norm, "conv_relu", noted)
    return handed


@pytest.mark.parametrize(("kernel", "stride", "replicas"), [(3, 1, 1), (3, 1, 3), (3, 2, 1), (1, 1, 1)])
def test_one_kernel_gives_the_same(kernel: int, stride: int, replicas: int, calls: list[Tensor]) -> None:
    conv, norm, x = layers(kernel, stride, replicas)
    expected = torch.relu(norm(conv(x)))
    with torch.no_grad():
        found = conv_norm_relu(conv, norm, x)
    assert len(calls) == 1 and found.is_contiguous(memory_format=LAST)
    torch.testing.assert_close(found, expected)


def test_elsewhere_it_is_the_three_in_turn(calls: list[Tensor]) -> None:
    conv, norm, x = layers(3, 1, 3)
    strided, _, _ = layers(3, 2, 3)
    conv_norm_relu(conv, norm, x)  # gradients may be wanted
    with torch.no_grad():
        conv_norm_relu(strided, norm, x)  # a product of matrices
        conv_norm_relu(conv, norm.train(), x)
        conv.dtype = None
        conv_norm_relu(conv, norm.eval(), x)
    assert not calls


def test_it_serves_one_image_at_a_time_under_vmap(calls: list[Tensor]) -> None:
    conv, norm, x = layers(3, 1, 1)
    with torch.no_grad():
        each = torch.func.vmap(lambda image: conv_norm_relu(conv, norm, image[None])[0])(x)
        torch.testing.assert_close(each, conv_norm_relu(conv, norm, x))
    assert len(calls) == 1


@pytest.mark.parametrize("place", ["conv", "norm"])
@pytest.mark.parametrize("register", ["register_forward_hook", "register_forward_pre_hook"])
def test_hooks_see_what_lies_between(place: str, register: str, calls: list[Tensor]) -> None:
    conv, norm, x = layers(3, 1, 1)
    seen: list[object] = []
    handle = getattr({"conv": conv, "norm": norm}[place], register)(lambda module, *_: seen.append(module))
    with torch.no_grad():
        hooked = conv_norm_relu(conv, norm, x)
        assert len(seen) == 1 and not calls
        handle.remove()
        torch.testing.assert_close(conv_norm_relu(conv, norm, x), hooked)
    assert len(seen) == 1 and len(calls) == 1


def network() -> tuple[Network, Tensor]:
    model = create_model("zerosnet20_opt", seed=0).double().to(memory_format=LAST).eval()
    model.conv_dtype = torch.float64
    return model, torch.randn(2, 3, 16, 16).double().to(memory_format=LAST)


def test_compilers_take_it_into_one_graph(calls: list[Tensor]) -> None:
    model, images = network()
    kernels: list[int] = []

    def seen(graph: torch.fx.GraphModule, _: list[Tensor]) -> torch.fx.GraphModule:
        kernels.append(sum(node.target is torch.ops.zerosnet.conv_relu.default for node in graph.graph.nodes))
        return graph

    expected = model(images)
    with torch.no_grad():
        torch.testing.assert_close(torch.compile(model, backend=seen, fullgraph=True)(images), expected)
    assert kernels == [9], "one in each of nine blocks"


def test_compilers_know_its_shape_and_layout(calls: list[Tensor]) -> None:
    model, images = network()
    with torch.no_grad():
        torch.testing.assert_close(torch.compile(model, backend="aot_eager")(images), model(images))
    assert len(calls) > 9


def test_exported_networks_consist_of_operators_that_all_know(calls: list[Tensor]) -> None:
    model, images = network()
    with torch.no_grad():
        program = torch.export.export(model, (images,), strict=False)
        torch.testing.assert_close(program.module()(images), model(images))
    operators = {str(node.target) for node in program.graph.nodes if node.op == "call_function"}
    assert not any("zerosnet" in name for name in operators) and any("batch_norm" in name for name in operators)
