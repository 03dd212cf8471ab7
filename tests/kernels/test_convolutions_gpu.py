"""Every kernel against float64, on a CUDA device."""

import pytest
import torch
from tests.kernels.reference import split
from torch.nn import functional as F

from zerosnet.kernels.interface import BackwardInner, BackwardOuter, ConvInner, ConvStep, StateGradient

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]

WIDTHS = [(16, 32), (32, 16), (64, 8)]
SIZES = [(1, 1), (1, 128), (3, 7), (10, 128), (32, 5)]


def make(channels, width, replicas, batch):
    from zerosnet.kernels.cuda import CudaKernels

    return CudaKernels(channels, width, replicas, batch, torch.device("cuda", 0))


def noise(*shape, seed=0, scale=1.0):
    generator = torch.Generator("cuda").manual_seed(seed)
    return scale * torch.randn(shape, generator=generator, device="cuda")


def relative(found, expected):
    return ((found.double() - expected).norm() / expected.norm()).item()


def random_table(w, seed):
    """scale, shift, mean, rstd as a batch norm would have them."""
    k, c = w.replicas, w.channels
    gamma, beta = 0.5 + noise(k, c, seed=seed).abs(), 0.3 * noise(k, c, seed=seed + 1)
    mean, rstd = 0.2 * noise(k, c, seed=seed + 2), 0.5 + noise(k, c, seed=seed + 3).abs()
    return torch.stack([gamma * rstd, beta - mean * gamma * rstd, mean, rstd], 1).contiguous(), gamma, beta


def norm_of(w, seed=50):
    from zerosnet.kernels.interface import Norm

    k, c = w.replicas, w.channels
    ones = torch.ones(k * c, device="cuda")
    gamma, beta = 1 + 0.1 * noise(k * c, seed=seed), 0.1 * noise(k * c, seed=seed + 1)
    return Norm(gamma, beta, 0 * ones, 1 * ones, w.table())


def activated(x, table):
    k, c = x.shape[0], x.shape[-1]
    scale, shift = table[:, 0].view(k, 1, 1, 1, c), table[:, 1].view(k, 1, 1, 1, c)
    return torch.addcmul(shift, x.float(), scale).relu()


def planes(x):
    """(K, B, H, W, C) to (B, K C, H, W), float64."""
    k, b, h, w, c = x.shape
    return x.double().permute(1, 0, 4, 2, 3).reshape(b, k * c, h, w)


def major(x, k):
    b, kc, h, w = x.shape
    return x.view(b, k, kc // k, h, w).permute(1, 0, 3, 4, 2)


def packed(w, weight):
    return w.pack([weight])[0]


def random_weight(w, seed=9):
    return (
        noise(w.replicas * w.channels, w.channels, 3, 3, seed=seed, scale=(9 * w.channels) ** -0.5).bfloat16().float()
    )


@pytest.mark.parametrize("channels, width", WIDTHS)
@pytest.mark.parametrize("replicas, batch", SIZES)
def test_inner_convolution_and_its_statistics(channels, width, replicas, batch):
    w = make(channels, width, replicas, batch)
    x = w.activation().copy_(noise(*w.activation().shape, seed=1))
    table, _, _ = random_table(w, 20)
    weight = random_weight(w)
    out, following = w.activation().fill_(float("nan")), norm_of(w)
    w.conv_inner(ConvInner(x, table, packed(w, weight), out, following, True))
    a = activated(x, table).bfloat16()
    expected = major(F.conv2d(planes(a), weight.double(), padding=1, groups=replicas), replicas)
    assert relative(out, expected) < 4e-3
    mean = out.double().mean((1, 2, 3))
    var = out.double().var((1, 2, 3), correction=0)
    torch.testing.assert_close(following.table[:, 2].double(), mean, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(following.table[:, 3].double(), (var + 1e-5).rsqrt(), rtol=1e-4, atol=0)
    gamma, beta = following.weight.view(replicas, -1), following.bias.view(replicas, -1)
    torch.testing.assert_close(following.table[:, 0], gamma * following.table[:, 3])
    torch.testing.assert_close(following.table[:, 1], beta - following.table[:, 2] * following.table[:, 0])
    count = batch * width * width
    torch.testing.assert_close(following.running_mean.view(replicas, -1).double(), 0.1 * mean, rtol=1e-4, atol=1e-5)
    expected_var = 0.9 + 0.1 * var * count / (count - 1)
    torch.testing.assert_close(following.running_var.view(replicas, -1).double(), expected_var, rtol=1e-4, atol=0)


@pytest.mark.parametrize("channels, width", WIDTHS)
@pytest.mark.parametrize("replicas, batch", [(1, 1), (1, 128), (3, 6), (10, 128), (32, 5)])  # one image a team, several
@pytest.mark.parametrize("steps", [1, 2, 3, 4])
def test_multistep_convolution_keeps_24_bits_of_the_state(channels, width, replicas, batch, steps):
    from zerosnet.kernels.interface import State

    w = make(channels, width, replicas, batch)
    x = w.activation().copy_(noise(*w.activation().shape, seed=1))
    table, _, _ = random_table(w, 20)
    weight = random_weight(w)
    exact = [noise(*x.shape, seed=30 + i, scale=10.0**i) for i in range(steps)]
    history = tuple(split(y) for y in exact)
    coefficients = noise(replicas, 5, seed=40)
    out = State(w.activation(), w.low())
    w.conv_step(ConvStep(x, table, packed(w, weight), coefficients, history, out, norm_of(w), True))
    a = planes(activated(x, table).bfloat16())
    f = major(F.conv2d(a, weight.double(), padding=1, groups=replicas), replicas)
    numbers = coefficients.double().view(replicas, 5, 1, 1, 1, 1)
    expected = numbers[:, 4] * f
    for i, state in enumerate(history):
        expected += numbers[:, i] * state.value.double()
    assert relative(out.high, expected) < 4e-3
    assert relative(out.value, expected) < 2e-5


def with_odd_channels(table):
    """gamma 0, nearly 0 and nearly 0 below it in the first three channels; the fourth never opens its ReLU."""
    table, rstd = table.clone(), table[:, 3]
    for channel, (gamma, beta) in enumerate([(0.0, 0.3), (1e-8, 0.2), (-1e-6, 0.1), (0.5, -1e4)]):
        table[:, 0, channel] = gamma * rstd[:, channel]
        table[:, 1, channel] = beta - table[:, 2, channel] * table[:, 0, channel]
    return table


@pytest.mark.parametrize("channels, width", WIDTHS)
@pytest.mark.parametrize("replicas, batch, odd", [*((*size, False) for size in SIZES), (3, 7, True)])
@pytest.mark.parametrize("outer", [False, True])
def test_backward_of_a_convolution(channels, width, replicas, batch, odd, outer):
    from zerosnet.kernels.interface import NormGradient, Slope

    w = make(channels, width, replicas, batch)
    shape = w.activation().shape
    k, c = replicas, channels
    gradient, x, z = (w.activation().copy_(noise(*shape, seed=s)) for s in (1, 2, 3))
    table, _, _ = random_table(w, 20)
    table = with_odd_channels(table) if odd else table
    z_table = noise(k, 4, c, seed=60)
    coefficients = noise(k, 5, seed=61)
    weight = random_weight(w)
    weight_gradient = torch.full_like(weight, float("nan"))
    out = w.activation().fill_(float("nan"))
    gamma_grad, beta_grad = (torch.empty(k * c, device="cuda") for _ in range(2))
    grads = NormGradient(table, gamma_grad, beta_grad, w.table())
    back = packed(w, weight)
    if outer:
        w.backward_outer(BackwardOuter(Slope(gradient, z, z_table), x, back, out, grads, weight_gradient, True))
        gain, slope, centre, offset = (z_table[:, i].view(k, 1, 1, 1, c) for i in range(4))
        g = gain * gradient.float() + slope * (z.float() - centre) + offset
    else:
        w.backward_inner(BackwardInner(gradient, coefficients, x, back, out, grads, weight_gradient, True))
        g = coefficients[:, 4].view(k, 1, 1, 1, 1) * gradient.float()
    w.join()
    g = planes(g.bfloat16())
    a = activated(x, table)
    inputs = planes(a.bfloat16()).requires_grad_()
    weights = weight.double().requires_grad_()
    da, dw = torch.autograd.grad(F.conv2d(inputs, weights, padding=1, groups=k), (inputs, weights), g)
    expected = torch.where(a > 0, major(da, k), 0)
    assert relative(out, expected) < 4e-3
    assert relative(weight_gradient, dw) < 1e-4
    mean, rstd = (table[:, i].view(k, 1, 1, 1, c).double() for i in (2, 3))
    xhat = (x.double() - mean) * rstd
    first, second = out.double().sum((1, 2, 3)), (out.double() * xhat).sum((1, 2, 3))
    assert relative(beta_grad.view(k, c), first) < 1e-4
    assert relative(gamma_grad.view(k, c), second) < 1e-4
    count = batch * width * width
    assert relative(grads.table[:, 1], -(table[:, 0] * table[:, 3]).double() * second / count) < 1e-4
    assert relative(grads.table[:, 3], -table[:, 0].double() * first / count) < 1e-4
    if odd:
        dead = (out[..., 3], gamma_grad.view(k, c)[:, 3], beta_grad.view(k, c)[:, 3], weight_gradient[:, 3])
        assert not any(part.any() for part in dead)
        assert relative(gamma_grad.view(k, c)[:, :3], second[:, :3]) < 1e-4


@pytest.mark.parametrize("channels, width", WIDTHS)
@pytest.mark.parametrize("terms", [0, 1, 2, 3, 4])
@pytest.mark.parametrize("sloped", [False, True])
@pytest.mark.parametrize("with_even", [False, True])
@pytest.mark.parametrize("with_dots", [False, True])
def test_gradient_of_a_state(channels, width, terms, sloped, with_even, with_dots):
    from zerosnet.kernels.interface import Slope

    w = make(channels, width, 3, 5)
    shape = w.activation().shape
    tensors = [w.activation().copy_(noise(*shape, seed=s)) for s in range(terms + 2)]
    table, weights = noise(3, 4, channels, seed=70), noise(3, 4, seed=71)
    out = w.activation()
    slope = Slope(tensors[-1], tensors[-2], table) if sloped else None
    even = noise(3, 5, width // 2, width // 2, channels, seed=72).bfloat16() if with_even else None
    dots = w.state_gradient(
        StateGradient(
            slope, weights, tuple(tensors[:terms]), out, even=even, dots_with=tensors[-2] if with_dots else None
        )
    )
    expected = torch.zeros_like(out, dtype=torch.float64)
    for i in range(terms):
        expected += weights[:, i].view(3, 1, 1, 1, 1).double() * tensors[i].double()
    if even is not None:
        expected[:, :, ::2, ::2] += even.double()
    if sloped:
        gain, slope_, centre, offset = (table[:, i].view(3, 1, 1, 1, channels).double() for i in range(4))
        expected = expected + gain * tensors[-1].double() + slope_ * (tensors[-2].double() - centre) + offset
    torch.testing.assert_close(out.double(), expected, rtol=1e-2, atol=1e-5)
    if with_dots and terms:
        products = [(tensors[-2].double() * t.double()).sum((1, 2, 3, 4)) for t in tensors[:terms]]
        torch.testing.assert_close(dots[:, :terms].double(), torch.stack(products, 1), rtol=1e-3, atol=0.05)


@pytest.mark.parametrize("channels, width", WIDTHS)
def test_two_calls_are_bit_identical(channels, width):
    w = make(channels, width, 10, 128)
    x = w.activation().copy_(noise(*w.activation().shape, seed=1))
    table, _, _ = random_table(w, 20)
    weights = packed(w, random_weight(w))
    tables = []
    for _ in range(5):
        out, following = w.activation(), norm_of(w)
        w.conv_inner(ConvInner(x, table, weights, out, following, True))
        tables.append((out, following.table))
    assert all(torch.equal(a, tables[0][0]) and torch.equal(b, tables[0][1]) for a, b in tables)


@pytest.mark.parametrize("channels, width", WIDTHS)
@pytest.mark.parametrize("outer", [False, True])
def test_backward_is_bit_identical_twice_and_without_weights(channels, width, outer):
    from zerosnet.kernels.interface import NormGradient, Slope

    w = make(channels, width, 10, 128)
    gradient, x, z = (w.activation().copy_(noise(*w.activation().shape, seed=s)) for s in (1, 2, 3))
    table, _, _ = random_table(w, 20)
    z_table, coefficients, weight = noise(10, 4, channels, seed=60), noise(10, 5, seed=61), random_weight(w)
    back = packed(w, weight)

    def backward(dw):
        out = w.activation()
        grads = NormGradient(table, *(torch.empty(10 * channels, device="cuda") for _ in range(2)), w.table())
        if outer:
            w.backward_outer(BackwardOuter(Slope(gradient, z, z_table), x, back, out, grads, dw, True))
        else:
            w.backward_inner(BackwardInner(gradient, coefficients, x, back, out, grads, dw, True))
        w.join()
        return [out, grads.weight, grads.bias, grads.table]

    first = torch.empty_like(weight)
    expected = backward(first)
    for _ in range(4):
        again = torch.empty_like(weight)
        assert all(torch.equal(a, b) for a, b in zip(expected, backward(again)))
        assert torch.equal(again, first)
    assert all(torch.equal(a, b) for a, b in zip(expected, backward(None)))
