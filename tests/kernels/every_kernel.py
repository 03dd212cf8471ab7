"""Every kernel of every width, in training and in evaluation, and those around the step, for compute-sanitizer.

PYTORCH_NO_CUDA_MEMORY_CACHING=1 compute-sanitizer --tool memcheck python -m tests.kernels.every_kernel

It needs a CUDA device. PyTorch's allocator cuts tensors out of larger pieces of memory, within which memcheck sees no
access beyond a tensor: hence the variable.
"""

import torch

from zerosnet.kernels.cuda import CudaKernels
from zerosnet.kernels.elementwise import FlatBuffers, native_gather, update_adam, update_sgd
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
    around(device, replicas, batch)


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
            images, shared = (torch.randn(w.batch, n * colours, 32, 32, device=w.device) for n in (w.replicas, 1))
            weight = torch.randn(w.replicas * 16, colours, 3, 3, device=w.device)
            for training in (True, False):
                w.stem(images, weight, norm, training)
                w.stem(shared, weight, norm, training)
            w.stem_weight_gradient(images, a[0])


def around(device: torch.device, replicas: int, batch: int) -> None:
    """Batches out of images, and updates of a number of values that fills no thread block."""
    index = torch.randint(9, (replicas, batch), device=device)
    shifts = [torch.randint(-4, 5, index.shape, dtype=torch.int8, device=device) for _ in range(2)]
    flip = torch.randint(2, index.shape, device=device).bool()
    for colours in (1, 3):
        images = torch.randint(256, (9, colours, 32, 32), dtype=torch.uint8, device=device)
        statistics = [torch.ones(colours, device=device) for _ in range(2)]
        native_gather(images, index, *shifts, flip, *statistics)
        native_gather(images, index[:1], None, None, None, *statistics)
    groups, size = 3, 1001
    values, gradients, *state = (torch.rand(size, device=device) for _ in range(4))
    rates = tuple(torch.rand(replicas, device=device) for _ in range(2))
    decays, alive = torch.rand(groups, replicas, device=device), torch.arange(replicas, device=device) != 1
    slots = (torch.arange(size, device=device) % (groups * replicas)).int()
    buffers = FlatBuffers(values, gradients, tuple(state), rates, decays, alive, slots)
    for nesterov in (False, True):
        update_sgd(buffers._replace(state=buffers.state[:1], rates=rates[:1]), momentum=0.9, nesterov=nesterov)
    update_adam(buffers, beta1=0.9, beta2=0.999, eps=1e-8)


if __name__ == "__main__":
    run(torch.device("cuda", 0))
    torch.cuda.synchronize()
    print("every kernel ran")
