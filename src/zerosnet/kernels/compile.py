"""Compile CUDA C++ at first use, with the NVRTC that PyTorch carries: no nvcc, no build step.

A program is compiled in pieces, side by side, and may be begun before PyTorch is imported (`begin_compiling`). What was
compiled is kept on disk, by source, options, chip and versions. PyTorch's interface to load it is private, so it is
used here and nowhere else.
"""

import threading
from collections.abc import Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from zerosnet.environment import usable_cores
from zerosnet.kernels import driver
from zerosnet.kernels.cache import remembered
from zerosnet.kernels.chips import CHIPS, IMAGE, WIDTHS
from zerosnet.kernels.nvrtc import compile_cuda, compiler_versions

PARTS = ("layout.cuh", "common.cuh")  # what every program of a width begins with
KERNELS = ("forward.cu", "backward.cu", "pointwise.cu", "edges.cu", "stem.cu")
PRODUCTS = {16: "mma.cuh", 32: "mma.cuh", 64: "wgmma.cuh"}  # what the convolutions of a width are built on
ELEMENTWISE = "elementwise.cu"  # a program of its own, for all widths

# The sources of every piece of a width's program, by its number, PIECE. That of the backward kernels needs the others:
# a function is inlined earlier where it has fewer callers, and then the machine code would be another.
PIECES = {
    1: ("forward.cu",),
    2: ("forward.cu",),
    3: ("forward.cu", "backward.cu", "edges.cu", "stem.cu"),
    4: ("pointwise.cu",),
}


class KernelsUnavailable(RuntimeError):
    """There are no kernels for this machine or this network; the message gives the reason in one line."""


def _unavailable(error: Exception) -> KernelsUnavailable:
    """Turn any fault of the compiler or the private interface into the one error that callers expect."""
    reason = " ".join(str(error).split())[:300] or type(error).__name__
    return KernelsUnavailable(f"NVRTC could not build the kernels: {reason}")


@cache
def _read(name: str) -> str:
    return (files("zerosnet.kernels") / "source" / name).read_text()


@cache
def source(channels: int, kernels: Sequence[str] = KERNELS) -> str:
    """Kernels of a width, all or some, as one CUDA program; CHANNELS and WIDTH are set when it is compiled."""
    return "\n".join(map(_read, (*PARTS, PRODUCTS[channels], *kernels)))


class Unit(NamedTuple):
    """What is compiled at a time: a piece of a width's program, or, with no piece, the kernels around the step."""

    channels: int = 0
    width: int = 0
    piece: int = 0

    @property
    def text(self) -> str:
        return source(self.channels, PIECES[self.piece]) if self.piece else _read(ELEMENTWISE)

    @property
    def definitions(self) -> list[str]:
        given = {"CHANNELS": self.channels, "WIDTH": self.width, "PIECE": self.piece}
        return [f"-D{name}={value}" for name, value in given.items()] if self.piece else []


def units_of(channels: int, width: int) -> list[Unit]:
    """The pieces of a width's program."""
    return [Unit(channels, width, piece) for piece in PIECES]


AROUND = Unit()


def compile_unit(unit: Unit, instructions: str) -> bytes:
    """Machine code for an `instruction_set`, out of the cache or from NVRTC. Needs no device."""
    options, text = ["--std=c++17", *unit.definitions], unit.text
    architecture = f"--gpu-architecture=sm_{instructions}"
    key = "\n".join([*options, instructions, compiler_versions(), text])
    return remembered(key, lambda: compile_cuda(text, "kernels.cu", [architecture, *options]))


_LOCK = threading.Lock()
_UNDER_WAY: dict[tuple[Unit, str], Future[bytes]] = {}


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(usable_cores(), thread_name_prefix="compile")


def _ask(unit: Unit, instructions: str) -> Future[bytes]:
    """Have a unit compiled, once for the process; one that failed is tried anew."""
    with _LOCK:
        found = _UNDER_WAY.get((unit, instructions))
        if found is None or (found.done() and found.exception() is not None):
            found = _UNDER_WAY[unit, instructions] = _pool().submit(compile_unit, unit, instructions)
        return found


def begin_compiling(sizes: Iterable[tuple[int, int]] = (IMAGE,)) -> None:
    """Begin to compile what the GPUs of this machine will need, in threads; nothing where none has kernels.

    Called as soon as it is known that networks will be trained, before PyTorch is imported. The only GPU there is is
    woken up meanwhile; several are left to the processes that will use them.

    Args:
        sizes: Height and width of the images of every data set; without one that has kernels nothing is begun.
    """
    if IMAGE not in sizes:
        return
    found = driver.capabilities()
    kinds = {instruction_set(chip.capability) for chip in CHIPS if chip.capability in found}
    if kinds and len(found) == 1:
        driver.wake()
    for instructions in kinds:
        _ask_for_all(WIDTHS, instructions)


def cancel_compiling() -> None:
    """Cancel what was begun and is still waiting for a thread: the end of the process would wait for it."""
    with _LOCK:
        for key in [key for key, future in _UNDER_WAY.items() if future.cancel()]:
            del _UNDER_WAY[key]


def _ask_for_all(shapes: Iterable[tuple[int, int]], instructions: str) -> list[Future[bytes]]:
    # what takes longest comes first
    units = sorted((unit for shape in shapes for unit in units_of(*shape)), key=lambda unit: unit.piece not in (2, 3))
    return [_ask(unit, instructions) for unit in [*units, AROUND]]


def instruction_set(capability: tuple[int, int]) -> str:
    """Name the instruction set of a chip with its own extensions: "90a"; "90" would have no `wgmma`."""
    return "{}{}a".format(*capability)


def _instructions_of(device: int | None = None) -> str:
    import torch

    return instruction_set(torch.cuda.get_device_capability(device))


class Program:
    """Compiled kernels on the current device; `launch` puts one on the current stream."""

    def __init__(self, binaries: Sequence[bytes]) -> None:
        self._binaries = binaries
        try:
            from torch.cuda._utils import _cuda_load_module, _CudaKernel

            from zerosnet.kernels.launch import launch

            self._modules: list[Any] = [_cuda_load_module(binary) for binary in binaries]
            _ = _CudaKernel.set_shared_memory_config  # PyTorch 2.8 does not have it yet
        except Exception as error:
            raise _unavailable(error) from error
        self._kernels: dict[str, Any] = {}
        self._launch = launch

    def launch(
        self,
        name: str,
        grid: tuple[int, int],
        threads: int,
        shared: int,
        args: Sequence[Any],
        *,
        early: bool = False,
    ) -> None:
        """Put a kernel on the current stream.

        Args:
            early: Let it come onto the chip before the kernel ahead of it has ended, for which it then waits itself
                (`wait_for_kernel_ahead`). Not right after a wait for another stream.
        """
        if shared > 32 * 1024:  # with what a kernel declares itself it may pass 48 KiB, which must be asked for
            shared = max(shared, 48 * 1024)
        kernel = self._kernels.get(name)
        if kernel is None:
            kernel = self._kernels[name] = getattr(self._modules[piece_with(name, self._binaries)], name)
            if shared >= 48 * 1024:
                kernel.set_shared_memory_config(shared)
        self._launch(kernel.func, (*grid, 1), (threads, 1, 1), shared, args, early=early)


def piece_with(name: str, binaries: Sequence[bytes]) -> int:
    """Find the piece that holds a kernel: machine code names a section after each."""
    section = f".text.{name}\0".encode()
    return next(place for place, binary in enumerate(binaries) if section in binary)


@cache
def program(channels: int, width: int, device: int) -> Program:
    """The program of a width, loaded once for the process."""
    return _loaded(units_of(channels, width), device)


@cache
def elementwise_program(device: int) -> Program:
    """The program of the kernels around the network's step, loaded once for the process."""
    return _loaded([AROUND], device)


def _loaded(units: Sequence[Unit], device: int) -> Program:
    import torch

    with torch.cuda.device(device):
        instructions = _instructions_of()
        return Program(_done([_ask(unit, instructions) for unit in units]))


def _done(under_way: Iterable[Future[bytes]]) -> list[bytes]:
    try:
        return [future.result() for future in under_way]
    except Exception as error:
        raise _unavailable(error) from error


def compile_all(shapes: Iterable[tuple[int, int]], device: int) -> None:
    """All programs, those of several widths included, compiled side by side and loaded."""
    shapes = list(shapes)
    _done(_ask_for_all(shapes, _instructions_of(device)))
    for shape in shapes:
        program(*shape, device)
    elementwise_program(device)
