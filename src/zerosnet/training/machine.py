"""The machine that trains: its devices, their number formats, the switches of torch, and the cores of a CPU.

Names are checked without torch, which is imported when a device or a number format is needed.
"""

import os
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from zerosnet.environment import usable_cores
from zerosnet.errors import InputError, did_you_mean

if TYPE_CHECKING:
    import torch


_DEVICE = re.compile(r"auto|cpu|cuda(:\d{1,3})?", re.ASCII)


@dataclass(frozen=True)
class Precision:
    """Number formats by their torch names; None stands for the format of the parameters.

    Attributes:
        parameters: The format of parameters, statistics and losses.
        convolutions: The format that convolutions compute in.
        state: The format of the state.
    """

    parameters: str
    convolutions: str | None = None
    state: str | None = None

    def __str__(self) -> str:
        given = self.parameters
        return f"parameters {given}, convolutions {self.convolutions or given}, state {self.state or given}"

    @property
    def dtype(self) -> "torch.dtype":
        return _dtype(self.parameters)

    @property
    def conv_dtype(self) -> "torch.dtype | None":
        return None if self.convolutions is None else _dtype(self.convolutions)

    @property
    def state_dtype(self) -> "torch.dtype | None":
        return None if self.state is None else _dtype(self.state)


def _dtype(name: str) -> "torch.dtype":
    import torch

    found: torch.dtype = getattr(torch, name)
    return found


# TensorFloat-32 is off in all of them: fp32 is fp32
PRECISIONS = {
    "bf16": Precision("float32", "bfloat16"),
    "mixed": Precision("float32", "bfloat16", "bfloat16"),
    "fp32": Precision("float32"),
    "fp64": Precision("float64"),
}


def precision(name: str | None, device: "torch.device", *, usual: str = "bf16") -> Precision:
    """Find the precision of that name; None is the `usual` one on CUDA and fp32 elsewhere."""
    name = name or (usual if device.type == "cuda" else "fp32")
    if name not in PRECISIONS:
        raise InputError(
            f"precision is {name!r}{did_you_mean(name, PRECISIONS)}; expected one of {', '.join(PRECISIONS)}"
        )
    numbers = PRECISIONS[name]
    if numbers.conv_dtype is not None and device.type != "cuda":
        raise InputError(f"precision {name} is for CUDA devices; on the CPU use fp32")
    return numbers


def check_device(name: str) -> None:
    """Raise an error unless `name` has the form of a device; only `find_device` looks for it."""
    if not _DEVICE.fullmatch(name):
        raise InputError(f"device is {name!r}; expected auto, cpu, cuda or cuda:N")


def find_device(name: str) -> "torch.device":
    """Find the device called auto, cpu, cuda or cuda:N; auto is CUDA if there is such a device."""
    import torch

    check_device(name)
    gpus = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if name == "auto":
        name = "cuda" if gpus else "cpu"
    if name == "cpu":
        return torch.device("cpu")
    if not gpus:
        raise InputError(f"device is {name}, but torch finds no CUDA device here; expected auto or cpu")
    index = int(name.partition(":")[2] or 0)
    if index >= gpus:
        raise InputError(f"device is {name}, but this machine has {gpus} CUDA device(s), counted from 0")
    return torch.device("cuda", index)


def all_devices(name: str) -> list[str]:
    """Name the devices that a training may use: auto stands for all GPUs, every other name for itself."""
    import torch

    count = torch.cuda.device_count() if name == "auto" else 0
    return [f"cuda:{n}" for n in range(count)] if count > 1 else [name]


@contextmanager
def torch_settings(device: "torch.device", *, deterministic: bool) -> Iterator[None]:
    """Set torch's switches for a while: no TensorFloat-32, and algorithms that are deterministic or the fastest."""
    import torch

    cudnn = torch.backends.cudnn
    before = cudnn.allow_tf32, cudnn.benchmark, cudnn.deterministic
    mode = torch.get_deterministic_debug_mode()
    try:
        if device.type == "cuda":
            cudnn.allow_tf32, cudnn.benchmark, cudnn.deterministic = False, not deterministic, deterministic
        if deterministic:
            # read by cuBLAS when it starts
            os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
            torch.set_deterministic_debug_mode("error")  # use_deterministic_algorithms would import the compiler
        yield
    finally:
        cudnn.allow_tf32, cudnn.benchmark, cudnn.deterministic = before
        torch.set_deterministic_debug_mode(mode)


Item = TypeVar("Item")
WATCH = 0.2  # seconds in which the load of the cores is looked at
LOOK = 0.5  # seconds; a signal that comes as Python begins to wait for other threads is noticed when it looks up


def cores() -> int:
    """Count the cores that torch uses in this process."""
    import torch

    return min(torch.get_num_threads(), usable_cores())


def idle_cores() -> int:
    """Count the usable cores that other programs leave idle, watched for a moment; at least one.

    Threads of one operation wait for one another: on cores that are busy with other work two of them were 5 to 20 times
    slower than one. All cores count as idle if the system does not tell.
    """
    before = _times()
    time.sleep(WATCH if before else 0.0)
    after = _times()
    idle = 0.0
    for core, (rest, total) in after.items():
        rest_before, total_before = before.get(core, (rest, total))
        idle += (rest - rest_before) / (total - total_before) if total > total_before else 1.0
    return max(1, min(cores(), round(idle))) if after else cores()


def _times() -> dict[int, tuple[int, int]]:
    """Read for every usable core how long it has rested and been there, in ticks of the clock; nothing but on Linux."""
    try:
        lines = Path("/proc/stat").read_text().splitlines()
        usable = os.sched_getaffinity(0)
    except (OSError, AttributeError):
        return {}
    times = {}
    for line in lines:
        name, *numbers = line.split()
        if name.startswith("cpu") and name[3:].isdigit() and int(name[3:]) in usable:
            ticks = [int(number) for number in numbers[:8]]  # user, nice, system, idle, iowait, irq, softirq, steal
            times[int(name[3:])] = (ticks[3] + ticks[4], sum(ticks))
    return times


def in_parallel(
    work: Callable[[Item], object],
    items: Sequence[Item],
    workers: int,
    *,
    one_thread: bool,
    stop: threading.Event | None = None,
) -> None:
    """Work on groups: on the CPU several at a time, each in a thread of its own with its share of the idle cores.

    Many small operations share cores badly, whole networks share them well. How many threads an operation uses can
    change its last bits: if bits matter it is always one, whatever runs beside it. Once a group has failed, or the
    user has interrupted, no other is begun, and `stop` tells those at work.
    """
    with own_threads(workers, one_thread=one_thread):
        if workers > 1:
            in_threads(work, items, workers, stop)
        else:
            for item in items:
                work(item)


@contextmanager
def own_threads(workers: int, *, one_thread: bool) -> Iterator[None]:
    """Give operations their share of the idle cores for a while, one of `workers`; or one thread if bits matter."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1 if one_thread or before <= workers else max(1, idle_cores() // max(workers, 1)))
    try:
        yield
    finally:
        torch.set_num_threads(before)


def in_threads(
    work: Callable[[Item], object], items: Sequence[Item], workers: int, stop: threading.Event | None = None
) -> None:
    """Work on several groups at a time; see `in_parallel`."""
    with ThreadPoolExecutor(workers, thread_name_prefix="group") as pool:
        try:
            futures = [pool.submit(work, item) for item in items]
            ended: set[Future[object]] = set()
            while len(ended) < len(futures) and not any(future.exception() for future in ended):
                ended = wait(futures, LOOK, return_when=FIRST_EXCEPTION).done
            for future in futures:
                if future in ended:
                    future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)  # first: who is told to stop would take the next one
            if stop is not None:
                stop.set()
            raise
