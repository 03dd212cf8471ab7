import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from functorch.compile import make_boxed_func
from torch._decomp import core_aten_decompositions
from torch._dynamo.backends.common import aot_autograd
from torch.nn import functional

from zerosnet.models import Network, Structure, configure
from zerosnet.models.layers import replicated as layers
from zerosnet.models.layers.replicated import Conv, average, initialise

LAYOUTS = pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
EXTREMES = [math.inf, -math.inf, math.nan, -0.0, 3e38, -3e38, 1e-38]


def projection(stride: int = 2) -> Conv:
    conv = Conv(5, 6, 1, stride=stride).double()
    initialise(conv, [0])
    return conv


@pytest.fixture(params=[True, False], ids=["as on a CPU", "as on a GPU"])
def on_cpu(request, monkeypatch) -> bool:
    monkeypatch.setattr(layers, "one_by_one", lambda _: request.param)
    return request.param


def with_extremes(*shape: int, dtype: torch.dtype) -> torch.Tensor:
    x = torch.randn(shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    for n, value in enumerate(EXTREMES):
        x.view(-1)[n :: 3 * len(EXTREMES)] = value
    return x.to(dtype)


def same_bits(a: torch.Tensor, b: torch.Tensor) -> bool:
    return torch.equal(*(t.detach().contiguous().view(torch.uint8) for t in (a, b)))


@LAYOUTS
@pytest.mark.parametrize("stride", [2, 3])
def test_a_projection_with_stride_is_the_convolution_with_stride(layout, stride, on_cpu):
    conv = projection(stride)
    x = torch.randn(2, 5, 7, 8, dtype=torch.float64).to(memory_format=layout).requires_grad_()
    torch.testing.assert_close(conv(x), functional.conv2d(x, conv.weight, stride=stride))
    assert torch.autograd.gradcheck(conv, (x,)) and torch.autograd.gradgradcheck(conv, (x,))


@LAYOUTS
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
@pytest.mark.parametrize(("stride", "height", "width"), [(2, 8, 8), (2, 7, 9), (4, 8, 6)])
def test_pixels_and_their_gradients_are_picked_to_the_bit(layout, dtype, stride, height, width, on_cpu):
    x = with_extremes(2, 5, height, width, dtype=dtype).to(memory_format=layout).requires_grad_()
    pixels = layers._every(x, stride)
    assert same_bits(pixels, x[:, :, ::stride, ::stride])
    assert on_cpu or pixels.is_contiguous(memory_format=layout), "a convolution would copy them"
    incoming = with_extremes(*pixels.shape, dtype=dtype)
    (gradient,) = torch.autograd.grad(pixels, x, incoming)
    expected = torch.zeros_like(x)
    expected[:, :, ::stride, ::stride] = incoming
    assert same_bits(gradient, expected)


@LAYOUTS
@pytest.mark.parametrize("function", [projection(), average], ids=["projection", "average"])
def test_gradients_lie_as_the_tensor_does(function, layout, on_cpu):
    x = torch.randn(2, 5, 8, 8, dtype=torch.float64).to(memory_format=layout).requires_grad_()
    output = function(x)
    (gradient,) = torch.autograd.grad(output, x, torch.randn_like(output))
    assert gradient.stride() == x.stride()


@LAYOUTS
def test_a_projection_serves_one_image_at_a_time_under_vmap(layout, on_cpu):
    conv, images = projection(), torch.randn(3, 5, 7, 8, dtype=torch.float64).to(memory_format=layout)

    def loss(weight: torch.Tensor, image: torch.Tensor) -> torch.Tensor:
        return torch.func.functional_call(conv, {"weight": weight}, (image[None],)).square().sum()

    each = torch.func.vmap(torch.func.grad(loss), (None, 0))(conv.weight, images)
    torch.testing.assert_close(each, torch.stack([torch.func.grad(loss)(conv.weight, image) for image in images]))


@LAYOUTS
@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("scale", [1.0, 0.5, torch.tensor([0.5, 2.0, -1.0])], ids=["1", "1/2", "one per replica"])
def test_without_gradients_the_projections_of_several_replicas_are_the_same(layout, stride, scale, monkeypatch):
    monkeypatch.setattr(layers, "one_by_one", lambda _: False)
    conv = Conv(5, 6, 1, stride=stride, replicas=3).double()
    initialise(conv, [0, 1, 2])
    x = torch.randn(2, 15, 7, 8, dtype=torch.float64).to(memory_format=layout)
    expected = conv(x, scale)
    with torch.no_grad():
        found = conv(x, scale)
        conv.dtype = torch.bfloat16
        narrow = conv(x, scale)
    torch.testing.assert_close(found, expected)
    assert found.is_contiguous(memory_format=layout)
    assert narrow.dtype == torch.bfloat16 and torch.allclose(narrow.double(), expected, rtol=0.02, atol=0.05)


@LAYOUTS
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_the_average_is_that_of_all_pixels_in_float32_or_wider(layout, dtype):
    x = torch.randn(2, 5, 7, 8).to(dtype).to(memory_format=layout)
    torch.testing.assert_close(average(x), x.to(torch.promote_types(dtype, torch.float32)).flatten(2).mean(2))


@pytest.mark.parametrize("name", ["zerosnet18_opt", "preresnet18"])
def test_compiled_no_convolution_is_handed_a_tensor_in_another_layout(name, monkeypatch):
    """cuDNN would be handed a copy of it."""
    monkeypatch.setattr(layers, "one_by_one", lambda _: False)
    checked = []

    def check(graph: torch.fx.GraphModule, _: list[torch.Tensor]) -> Callable[..., Any]:
        for node in graph.graph.nodes:
            if node.target in (torch.ops.aten.convolution.default, torch.ops.aten.convolution_backward.default):
                for tensor in (argument.meta["val"] for argument in node.all_input_nodes):
                    checked.append(tensor.is_contiguous(memory_format=torch.channels_last))
        return make_boxed_func(graph)

    config = replace(configure(name), structure=Structure("imagenet", "basic", (2, 1, 1, 1)))
    model = Network(config, [0]).to(memory_format=torch.channels_last)
    images = torch.randn(2, 3, 64, 64).to(memory_format=torch.channels_last)
    backend = aot_autograd(fw_compiler=check, bw_compiler=check, decompositions=core_aten_decompositions())
    torch.compile(model, backend=backend)(images).sum().backward()
    assert len(checked) > 60 and all(checked), len(checked)
