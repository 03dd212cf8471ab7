"""Convolution, norm and ReLU in one: the same numbers, and only where nothing else is wanted."""

import pytest
import torch
from torch import Tensor

from zerosnet.models import Network, create_model
from zerosnet.models.layers.replicated import BatchNorm, Conv, initialise
from zerosnet.models.stepping import blocks as conv_norm
from zerosnet.models.stepping.blocks import conv_norm_relu, conv_relu

LAST = torch.channels_last


def layers(kernel: int, replicas: int, *, inputs: int = 6, stride: int = 1) -> tuple[Conv, BatchNorm, Tensor]:
    conv = Conv(inputs, 6, kernel, stride=stride, replicas=replicas).double()
    initialise(conv, list(range(replicas)))
    norm = BatchNorm(6, replicas=replicas).double().eval()
    for tensor in (norm.weight, norm.bias, norm.running_mean):
        tensor.data.normal_()
    norm.running_var.uniform_(0.5, 2)
    conv.dtype = torch.float64
    return conv.requires_grad_(False), norm, torch.randn(2, inputs * replicas, 8, 7).double().to(memory_format=LAST)


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


@pytest.mark.parametrize("kernel", [3, 5])
def test_one_kernel_gives_the_same(kernel: int, calls: list[Tensor]) -> None:
    conv, norm, x = layers(kernel, 3)
    expected = torch.relu(norm(conv(x)))
    with torch.no_grad():
        found = conv_norm_relu(conv, norm, x)
    assert len(calls) == 1 and found.is_contiguous(memory_format=LAST)
    torch.testing.assert_close(found, expected)


def test_elsewhere_it_is_the_three_in_turn(calls: list[Tensor]) -> None:
    conv, norm, x = layers(3, 3)
    conv_norm_relu(conv, norm, x)  # gradients may be wanted
    with torch.no_grad():
        conv_norm_relu(conv, norm.train(), x)
        conv.dtype = None
        conv_norm_relu(conv, norm.eval(), x)
        for others in (layers(3, 1), layers(1, 3), layers(3, 3, stride=2), layers(3, 3, inputs=4)):
            conv_norm_relu(*others)  # one network, a product, other shapes
    assert not calls


def test_deterministic_mode_runs_the_three_operations_in_turn(calls: list[Tensor]) -> None:
    torch.use_deterministic_algorithms(True)
    try:
        with torch.no_grad():
            conv_norm_relu(*layers(3, 3))
    finally:
        torch.use_deterministic_algorithms(False)
    assert not calls


def test_it_is_computed_plainly_if_cudnn_has_no_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conv_norm, "_cudnn_serves", lambda _: True)  # as if: on a CPU its operator refuses
    x, weight, bias = torch.randn(2, 6, 8, 7), torch.randn(6, 2, 3, 3), torch.randn(6)
    with pytest.raises(RuntimeError):
        torch.cudnn_convolution_add_relu(x, weight, x, 0.0, bias, [1, 1], [1, 1], [1, 1], 3)
    found = conv_relu(x, weight, bias, 3)
    torch.testing.assert_close(found, torch.relu(torch.conv2d(x, weight, bias, padding=1, groups=3)))


def test_a_network_takes_one_image_at_a_time_under_vmap(calls: list[Tensor]) -> None:
    conv, norm, x = layers(3, 3)
    with torch.no_grad():
        each = torch.func.vmap(lambda image: conv_norm_relu(conv, norm, image[None])[0])(x)
        torch.testing.assert_close(each, conv_norm_relu(conv, norm, x))
    assert len(calls) == 1


@pytest.mark.parametrize("place", ["conv", "norm"])
@pytest.mark.parametrize("register", ["register_forward_hook", "register_forward_pre_hook"])
def test_hooks_see_what_lies_between(place: str, register: str, calls: list[Tensor]) -> None:
    conv, norm, x = layers(3, 3)
    seen: list[object] = []
    handle = getattr({"conv": conv, "norm": norm}[place], register)(lambda module, *_: seen.append(module))
    with torch.no_grad():
        hooked = conv_norm_relu(conv, norm, x)
        assert len(seen) == 1 and not calls
        handle.remove()
        torch.testing.assert_close(conv_norm_relu(conv, norm, x), hooked)
    assert len(seen) == 1 and len(calls) == 1


def network() -> tuple[Network, Tensor]:
    model = create_model("zerosnet20_opt", replicas=3, seed=[0, 1, 2]).double().to(memory_format=LAST).eval()
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
    assert kernels == [7], "one in each of nine blocks but the two that change the stage"


def test_compilers_know_its_shape_and_layout(calls: list[Tensor]) -> None:
    model, images = network()
    with torch.no_grad():
        torch.testing.assert_close(torch.compile(model, backend="aot_eager")(images), model(images))
    assert len(calls) > 7


def test_exported_networks_consist_of_operators_that_all_know(calls: list[Tensor]) -> None:
    model, images = network()
    with torch.no_grad():
        program = torch.export.export(model, (images,), strict=False)
        torch.testing.assert_close(program.module()(images), model(images))
    operators = {str(node.target) for node in program.graph.nodes if node.op == "call_function"}
    assert not any("zerosnet" in name for name in operators) and any("batch_norm" in name for name in operators)


@pytest.fixture
def on_cuda() -> None:
    if not torch.cuda.is_available():
        pytest.skip("needs a CUDA device")


def operands(groups: int) -> tuple[Tensor, Tensor, Tensor]:
    x = torch.randn(64, 16 * groups, 32, 32, device="cuda").bfloat16().to(memory_format=LAST)
    weight = torch.randn(16 * groups, 16, 3, 3, device="cuda").bfloat16().to(memory_format=LAST)
    return x, weight, torch.randn(16 * groups, device="cuda").bfloat16()


@pytest.mark.gpu
@pytest.mark.parametrize("search", [False, True])
@pytest.mark.parametrize("groups", [1, 3])
@pytest.mark.parametrize("dirt", [float("nan"), float("inf"), 1.0])
def test_old_content_of_the_result_memory_does_not_matter(
    dirt: float, groups: int, search: bool, on_cuda: None
) -> None:
    x, weight, bias = operands(groups)
    expected = torch.relu(torch.conv2d(x.float(), weight.float(), bias.float(), padding=1, groups=groups))
    reused = list[bool]()
    with torch.backends.cudnn.flags(enabled=True, benchmark=search, deterministic=False):
        for _ in range(3):
            place = torch.full_like(x, dirt)
            address = place.data_ptr()
            del place
            found = conv_relu(x, weight, bias, groups)
            reused.append(found.data_ptr() == address)
            torch.testing.assert_close(found.float(), expected, rtol=1e-2, atol=1e-1)
            del found
    assert any(reused), "the result never lay in the memory that was made dirty"


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", conv_norm.HALF)
def test_cudnn_has_an_engine_for_it(dtype: torch.dtype, on_cuda: None, monkeypatch: pytest.MonkeyPatch) -> None:
    x, weight, bias = (operand.to(dtype) for operand in operands(3))
    monkeypatch.setattr(conv_norm, "_conv_relu", None)  # computing it plainly would be an error here
    conv_relu(x, weight, bias, 3)


@pytest.mark.gpu
@pytest.mark.parametrize("form", [LAST, torch.contiguous_format])
def test_cudnn_has_the_shape_and_layout_that_compilers_are_told(form: torch.memory_format, on_cuda: None) -> None:
    x, weight, bias = operands(3)
    operators = (x.to(memory_format=form), weight.to(memory_format=form), bias, 3)
    torch.library.opcheck(conv_relu, operators, test_utils=("test_schema", "test_faketensor"))
