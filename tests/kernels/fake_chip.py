"""A chip that computes nothing: it checks every launch against the kernel's signature, and who waits for whom.

Streams have vector clocks. Two accesses to the same memory, one of them a write, must be ordered by them; those of
torch itself are seen too, on the stream that is current. While a graph is recorded, its streams may wait for work of
the recording only, nothing is copied from the host or to it, and all streams must have been waited for at its end.
"""

import re
import subprocess
from contextlib import contextmanager
from functools import cache, partial
from types import SimpleNamespace
from typing import NamedTuple

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from zerosnet.kernels.compile import AROUND, source

MULTIPROCESSORS = 132
POINTERS = {
    "bf16": torch.bfloat16,
    "signed char": torch.int8,
    "unsigned char": torch.uint8,
    "float": torch.float32,
    "int": torch.int32,
    "long long": torch.int64,
    "unsigned long long": torch.int64,
}
NUMBERS = {"int": int, "double": float}
IN_CHUNKS = ("bf16", "signed char")  # which the kernels of a width read and write 16 bytes at a time
STRIDED = ("stem_forward weights", "stem_forward pixels", "stem_weight_gradient pixels", "add_weight_parts gradient")
OF_ANOTHER_SIZE = ("take_even", "activated_patches", "pack_weights")  # not all that they touch is as large as a state


@cache
def signatures(channels: int, width: int) -> dict[str, list[str]]:
    """The parameters of every kernel of a program, as they stand in its source."""
    return _signatures_in(preprocessed(channels, width))


@cache
def preprocessed(channels: int, width: int) -> str:
    """The program of a width without macros and comments."""
    return _preprocessed(source(channels), f"-DCHANNELS={channels}", f"-DWIDTH={width}")


@cache
def signatures_around() -> dict[str, list[str]]:
    """The parameters of the kernels around the network's step."""
    return _signatures_in(_preprocessed(AROUND.text))


def _preprocessed(program: str, *definitions: str) -> str:
    command = ["g++", "-E", "-P", "-x", "c++", *definitions, "-D__launch_bounds__(...)=", "-"]
    return subprocess.run(command, input=program, capture_output=True, text=True, check=True).stdout


def _signatures_in(text: str) -> dict[str, list[str]]:
    found = re.findall(r'extern "C" __global__ void\s+(\w+)\((.*?)\)\s*\{', text, re.DOTALL)
    return {name: [" ".join(one.split()) for one in parameters.split(",")] for name, parameters in found}


FROM_OR_TO_THE_HOST = ("lift_fresh", "_local_scalar_dense", "nonzero", "masked_select", "_unique", "equal")


class Race(AssertionError):
    """Two accesses to the same memory that nothing has put in order."""


class Launch(NamedTuple):
    name: str
    stream: int
    reads: set[int]
    writes: set[int]
    numbers: dict[str, int | float]
    early: bool


class Event:
    """How far a stream had come when it was recorded, and in which recording of a graph."""

    def __init__(self, chip, enable_timing=False):
        self.chip, self.clock, self.recording = chip, {}, None

    def record(self):
        self.clock, self.recording = dict(self.chip.current.clock), self.chip.current.recording

    def synchronize(self):
        pass

    def elapsed_time(self, end):
        return 1.0


class Stream:
    """Work in order; `clock` says how far this stream and those it has waited for have come."""

    def __init__(self, chip, beside=False):
        self.chip, self.number, self.clock, self.recording = chip, len(chip.streams), {}, None
        self.beside, self.waited, self.packing = beside, False, False
        chip.streams.append(self)

    def wait_event(self, event):
        assert event.recording is self.chip.recording or event.recording is None, "an event of a recording that is over"
        assert self.recording is None or event.recording is not None, "a recording waits for work outside of it"
        self.recording, self.waited = self.recording or event.recording, True
        for stream, time in event.clock.items():
            self.clock[stream] = max(self.clock.get(stream, 0), time)

    def wait_stream(self, other):
        with self.chip.stream(other):
            event = Event(self.chip)
            event.record()
        self.wait_event(event)


class Chip:
    def __init__(self):
        self.streams, self.launched, self.recording = [], [], None
        self.kept, self.read_beside = [], set()  # what torch made beside the main work, and addresses of what it read
        self.current = Stream(self)
        self.written, self.read = {}, {}  # by address: (stream, time) of the last write, and of reads since

    @contextmanager
    def stream(self, stream):
        before, self.current = self.current, stream
        yield
        self.current = before

    def synchronize(self):
        for stream in self.streams:
            for other in self.streams:
                stream.clock[other.number] = other.clock.get(other.number, 0)

    @contextmanager
    def graph(self, graph):
        main, self.recording = Stream(self), object()
        self.synchronize()
        main.recording = self.recording
        with self.stream(main):
            yield
        for stream in self.streams:
            if stream.recording is not None:
                assert main.clock[stream.number] == stream.clock[stream.number], "a recording ends without its streams"
                stream.recording = None
        self.recording = None
        self.synchronize()

    def access(self, reads, writes, what):
        here, clock = self.current.number, self.current.clock
        clock[here] = now = clock.get(here, 0) + 1
        for address in (*reads, *writes):
            self._ordered(self.written.get(address), what)
        for address in writes:
            for before in self.read.pop(address, []):
                self._ordered(before, what)
            self.written[address] = (here, now, what)
        for address in reads:
            self.read.setdefault(address, []).append((here, now, what))

    def _ordered(self, before, what):
        if before is not None and self.current.clock.get(before[0], 0) < before[1]:
            raise Race(f"{what} does not wait for {before[2]}")

    def launch(self, signature, in_chunks, shape, name, grid, threads, shared, arguments, *, early=False):
        parameters = signature[name]
        assert not (early and self.current.waited), f"{name} is launched early after a wait for another stream"
        assert not (early and self.current.packing), f"{name} is launched early after the packing of its weights"
        self.current.waited, self.current.packing = False, name == "pack_weights"
        assert len(parameters) == len(arguments), name
        reads, writes, numbers = [], [], {}
        for parameter, argument in zip(parameters, arguments):
            kind, pointer, called = re.fullmatch(r"(?:const )?([\w ]+?)(\*?) (\w+)", parameter).groups()
            if pointer:
                assert argument.dtype == POINTERS[kind], (name, parameter)
                if kind in in_chunks or called == "weight_parts":
                    assert argument.is_contiguous() and argument.data_ptr() % 16 == 0, (name, parameter)
                (reads if parameter.startswith("const") else writes).append(argument.data_ptr())
            else:
                assert type(argument) is NUMBERS[kind], (name, parameter)
                numbers[called] = argument
        assert min(grid) > 0 and threads % 32 == 0 and shared <= 232_448
        if shape is not None:
            check_sizes(name, parameters, arguments, grid, shape, numbers)
        self.launched.append(Launch(name, self.current.number, set(reads), set(writes), numbers, early))
        self.access(set(reads), set(writes), name)


def check_sizes(name, parameters, arguments, grid, shape, numbers):
    """Hold tensors to what a kernel of a width reads of them, by the names of its parameters."""
    (channels, width), (blocks, replicas) = shape, grid
    least = dict.fromkeys(("gamma", "beta", "running_mean", "running_var", "gamma_grad", "beta_grad"), channels)
    least |= dict.fromkeys(("norm", "table", "z_table"), 4 * channels)
    least |= {"coefficients": 5, "dots": 4 * blocks if "dots" in name else 0}
    least |= {"weights": 4} if "_gradient_" in name else {}
    least |= {"table": 0} if name.startswith("history") else {}  # it is not read
    state = numbers.get("batch", 0) * width**2 * channels
    for parameter, argument in zip(parameters, arguments):
        kind, called = parameter.rsplit(" ", 1)
        if "*" not in kind:
            continue
        if f"{name} {called}" not in STRIDED:
            assert argument.is_contiguous(), (name, parameter)
        wanted = least.get(called, 0)
        if "bf16" in kind and called != "weights" and name not in OF_ANOTHER_SIZE:
            quarters = {"columns": 9, "even": 1}.get(called, 4)
            wanted = state * quarters // 4
        if called.startswith("l") and "signed char" in kind and name != "conv_inner":
            wanted = state
        assert argument.numel() >= replicas * wanted, (name, parameter, tuple(argument.shape))


class Watch(TorchDispatchMode):
    """What torch itself reads and writes."""

    def __init__(self, chip):
        super().__init__()
        self.chip = chip

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        schema = function._schema
        waits = schema.name.removeprefix("aten::").startswith(FROM_OR_TO_THE_HOST)
        assert self.chip.recording is None or not waits, f"a recording waits for the host: {function}"
        if any(one.alias_info is not None and not one.alias_info.is_write for one in schema.returns):
            return result  # a view touches nothing
        reads, writes = set(), set()
        for parameter, argument in zip(schema.arguments, args):
            written = parameter.alias_info is not None and parameter.alias_info.is_write
            for tensor in argument if isinstance(argument, (list, tuple)) else [argument]:
                if isinstance(tensor, torch.Tensor):
                    (writes if written else reads).add(tensor.data_ptr())
        self.chip.access(reads - writes, writes, str(function))
        if self.chip.current.beside:
            self.chip.read_beside |= reads
            if isinstance(result, torch.Tensor):  # on a device its memory would not be given to other streams
                self.chip.kept.append(result)
        return result


def install(monkeypatch):
    """Let all launches find this chip, with tensors in the memory of the CPU."""
    fake = Chip()

    def program(channels, width, device):
        return SimpleNamespace(launch=partial(fake.launch, signatures(channels, width), IN_CHUNKS, (channels, width)))

    def elementwise_program(device):
        return SimpleNamespace(launch=partial(fake.launch, signatures_around(), (), None))

    properties = SimpleNamespace(multi_processor_count=MULTIPROCESSORS)
    monkeypatch.setattr("zerosnet.kernels.cuda.program", program)
    monkeypatch.setattr("zerosnet.kernels.elementwise.elementwise_program", elementwise_program)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: properties)
    monkeypatch.setattr(torch.cuda, "Stream", lambda device=None: Stream(fake, beside=True))
    monkeypatch.setattr(torch.cuda, "Event", partial(Event, fake))
    monkeypatch.setattr(torch.cuda, "CUDAGraph", lambda: SimpleNamespace(replay=lambda: None))
    monkeypatch.setattr(torch.cuda, "current_stream", lambda device=None: fake.current)
    for name in ("stream", "graph", "synchronize"):
        monkeypatch.setattr(torch.cuda, name, getattr(fake, name))
    return fake
