"""The machine that trains and this process on it: devices, switches of torch, other processes, signals and time.

Names are checked without torch, which is imported when a device is needed.
"""

import os
import re
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar

from zerosnet.environment import usable_cores
from zerosnet.errors import InputError

if TYPE_CHECKING:
    import torch
    from torch import Tensor

T = TypeVar("T")
ECHO = 1.0  # seconds in which a signal is the same one again: torchrun hands on what the terminal sent to all
STARTED_BY_TORCHRUN = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR")
_DEVICE = re.compile(r"auto|cpu|cuda(:\d{1,3})?", re.ASCII)


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
    """Set torch's switches for a while: no TensorFloat-32, and algorithms that are deterministic or the fastest.

    A GPU becomes the current one: kernels are launched, and graphs are recorded, on the current GPU's streams.
    """
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
        with torch.cuda.device(device) if device.type == "cuda" else nullcontext():
            yield
    finally:
        cudnn.allow_tf32, cudnn.benchmark, cudnn.deterministic = before
        torch.set_deterministic_debug_mode(mode)


def cores() -> int:
    """Count the cores that torch uses in this process."""
    import torch

    return min(torch.get_num_threads(), usable_cores())


@contextmanager
def torch_threads(count: int) -> Iterator[None]:
    """Let operations use so many threads for a while."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@dataclass(frozen=True)
class World:
    """The place of this process among `size` that train one network together; of these only rank 0 writes.

    This is a process alone, the world of one; `streamed.processes.SharedWorld` is one of several.
    """

    rank: int = 0
    size: int = 1
    local_rank: int = 0
    local_size: int = 1
    """How many of the processes are on this machine."""

    @property
    def writes(self) -> bool:
        return self.rank == 0

    @property
    def part(self) -> tuple[int, int]:
        return self.rank, self.size

    def own_device(self, device: "torch.device") -> "torch.device":
        """Choose the device of this process."""
        return device

    def joined(self, device: "torch.device") -> AbstractContextManager[None]:
        """Meet the other processes, for a while."""
        return nullcontext()

    def add_up(self, tensor: "Tensor") -> "Tensor":
        """Sum over all processes, in place."""
        return tensor

    def highest(self, number: int) -> int:
        """Find the highest number of all processes."""
        return number

    def from_writer(self, value: T) -> T:
        """Give all processes what rank 0 has."""
        return value

    def spread(self, tensors: "Iterable[Tensor]") -> None:
        """Give all processes the tensors of rank 0, in place."""

    def together(self, work: Callable[[], T]) -> T:
        """Do work that bad input can make fail, in every process; if it fails anywhere, all processes end."""
        return work()


def under_torchrun() -> bool:
    return all(name in os.environ for name in STARTED_BY_TORCHRUN)


def local_world() -> World:
    """Read this process's place from the environment that `torchrun` sets."""
    if not under_torchrun():
        return World()
    from zerosnet.training.streamed.processes import shared_world

    return shared_world()


class Clock:
    """A watch on the time and the signals of a command; the training asks it after every step.

    SIGINT and SIGTERM are noted, so that training stops at the end of a step, with a checkpoint; another one, a moment
    later, stops at once. The old handlers come back at the end.
    """

    def __init__(self, max_seconds: float | None = None) -> None:
        if max_seconds is not None and not max_seconds > 0:
            raise InputError(f"max-seconds is {max_seconds}; expected a number above 0")
        self.deadline = None if max_seconds is None else time.monotonic() + max_seconds
        self.signal: signal.Signals | None = None
        self.failed = False
        self._noted = 0.0
        self._old: dict[signal.Signals, Any] = {}

    def must_stop(self) -> bool:
        late = self.deadline is not None and time.monotonic() >= self.deadline
        return late or self.failed or self.signal is not None

    @contextmanager
    def stopped_by_errors(self) -> Iterator[None]:
        """Stop the threads beside this one too, cleanly, if something fails inside."""
        try:
            yield
        except BaseException:
            self.failed = True
            raise

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._old = {number: signal.signal(number, self._note) for number in (signal.SIGINT, signal.SIGTERM)}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._old.items():
            signal.signal(number, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.signal is None:
            self.signal, self._noted = signal.Signals(number), time.monotonic()
        elif time.monotonic() - self._noted > ECHO:
            raise KeyboardInterrupt


_MARKS: dict[str, float] = {}  # seconds since the command began, by what was done by then


class Start(NamedTuple):
    """The start of a command: its time of day, and the CPU time that its first process has used so far."""

    time: float
    cpu: float


_COMMAND: list[Start] = []  # that of the process that started this one, if it told


def mark(done: str) -> bool:
    """Note that a part of the start is done; only the first time counts, and returns True."""
    seconds = process_seconds()
    return _MARKS.setdefault(done, seconds) is seconds


def own_start() -> Start:
    """Return the start of this process, for one that goes on with its work."""
    return Start(time.time() - process_seconds(), time.process_time())


def count_from(start: Start) -> None:
    """Count the seconds of this process's start from that of another, which started it."""
    _COMMAND[:] = [start]


def start_line() -> str:
    """Describe the start so far, each part with its own seconds; other programs on the cores add no CPU time."""
    parts, before = [], 0.0
    for done, seconds in _MARKS.items():
        parts.append(f"{done} {seconds - before:.1f}")
        before = seconds
    cpu = time.process_time() + sum(start.cpu for start in _COMMAND)
    return f"start: {before:.1f} s ({', '.join(parts)}), CPU time {cpu:.1f} s"


def process_seconds() -> float:
    """Seconds since this process began, or the one it counts from; since the import if the system does not tell."""
    if _COMMAND:
        return time.time() - _COMMAND[0].time
    try:
        ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
        return time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, AttributeError, ValueError):
        return time.monotonic() - _IMPORTED


_IMPORTED = time.monotonic()
