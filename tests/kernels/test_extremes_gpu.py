"""Kernels on 32 replicas, of which one is huge and one is not a number, with dead channels and gammas near 0.

All that read activations or their gradients; the stem reads images, which are neither.
"""

import pytest
import torch
from tests.kernels.reference import ReferenceKernels

from zerosnet.kernels.interface import (
    BackwardInner,
    BackwardOuter,
    ConvInner,
    ConvStep,
    Norm,
    NormGradient,
    Slope,
    State,
    StateGradient,
)

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]

WIDTHS = [(16, 32), (32, 16), (64, 8)]
REPLICAS, BATCH = 32, 5
HUGE, NAN = 1, 2
DEVICE = "cuda"
ODD = [(0.0, 0.3), (1e-8, 0.2), (-1e-6, 0.1), (0.5, -1e4)]  # gamma and beta of the first channels; the last is dead


def ours(channels, width):
    from zerosnet.kernels.cuda import CudaKernels

    return CudaKernels(channels, width, REPLICAS, BATCH, torch.device(DEVICE, 0))


def noise(*shape, seed):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).bfloat16().float().to(DEVICE)


class Inputs:
    """The same numbers for the kernels and for their plain model in float64."""

    def __init__(self, channels, width, *, bad):
        shape = (REPLICAS, BATCH, width, width, channels)
        self.activations = [noise(*shape, seed=seed) for seed in range(5)]
        self.columns = noise(REPLICAS, BATCH, width // 2, width // 2, 9 * channels, seed=6)
        self.pooled = noise(REPLICAS, BATCH, channels, seed=7)
        for tensor in (*self.activations, self.columns, self.pooled):
            tensor[HUGE] *= 1e15
            if bad:
                tensor[NAN] = float("nan")
        self.weight = (noise(REPLICAS * channels, channels, 3, 3, seed=8) / 8).bfloat16().float()
        self.numbers = noise(REPLICAS, 5, seed=9)
        self.table = noise(REPLICAS, 4, channels, seed=10)
        self.table[:, 3] = self.table[:, 3].abs() + 0.5
        for channel, (gamma, beta) in enumerate(ODD):
            self.table[:, 0, channel] = gamma * self.table[:, 3, channel]
            self.table[:, 1, channel] = beta - self.table[:, 2, channel] * self.table[:, 0, channel]

    def to(self, dtype, wide):
        """In the kernels' types: activations in `dtype`, all that belongs to parameters in `wide`."""
        other = object.__new__(Inputs)
        other.activations = [tensor.to(dtype) for tensor in self.activations]
        other.columns, other.pooled = self.columns.to(dtype), self.pooled.to(wide)
        other.weight, other.numbers, other.table = (t.to(wide) for t in (self.weight, self.numbers, self.table))
        ones = [torch.ones(t.shape[0] * t.shape[2], dtype=wide, device=DEVICE) for t in 6 * [self.table]]
        other.norm = Norm(*ones[:4], torch.empty_like(other.table))
        other.grads = NormGradient(other.table, *ones[4:], torch.empty_like(other.table))
        return other


def conv_inner(w, i):
    out = w.activation()
    w.conv_inner(ConvInner(i.activations[0], i.table, w.pack([i.weight])[0], out, i.norm, True))
    return out, i.norm.table


def conv_step(w, i):
    a, out = i.activations, State(w.activation(), w.low())
    history = tuple(State(a[n], torch.zeros_like(w.low())) for n in (1, 2, 3))
    w.conv_step(ConvStep(a[0], i.table, w.pack([i.weight])[0], i.numbers, history, out, i.norm, True))
    return out.high, i.norm.table


def backward_inner(w, i):
    out, dw = w.activation(), torch.empty_like(i.weight)
    w.backward_inner(
        BackwardInner(i.activations[0], i.numbers, i.activations[1], w.pack([i.weight])[0], out, i.grads, dw, True)
    )
    w.join()
    return out, dw.unflatten(0, (REPLICAS, -1)), i.grads.table


def backward_outer(w, i):
    a, out, dw = i.activations, w.activation(), torch.empty_like(i.weight)
    w.backward_outer(BackwardOuter(Slope(a[0], a[1], i.table), a[2], w.pack([i.weight])[0], out, i.grads, dw, True))
    w.join()
    return out, dw.unflatten(0, (REPLICAS, -1)), i.grads.table


def state_gradient(w, i):
    a, out = i.activations, w.activation()
    w.state_gradient(StateGradient(Slope(a[0], a[1], i.table), i.numbers[:, :4].contiguous(), tuple(a[2:5]), out))
    return (out,)


def history_gradient(w, i):
    a, out = i.activations, w.activation()
    w.state_gradient(StateGradient(None, i.numbers[:, :4].contiguous(), tuple(a[2:4]), out, even=w.take_even(a[0])))
    return (out,)


def gradient_with_products(w, i):
    """The recursion that also makes the gradients of the alphas."""
    a, out = i.activations, w.activation()
    slope = Slope(a[0], a[1], i.table)
    products = w.state_gradient(
        StateGradient(slope, i.numbers[:, :4].contiguous(), tuple(a[2:5]), out, dots_with=slope.state)
    )
    return out, products[:, :3]


def stem_weight_gradient(w, i):
    images = noise(BATCH, REPLICAS * 3, 32, 32, seed=11).to(i.numbers.dtype)
    return (w.stem_weight_gradient(images, i.activations[0]).unflatten(0, (REPLICAS, -1)),)


def statistics(w, i):
    w.statistics(i.activations[0], i.norm)
    return (i.norm.table,)


def patches(w, i):
    return (w.patches(i.activations[0], i.table),)


def gather_patches(w, i):
    return w.gather_patches(i.columns, i.activations[0], i.grads, True), i.grads.table


def pool(w, i):
    return (w.pool(i.activations[0], i.table),)


def pool_backward(w, i):
    return w.pool_backward(i.pooled, i.activations[0], i.grads, True), i.grads.table


OPERATIONS = (conv_inner, conv_step, backward_inner, backward_outer, state_gradient, history_gradient, statistics)
OPERATIONS += (gradient_with_products, patches, gather_patches, pool, pool_backward)
CASES = [(operation, *width) for operation in OPERATIONS for width in WIDTHS] + [(stem_weight_gradient, *WIDTHS[0])]


@pytest.mark.parametrize("operation, channels, width", CASES, ids=lambda one: getattr(one, "__name__", one))
def test_a_huge_replica_is_right_and_one_that_is_not_a_number_stays_alone(operation, channels, width):
    reference = ReferenceKernels(channels, width, REPLICAS, BATCH, torch.device(DEVICE))
    clean = Inputs(channels, width, bad=False)
    expected = operation(reference, clean.to(torch.float64, torch.float64))
    found = operation(ours(channels, width), clean.to(torch.bfloat16, torch.float32))
    for ours_, theirs in zip(found, expected):
        for k in range(REPLICAS):
            error = (ours_[k].double() - theirs[k]).norm() / theirs[k].norm()
            assert error < 1e-2, (k, error)
    beside = operation(ours(channels, width), Inputs(channels, width, bad=True).to(torch.bfloat16, torch.float32))
    others = [k for k in range(REPLICAS) if k != NAN]
    assert all(torch.equal(without[others], with_nan[others]) for without, with_nan in zip(found, beside))
    assert any(with_nan[NAN].isnan().any() for with_nan in beside)
