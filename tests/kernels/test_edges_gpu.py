"""Stem, stage changes and pool on a CUDA device, against the plain model of the kernels in float64."""

import pytest
import torch
from tests.kernels.reference import ReferenceKernels

from zerosnet.kernels.interface import Norm, NormGradient, Slope

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]

WIDTHS = [(16, 32), (32, 16), (64, 8)]
SIZES = [(1, 1), (10, 128), (3, 7), (32, 5)]


def noise(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator("cuda").manual_seed(seed), device="cuda")


def both(channels, width, replicas, batch):
    from zerosnet.kernels.cuda import CudaKernels

    device = torch.device("cuda", 0)
    return CudaKernels(channels, width, replicas, batch, device), ReferenceKernels(
        channels, width, replicas, batch, device
    )


def relative(found, expected):
    return ((found.double() - expected.double()).norm() / expected.double().norm()).item()


def norm_pair(k, c, seed=5):
    def make(dtype):
        weight, bias = (1 + 0.3 * noise(k * c, seed=seed)).to(dtype), (0.3 * noise(k * c, seed=seed + 1)).to(dtype)
        mean, var = torch.zeros(k * c, device="cuda", dtype=dtype), torch.ones(k * c, device="cuda", dtype=dtype)
        return Norm(weight, bias, mean, var, torch.empty(k, 4, c, device="cuda", dtype=dtype))

    return make(torch.float32), make(torch.float64)


def table_of(k, c, seed=20):
    table = noise(k, 4, c, seed=seed)
    table[:, 3] = table[:, 3].abs() + 0.5
    return table


def gradient_pair(k, c):
    table = table_of(k, c)

    def make(dtype):
        empty = [torch.empty(k * c, device="cuda", dtype=dtype) for _ in range(2)]
        return NormGradient(table.to(dtype), *empty, torch.empty(k, 4, c, device="cuda", dtype=dtype))

    return make(torch.float32), make(torch.float64)


def same_gradients(ours, theirs):
    for found, expected in zip(ours[1:], theirs[1:]):
        torch.testing.assert_close(found.double(), expected, rtol=2e-2, atol=2e-2 * expected.abs().max().item())


@pytest.mark.parametrize("channels, width", WIDTHS)
@pytest.mark.parametrize("replicas, batch", SIZES)
def test_statistics(channels, width, replicas, batch):
    ours, theirs = both(channels, width, replicas, batch)
    x = ours.activation().copy_(noise(*ours.activation().shape))
    found, expected = norm_pair(replicas, channels)
    ours.statistics(x, found)
    theirs.statistics(x.double(), expected)
    for a, b in zip(found, expected):
        torch.testing.assert_close(a.double(), b, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("channels, width", WIDTHS[:2])
@pytest.mark.parametrize("replicas, batch", SIZES)
def test_patches_and_their_adjoint(channels, width, replicas, batch):
    ours, theirs = both(channels, width, replicas, batch)
    x = ours.activation().copy_(noise(*ours.activation().shape))
    found, expected = gradient_pair(replicas, channels)
    patches = ours.patches(x, found.norm)
    assert relative(patches, theirs.patches(x.double(), expected.norm)) < 4e-3
    columns = noise(*patches.shape, seed=3).bfloat16()
    gathered = ours.gather_patches(columns, x, found, True)
    assert relative(gathered, theirs.gather_patches(columns.double(), x.double(), expected, True)) < 4e-3
    same_gradients(found, expected)


@pytest.mark.parametrize("channels, width", WIDTHS)
@pytest.mark.parametrize("replicas, batch", SIZES)
def test_pool_and_its_adjoint(channels, width, replicas, batch):
    ours, theirs = both(channels, width, replicas, batch)
    x = ours.activation().copy_(noise(*ours.activation().shape))
    found, expected = gradient_pair(replicas, channels)
    pooled = ours.pool(x, found.norm)
    assert relative(pooled, theirs.pool(x.double(), expected.norm)) < 1e-4
    gradient = noise(*pooled.shape, seed=3)
    spread = ours.pool_backward(gradient, x, found, True)
    assert relative(spread, theirs.pool_backward(gradient.double(), x.double(), expected, True)) < 4e-3
    same_gradients(found, expected)
    slope = Slope(spread, x, found.table)
    assert relative(ours.norm_backward(slope), theirs.norm_backward(Slope(*(t.double() for t in slope)))) < 4e-3


@pytest.mark.parametrize("channels, width", WIDTHS[:2])
def test_take_even(channels, width):
    ours, theirs = both(channels, width, 3, 4)
    x = noise(3, 4, width, width, channels).bfloat16()
    assert torch.equal(ours.take_even(x), theirs.take_even(x))


@pytest.mark.parametrize("in_chans", [1, 2, 3])
@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
@pytest.mark.parametrize("replicas, batch", SIZES)
def test_stem_and_its_weight_gradient(in_chans, layout, replicas, batch):
    ours, theirs = both(16, 32, replicas, batch)
    images = noise(batch, replicas * in_chans, 32, 32).bfloat16().float().contiguous(memory_format=layout)
    weight = noise(replicas * 16, in_chans, 3, 3, seed=2).bfloat16().float().contiguous(memory_format=layout)
    found, expected = norm_pair(replicas, 16)
    y, truth = ours.stem(images, weight, found, True), theirs.stem(images.double(), weight.double(), expected, True)
    assert relative(y, truth) < 4e-3
    torch.testing.assert_close(found.table.double(), expected.table, rtol=1e-3, atol=1e-3)
    shared = images[:, :in_chans].contiguous(memory_format=layout)
    copies = shared.repeat(1, replicas, 1, 1)
    assert torch.equal(ours.stem(shared, weight, found, False), ours.stem(copies, weight, found, False))
    gradient = noise(*y.shape, seed=4).bfloat16()
    dw = ours.stem_weight_gradient(images, gradient)
    assert relative(dw, theirs.stem_weight_gradient(images.double(), gradient.double())) < 1e-4
