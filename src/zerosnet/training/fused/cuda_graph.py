"""Record a whole step as one CUDA graph, so that the GPU never waits for Python; for CUDA devices only."""

import gc
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import torch
from torch import Tensor

WARM_UPS = 3  # lets torch.compile, cuDNN and the allocator settle before the graph is recorded


Function = TypeVar("Function", bound=Callable[..., Any])


def compile_static(function: Function) -> Function:
    """Compile a function for the one set of shapes that a training has.

    In torch's deterministic mode the function stays as it is: the compiler chooses the number of threads of a sum by
    timing, so that gradients would have other bits after each compilation.
    """
    if torch.are_deterministic_algorithms_enabled():
        return function
    return torch.compile(function, dynamic=False)  # type: ignore[return-value]


class CapturedFunction:
    """A recorded function without arguments: it reads and writes tensors that never move.

    A replay touches the memory that was used during the recording, so everything the function refers to must live as
    long as the graph: the function itself (and with it its closure) is kept here for that reason.
    """

    def __init__(self, function: Callable[[], Any], pool: Any = None) -> None:
        self.function = function
        self.graph = torch.cuda.CUDAGraph()
        # thread_local: other threads may allocate pinned memory while this one records
        with torch.cuda.graph(self.graph, pool=pool, capture_error_mode="thread_local"):
            self.result = function()

    def __call__(self) -> Any:
        self.graph.replay()
        return self.result


def captured(
    function: Callable[[], Any], state: Iterable[Tensor], device: torch.device, pool: Any = None
) -> Callable[[], Any]:
    """Record a function as a CUDA graph.

    `state` lists all tensors that the function changes. Every call that warms up leaves them exactly as they were.
    """
    state, stream = list(state), torch.cuda.Stream(device)
    stream.wait_stream(torch.cuda.current_stream(device))
    with torch.cuda.stream(stream):
        for _ in range(WARM_UPS):
            with unchanged(state):
                function()
    torch.cuda.current_stream(device).wait_stream(stream)
    torch.cuda.synchronize(device)
    return CapturedFunction(function, pool)


@contextmanager
def unchanged(tensors: Iterable[Tensor]) -> Iterator[None]:
    """Put tensors back, bit by bit and in place, to what they were on entry."""
    tensors = list(tensors)
    before = [tensor.detach().clone() for tensor in tensors]
    try:
        yield
    finally:
        with torch.no_grad():
            for tensor, old in zip(tensors, before):
                tensor.detach().copy_(old)


class Lead:
    """A bound on the number of steps that the host is ahead of the device, so that a training can stop within a moment.

    The host waits for a step that lies far back, so the device never runs dry.
    """

    EVERY, MARKS = 8, 4  # the host leads by less than (MARKS + 1) * EVERY steps

    def __init__(self) -> None:
        self._steps = 0
        self._marks: deque[torch.cuda.Event] = deque()

    def step(self) -> None:
        self._steps += 1
        if self._steps % self.EVERY:
            return
        mark = torch.cuda.Event()
        mark.record()
        self._marks.append(mark)
        if len(self._marks) > self.MARKS:
            self._marks.popleft().synchronize()


def forget_compiled(device: torch.device) -> None:
    """Let go of what was compiled and recorded before: torch.compile gives up after a few versions of a function."""
    if device.type == "cuda":
        if "torch._dynamo" in sys.modules:  # importing it takes seconds
            torch._dynamo.reset()
        gc.collect()
        torch.cuda.empty_cache()
