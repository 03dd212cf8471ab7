"""One step of a network as a callable, its time beside another's, and the memory that its activations take."""

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.multiprocessing.reductions import StorageWeakRef
from torch.nn import functional as F
from torch.utils._python_dispatch import TorchDispatchMode

Step = Callable[[], Any]


def training_step(model: nn.Module, images: Tensor, labels: Tensor) -> Step:
    """Forward, loss, backward, SGD with momentum."""
    model.train()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        F.cross_entropy(model(images), labels).backward()
        optimizer.step()

    return step


def test_step(model: nn.Module, images: Tensor) -> Step:
    """Forward in eval mode, without gradients."""
    model.eval()

    def step() -> None:
        with torch.no_grad():
            model(images)

    return step


vars(test_step)["__test__"] = False  # not a test of pytest's


def captured(step: Step) -> Step:
    """The same step as one CUDA graph: no launch cost, as in real training."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()

    def replay() -> None:
        assert step is not None  # keeps parameters and inputs alive as long as the graph
        graph.replay()

    return replay


def milliseconds(step: Step, repeats: int, device: str) -> float:
    """Mean time of `repeats` steps in a row, in ms."""
    if device == "cpu":
        start = time.perf_counter()
        for _ in range(repeats):
            step()
        return (time.perf_counter() - start) * 1e3 / repeats
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    for _ in range(repeats):
        step()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) / repeats


def busiest_kernels(step: Step, steps: int = 3, most: int = 30) -> list[dict[str, Any]]:
    """List the kernels that take most of a step on a GPU, in microseconds per step."""
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CUDA]) as profiler:
        for _ in range(steps):
            step()
        torch.cuda.synchronize()
    events = [event for event in profiler.key_averages() if getattr(event, "self_device_time_total", 0) > 0]
    events.sort(key=lambda event: -event.self_device_time_total)
    return [
        {"kernel": e.key[:90], "us": e.self_device_time_total / steps, "calls": e.count / steps} for e in events[:most]
    ]


@dataclass(frozen=True)
class Race:
    """Two steps against each other: median times in ms, the median ratio of turns, and the ratio of the best turns.

    On a machine with other work the last one is the more telling.
    """

    baseline_ms: float
    candidate_ms: float
    ratio: float
    ratio_of_best: float


def race(baseline: Step, candidate: Step, *, rounds: int, device: str) -> Race:
    """Time two steps in turns, so that both see one machine; every other round starts with the other one.

    On a GPU each turn repeats its step for about 50 ms.
    """
    milliseconds(candidate, 1, device)
    first = milliseconds(baseline, 1, device)
    repeats = 1 if device == "cpu" else max(2, round(50 / first))
    turns: list[tuple[float, float]] = []
    for n in range(rounds):
        order = (baseline, candidate) if n % 2 == 0 else (candidate, baseline)
        turn = {step: milliseconds(step, repeats, device) for step in order}
        turns.append((turn[baseline], turn[candidate]))
    ours, others = zip(*turns)
    return Race(
        baseline_ms=statistics.median(ours),
        candidate_ms=statistics.median(others),
        ratio=statistics.median(b / a for a, b in turns),
        ratio_of_best=min(others) / min(ours),
    )


# -- memory ------------------------------------------------------------------------------------------------------------


def peak_bytes(model: nn.Module, step: Step, device: str) -> int:
    """Memory that one step needs beyond what is there before it: activations, their gradients and workspace."""
    model.zero_grad(set_to_none=True)
    if device == "cpu":
        with _LiveStorages() as live:
            step()
        return live.peak
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    step()
    torch.cuda.synchronize()
    return torch.cuda.max_memory_allocated() - before


def saved_bytes(model: nn.Module, images: Tensor) -> int:
    """What autograd keeps for the backward pass: every storage once, parameters and input left out."""
    model.train()
    known = {t.untyped_storage().data_ptr() for t in (*model.parameters(), *model.buffers(), images)}
    kept: dict[int, int] = {}

    def pack(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in known:
            kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        output = model(images)  # alive until all is counted, so that no address is used twice
    total = sum(kept.values())
    del output
    return total


class _LiveStorages(TorchDispatchMode):
    """Bytes of the tensors that operators made and that are still alive, and the highest they ever were.

    What an operator allocates and frees inside itself is not seen.
    """

    def __init__(self) -> None:
        super().__init__()
        self.live: dict[int, tuple[StorageWeakRef, int]] = {}
        self.peak = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None) -> Any:
        inputs = {t.untyped_storage().data_ptr() for t in args if isinstance(t, Tensor)}
        result = func(*args, **(kwargs or {}))
        self.live = {at: entry for at, entry in self.live.items() if not entry[0].expired()}
        for tensor in result if isinstance(result, (tuple, list)) else [result]:
            if isinstance(tensor, Tensor) and tensor.untyped_storage().data_ptr() not in inputs:
                storage = tensor.untyped_storage()
                self.live[storage.data_ptr()] = (StorageWeakRef(storage), storage.nbytes())
        self.peak = max(self.peak, sum(size for _, size in self.live.values()))
        return result
