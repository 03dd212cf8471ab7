"""Every kernel of the native step: microseconds a call beside the bytes it must move (CUDA)."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

WIDTHS = ((16, 32), (32, 16), (64, 8))
STEPS = ((56, 10), (56, 1), (20, 10), (56, 30))  # layers, replicas
SETS = 4  # buffers are rotated so that inputs come from memory, not from the cache
BANDWIDTH = 4.3e12  # bytes a second of a device-to-device copy on an H200, read and written


def run() -> dict[str, Any]:
    if not torch.cuda.is_available():
        return {"skipped": "needs a CUDA device"}
    rows = [row for channels, width in WIDTHS for row in measure(channels, width)]
    for row in rows:
        print("{kernel:22} {channels:3} ch {us:7.1f} us   floor {floor_us:6.1f} us   {fraction:5.2f}".format(**row))
    steps = [measure_step(layers, replicas) for layers, replicas in STEPS]
    for step in steps:
        print("{model:16} K={replicas:<3} {ms:7.3f} ms   floor {floor_ms:6.3f} ms   {fraction:5.2f}".format(**step))
    return {"rows": rows, "steps": steps}


def measure_step(layers: int, replicas: int, batch: int = 128) -> dict[str, Any]:
    """A whole step (forward, loss, backward), recorded, beside the bytes that its kernels must move."""
    from zerosnet.kernels import NativeStep
    from zerosnet.kernels.bytes import step_bytes
    from zerosnet.models import create_model

    name = f"zerosnet{layers}_opt"
    model = create_model(name, replicas=replicas, seed=0).cuda()
    model.conv_dtype = torch.bfloat16
    images = torch.randn(batch, 3 * replicas, 32, 32, device="cuda").contiguous(memory_format=torch.channels_last)
    labels = torch.randint(10, (replicas, batch), device="cuda")
    step = NativeStep(model, list(model.parameters()), batch=batch)
    ms, floor = (
        microseconds(lambda _: step(images, labels), calls=1) / 1e3,
        1e3 * step_bytes(model, batch=batch) / BANDWIDTH,
    )
    return {"model": name, "replicas": replicas, "ms": ms, "floor_ms": floor, "fraction": floor / ms}


def measure(channels: int, width: int, replicas: int = 10, batch: int = 128) -> list[dict[str, Any]]:
    """Time the kernels of one width; the floor counts each activation once, at the bandwidth of a copy."""
    from zerosnet.kernels.cuda import CudaKernels
    from zerosnet.kernels.values import Norm, NormGradient, Slope, State

    w = CudaKernels(channels, width, replicas, batch, torch.device("cuda", 0))
    a = [w.activation().normal_() for _ in range(12 * SETS)]
    table = torch.rand(replicas, 4, channels, device="cuda")
    vector = torch.ones(replicas * channels, device="cuda")
    norm = Norm(vector, vector, vector.clone(), vector.clone(), w.table())
    grads = NormGradient(table, vector.clone(), vector.clone(), w.table())
    weight = torch.randn(replicas * channels, channels, 3, 3, device="cuda") * 0.05
    (packed,) = w.pack([weight])
    coefficients = torch.full((replicas, 5), 0.3, device="cuda")
    weights, gradient = coefficients[:, :4].contiguous(), torch.empty_like(weight)

    def at(i: int) -> list[Tensor]:
        return a[12 * (i % SETS) : 12 * (i % SETS) + 12]

    def step(i: int) -> None:
        s = at(i)
        history = (State(s[1], s[2]), State(s[3], s[4]), State(s[5], s[6]))
        w.conv_step(s[0], table, packed, coefficients, history, State(s[7], s[8]), norm, True)

    kernels: dict[str, tuple[Callable[[int], None], int]] = {
        "conv_inner": (lambda i: w.conv_inner(at(i)[0], table, packed, at(i)[1], norm, True), 2),
        "conv_step_3": (step, 9),
        "backward_inner": (
            lambda i: w.backward_inner(at(i)[0], coefficients, at(i)[1], packed, at(i)[2], grads, gradient, True),
            3,
        ),
        "backward_outer": (
            lambda i: w.backward_outer(
                Slope(at(i)[0], at(i)[3], table), at(i)[1], packed, at(i)[2], grads, gradient, True
            ),
            4,
        ),
        "state_gradient_3": (
            lambda i: w.state_gradient(Slope(at(i)[0], at(i)[1], table), weights, tuple(at(i)[2:5]), at(i)[5], None),
            6,
        ),
        "pack_weights": (lambda i: w.pack([weight]), 0),
    }
    unit = a[0].numel() * 2
    rows = []
    for name, (kernel, units) in kernels.items():
        us, floor = microseconds(kernel, w.join), 1e6 * units * unit / BANDWIDTH
        rows.append({"kernel": name, "channels": channels, "us": us, "floor_us": floor, "fraction": floor / us})
    return rows


def microseconds(
    kernel: Callable[[int], None], join: Callable[[], None] = lambda: None, calls: int = 20, repeats: int = 7
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
    times = []
    for _ in range(repeats):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        graph.replay()
        end.record()
        end.synchronize()
        times.append(1000 * begin.elapsed_time(end) / calls)
    return sorted(times)[repeats // 2]
