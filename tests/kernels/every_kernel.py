"""Every kernel of every width on small shapes, in training and in evaluation, for compute-sanitizer.

compute-sanitizer --tool memcheck python -m tests.kernels.every_kernel    needs a CUDA device
"""

import torch

from zerosnet.kernels.cuda import CudaKernels
from zerosnet.kernels.interface import (
    MAX_STEPS,
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
from zerosnet.kernels.native import WIDTHS

REPLICAS, BATCH = 66, 7  # several images a block on a chip of 132 multiprocessors


def run(device: torch.device, replicas: int = REPLICAS, batch: int = BATCH) -> None:
    for channels, width in WIDTHS:
        of_width(CudaKernels(channels, width, replicas, batch, device))


def of_width(w: CudaKernels) -> None:
    a = [w.activation().normal_() for _ in range(9)]
    low = [torch.randint_like(w.low(), -128, 128) for _ in range(MAX_STEPS + 1)]
    table = torch.rand(w.replicas, 4, w.channels, device=w.device)
    ones = [torch.ones(w.replicas * w.channels, device=w.device) for _ in range(6)]
    norm, grads = Norm(*ones[:4], w.table()), NormGradient(table, *ones[4:], w.table())
    weight = torch.randn(w.replicas * w.channels, w.channels, 3, 3, device=w.device)
    gradient, slope, (packed,) = torch.empty_like(weight), Slope(a[0], a[1], table), w.pack([weight])
    numbers = torch.rand(w.replicas, 5, device=w.device)
    alphas = numbers[:, :4].contiguous()
    for training in (True, False):
        w.conv_inner(ConvInner(a[0], table, packed, a[1], norm, training))
        for steps in range(1, MAX_STEPS + 1):
            history = tuple(State(a[1 + i], low[i]) for i in range(steps))
            w.conv_step(ConvStep(a[0], table, packed, numbers, history, State(a[7], low[-1]), norm, training))
        for wanted in (gradient, None):
            w.backward_inner(BackwardInner(a[0], numbers, a[1], packed, a[2], grads, wanted, training))
            w.backward_outer(BackwardOuter(slope, a[2], packed, a[3], grads, wanted, training))
    for terms in range(MAX_STEPS + 1):
        for through in (slope, None):
            for dots_with in (None, a[1]):
                w.state_gradient(StateGradient(through, alphas, tuple(a[2 : 2 + terms]), a[7], dots_with=dots_with))
    edges(w, a, table, norm, grads)
    w.join()


def edges(w: CudaKernels, a: list[torch.Tensor], table: torch.Tensor, norm: Norm, grads: NormGradient) -> None:
    w.statistics(a[0], norm)
    columns = w.patches(a[0], table)
    w.state_gradient(StateGradient(None, table[:, 0, :4].contiguous(), (a[1],), a[2], even=w.take_even(a[0])))
    pooled = w.pool(a[0], table)
    for training in (True, False):
        w.gather_patches(columns, a[0], grads, training)
        w.pool_backward(pooled, a[0], grads, training)
    if w.channels == 16:
        for colours in (1, 3):
            images = torch.randn(w.batch, w.replicas * colours, 32, 32, device=w.device)
            weight = torch.randn(w.replicas * 16, colours, 3, 3, device=w.device)
            for training in (True, False):
                w.stem(images, weight, norm, training)
            w.stem_weight_gradient(images, a[0])


if __name__ == "__main__":
    run(torch.device("cuda", 0))
    torch.cuda.synchronize()
    print("every kernel ran")
