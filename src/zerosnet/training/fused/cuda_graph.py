"""Record a whole step as one CUDA graph, so that the GPU never waits for Python; other devices just call it."""

import gc
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import torch
from torch import Tensor

WARM_UPS = 3  # lets torch.compile, cuDNN and the allocator settle before the graph is recorded


Function = TypeVar("Function", bound=Callable[..., Any])


def compile_static(function: Function) -> Function:
    """torch.compile for the one set of shapes a training has.

    Where bits matter the function stays as it is: the compiler tries how many threads a sum is quickest with, also in
    torch's deterministic mode, so that gradients compiled anew had other bits.
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
    """The function as a CUDA graph, or the function itself on other devices.

    `state` are all tensors that the function changes. The calls that warm up leave them exactly as they were, each of
    them: there may be fewer steps in an epoch than calls.
    """
    if device.type != "cuda":
        return function
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


def graph_pool(device: torch.device) -> Any:
    """Make a pool of memory that several graphs of one stream of work share; None if there are no graphs."""
    return torch.cuda.graph_pool_handle() if device.type == "cuda" else None


class Lead:
    """Keeps the host a bounded number of steps ahead of the device, so that it can stop within a moment when asked to.

    It waits for a step that lies far back, so the device never runs dry. Where nothing is asynchronous it does nothing.
    """

    EVERY, MARKS = 8, 4  # the host leads by less than (MARKS + 1) * EVERY steps

    def __init__(self, device: torch.device) -> None:
        self.asynchronous = device.type == "cuda"
        self._steps = 0
        self._marks: deque[torch.cuda.Event] = deque()

    def step(self) -> None:
        self._steps += 1
        if not self.asynchronous or self._steps % self.EVERY:
            return
        mark = torch.cuda.Event()
        mark.record()
        self._marks.append(mark)
        if len(self._marks) > self.MARKS:
            self._marks.popleft().synchronize()


def forget_compiled(device: torch.device) -> None:
    """Let go of what was compiled and recorded before: torch.compile gives up after a few versions of a function."""
    if device.type == "cuda":
        torch._dynamo.reset()
        gc.collect()
        torch.cuda.empty_cache()
