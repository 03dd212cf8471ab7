"""Every kernel of the native step: microseconds a call beside the bytes it must move (CUDA)."""

import math
import os
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import cycle
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor

from benchmarks.memory_floor import step_bytes
from benchmarks.record import Result
from zerosnet.files import CACHE
from zerosnet.kernels.compile import compile_all
from zerosnet.kernels.cuda import CudaKernels
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
from zerosnet.kernels.training_step import NativeStep
from zerosnet.models import create_model

WIDTHS = ((16, 32), (32, 16), (64, 8))
STEPS = ((56, 10), (56, 1), (20, 10), (56, 30))  # layers, replicas
SETS = 4  # buffers are rotated so that inputs come from memory, not from the cache
WARM_SECONDS = 0.2  # a chip that was idle takes a while to reach its speed
BANDWIDTH = 4.3e12  # bytes a second of a device-to-device copy on an H200, read and written


def run() -> Result | Iterator[Result]:
    return on_cuda() if torch.cuda.is_available() else {"skipped": "needs a CUDA device"}


def on_cuda() -> Iterator[Result]:
    """All that has been measured so far, after every width and every step."""
    result: Result = {"bandwidth": BANDWIDTH, "compile_seconds": compile_seconds(), "rows": [], "steps": []}
    print(f"   compiled in {result['compile_seconds']:.1f} s, three widths side by side", flush=True)
    for channels, width in WIDTHS:
        result["rows"] += (rows := measure(channels, width))
        for row in rows:
            line = "   {kernel:20} {channels:3} ch {us:7.1f} us  floor {floor_us:6.2f} us  {fraction:5.2f}"
            print(line.format(**row), flush=True)
        yield result
    for layers, replicas in STEPS:
        result["steps"].append(step := measure_step(layers, replicas))
        line = "   {model:16} K={replicas:<3} {ms:7.3f} ms  floor {floor_ms:6.3f} ms  {fraction:5.2f}"
        print(line.format(**step), flush=True)
        yield result


def compile_seconds(device: str = "cuda") -> float:
    """Seconds until the programs of all widths are there, in a process that has none yet, and none from the disk."""
    torch.zeros(1, device=device)
    with patch.dict(os.environ, {CACHE: ""}):
        began = time.monotonic()
        compile_all(WIDTHS, 0)
        return time.monotonic() - began


def measure_step(layers: int, replicas: int, batch: int = 128) -> Result:
    """A whole step (forward, loss, backward), recorded, beside the bytes that its kernels must move."""
    name = f"zerosnet{layers}_opt"
    model = create_model(name, replicas=replicas, seed=0).cuda()
    model.conv_dtype = torch.bfloat16
    images = torch.randn(batch, 3 * replicas, 32, 32, device="cuda").contiguous(memory_format=torch.channels_last)
    labels = torch.randint(10, (replicas, batch), device="cuda")
    step = NativeStep(model, batch=batch)
    ms = microseconds(lambda _: step(images, labels), calls=1) / 1e3
    floor = 1e3 * step_bytes(model, batch=batch) / BANDWIDTH
    return {"model": name, "replicas": replicas, "ms": ms, "floor_ms": floor, "fraction": floor / ms}


def measure(channels: int, width: int, replicas: int = 10, batch: int = 128, device: str = "cuda") -> list[Result]:
    """Time the kernels of one width; the floor counts each activation once, at the bandwidth of a copy."""
    w = CudaKernels(channels, width, replicas, batch, torch.device(device))
    sets = [[w.activation().normal_() for _ in range(9)] for _ in range(SETS)]
    unit = sets[0][0].nbytes
    rows = []
    for name, (kernel, units) in {**of_blocks(w, unit), **of_edges(w, unit)}.items():
        us = microseconds(partial(_on_one_of, kernel, sets), w.join)
        floor = 1e6 * units * unit / BANDWIDTH
        rows.append({"kernel": name, "channels": channels, "us": us, "floor_us": floor, "fraction": floor / us})
    return rows


Timed = dict[str, tuple[Callable[[list[Tensor]], Any], float]]
"""By name, a call on activations, and how many of them (units of U) it must move."""


def of_blocks(w: CudaKernels, unit: int) -> Timed:
    """Kernels of a block with a three-step scheme."""
    norm, grads, table = _norms(w)
    weight = torch.randn(w.replicas * w.channels, w.channels, 3, 3, device=w.device) * 0.05
    (packed,) = w.pack([weight])
    coefficients = torch.full((w.replicas, 5), 0.3, device=w.device)
    alphas, gradient = coefficients[:, :4].contiguous(), torch.empty_like(weight)

    def step(a: list[Tensor], steps: int = 3) -> None:
        history = tuple(State(a[1 + i], a[5 + i].view(torch.int8).chunk(2)[0]) for i in range(steps))
        out = State(a[4], a[8].view(torch.int8).chunk(2)[0])
        w.conv_step(ConvStep(a[0], table, packed, coefficients, history, out, norm, True))

    def recursion(a: list[Tensor], terms: int = 3) -> None:
        w.state_gradient(StateGradient(Slope(a[0], a[1], table), alphas, tuple(a[2 : 2 + terms]), a[5]))

    def history(a: list[Tensor], terms: int) -> None:
        w.state_gradient(StateGradient(None, alphas, tuple(a[2 : 2 + terms]), a[5]))

    parts, blocks = w._floats(w.replicas * w.sizes.backward_blocks * w.sizes.weights), w.sizes.backward_blocks
    sums = (blocks + 1) * 4 * w.replicas * w.sizes.weights / unit
    return {
        "conv_inner": (lambda a: w.conv_inner(ConvInner(a[0], table, packed, a[1], norm, True)), 2),
        "conv_step_1": (lambda a: step(a, 1), 4),
        "conv_step_2": (lambda a: step(a, 2), 5.5),
        "conv_step_3": (step, 7),
        "backward_inner": (
            lambda a: w.backward_inner(BackwardInner(a[0], coefficients, a[1], packed, a[2], grads, gradient, True)),
            3,
        ),
        "backward_outer": (
            lambda a: w.backward_outer(
                BackwardOuter(Slope(a[0], a[3], table), a[1], packed, a[2], grads, gradient, True)
            ),
            4,
        ),
        "state_gradient_1": (lambda a: recursion(a, 1), 4),
        "state_gradient_2": (lambda a: recursion(a, 2), 5),
        "state_gradient_3": (recursion, 6),
        "history_gradient_1": (lambda a: history(a, 1), 2),
        "history_gradient_2": (lambda a: history(a, 2), 3),
        "history_gradient_3": (lambda a: history(a, 3), 4),
        "add_weight_parts": (lambda a: w.add_weight_parts(parts, gradient), sums),
        "pack_weights": (lambda a: w.pack([weight]), 8 * weight.numel() / unit),  # a float in, two bf16 out
    }


def of_edges(w: CudaKernels, unit: int) -> Timed:
    """Kernels around the blocks, at the widths that use them."""
    norm, grads, table = _norms(w)
    found: Timed = {"norm_backward": (lambda a: w.norm_backward(Slope(a[0], a[1], table)), 3)}
    if w.channels == 16:
        shape = (w.batch, w.replicas * 3, 32, 32)
        images = _rotated(lambda: torch.randn(shape, device=w.device).contiguous(memory_format=torch.channels_last))
        units = 1 + 4 * math.prod(shape) / unit
        weight = torch.randn(w.replicas * 16, 3, 3, 3, device=w.device)
        found["stem"] = (lambda a: w.stem(next(images), weight, norm, True), units)
        found["stem_weight_gradient"] = (lambda a: w.stem_weight_gradient(next(images), a[0]), units)
    else:
        found["statistics"] = (lambda a: w.statistics(a[0], norm), 1)
    if w.channels == 64:
        pooled = torch.randn(w.replicas, w.batch, w.channels, device=w.device)
        found["pool"] = (lambda a: w.pool(a[0], table), 1)
        found["pool_backward"] = (lambda a: w.pool_backward(pooled, a[0], grads, True), 2)
    else:
        columns = _rotated(lambda: w.patches(w.activation().normal_(), table))
        found["patches"] = (lambda a: w.patches(a[0], table), 1 + 9 / 4)
        found["gather_patches"] = (lambda a: w.gather_patches(next(columns), a[0], grads, True), 9 / 4 + 1 + 1)
        found["take_even"] = (lambda a: w.take_even(a[0]), 1 / 4 + 1 / 4)
    return found


def _norms(w: CudaKernels) -> tuple[Norm, NormGradient, Tensor]:
    table = torch.rand(w.replicas, 4, w.channels, device=w.device)
    a, b, c, d, e, f = (torch.ones(w.replicas * w.channels, device=w.device) for _ in range(6))
    return Norm(a, b, c, d, w.table()), NormGradient(table, e, f, w.table()), table


def _on_one_of(kernel: Callable[[list[Tensor]], Any], sets: list[list[Tensor]], turn: int) -> None:
    kernel(sets[turn % len(sets)])


def _rotated(make: Callable[[], Tensor]) -> Iterator[Tensor]:
    return cycle([make() for _ in range(SETS)])


def microseconds(
    kernel: Callable[[int], Any], join: Callable[[], None] = lambda: None, calls: int = 20, repeats: int = 7
) -> float:
    """Median time of a call, `calls` of them in one CUDA graph; `join` waits for what they left on other streams."""
    for i in range(SETS):
        kernel(i)
    join()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for i in range(calls):
            kernel(i)
        join()
    until = time.monotonic() + WARM_SECONDS
    while time.monotonic() < until:
        graph.replay()
        torch.cuda.synchronize()
    times = []
    for _ in range(repeats):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        graph.replay()
        end.record()
        end.synchronize()
        times.append(1000 * begin.elapsed_time(end) / calls)
    return sorted(times)[repeats // 2]
