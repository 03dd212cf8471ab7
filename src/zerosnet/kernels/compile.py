"""Compile CUDA C++ at first use, with the NVRTC that PyTorch carries: no nvcc, no build step.

PyTorch's run-time compiler is a private interface, so it is used here and nowhere else.
"""

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib.resources import files
from typing import Any

import torch

PARTS = ("layout.cuh", "common.cuh")  # what every program begins with
KERNELS = ("forward.cu", "backward.cu", "pointwise.cu", "edges.cu", "stem.cu")
PRODUCTS = {16: "mma.cuh", 32: "mma.cuh", 64: "wgmma.cuh"}  # what the convolutions of a width are built on

ENTRY = "conv_inner"  # a kernel that every program has


class KernelsUnavailable(RuntimeError):
    """There are no kernels for this machine or this network; the message gives the reason in one line."""


def _unavailable(error: Exception) -> KernelsUnavailable:
    """Turn any fault of the compiler or the private interface into the one error that callers expect."""
    reason = " ".join(str(error).split())[:300] or type(error).__name__
    return KernelsUnavailable(f"NVRTC could not build the kernels: {reason}")


@cache
def source(channels: int) -> str:
    """All kernels of a width as one CUDA program; CHANNELS and WIDTH are set when it is compiled."""
    folder = files("zerosnet.kernels") / "source"
    return "\n".join((folder / name).read_text() for name in (*PARTS, PRODUCTS[channels], *KERNELS))


@cache
def compile_program(channels: int, width: int, instructions: str) -> bytes:
    """The compiled program of a width for an `instruction_set`. Needs NVRTC, but no device."""
    from torch.cuda._utils import _nvrtc_compile

    options = ["--std=c++17", f"-DCHANNELS={channels}", f"-DWIDTH={width}"]
    binary, _ = _nvrtc_compile(source(channels), ENTRY, compute_capability=instructions, nvcc_options=options)
    return binary if isinstance(binary, bytes) else binary.encode()


def instruction_set(capability: tuple[int, int]) -> str:
    """Name the instruction set of a chip with its own extensions: "90a"; "90" would have no `wgmma`."""
    return "{}{}a".format(*capability)


def _instructions_of(device: int | None = None) -> str:
    return instruction_set(torch.cuda.get_device_capability(device))


class Program:
    """The kernels of one width on one device; `launch` puts one on the current stream."""

    def __init__(self, channels: int, width: int) -> None:
        try:
            from torch.cuda._utils import _cuda_load_module

            self._module: Any = _cuda_load_module(compile_program(channels, width, _instructions_of()))
            _ = getattr(self._module, ENTRY).set_shared_memory_config  # PyTorch 2.8 does not have it yet
        except Exception as error:
            raise _unavailable(error) from error
        self._kernels: dict[str, Any] = {}

    def launch(self, name: str, grid: tuple[int, int], threads: int, shared: int, args: Sequence[Any]) -> None:
        if shared > 32 * 1024:  # with what a kernel declares itself it may pass 48 KiB, which must be asked for
            shared = max(shared, 48 * 1024)
        kernel = self._kernels.get(name)
        if kernel is None:
            kernel = self._kernels[name] = getattr(self._module, name)
            if shared >= 48 * 1024:
                kernel.set_shared_memory_config(shared)
        kernel(grid=(*grid, 1), block=(threads, 1, 1), args=list(args), shared_mem=shared)


@cache
def program(channels: int, width: int, device: int) -> Program:
    """The program of a width, compiled once for the process."""
    with torch.cuda.device(device):
        return Program(channels, width)


def compile_all(shapes: Iterable[tuple[int, int]], device: int) -> None:
    """The programs of several widths, compiled side by side: each takes a processor a few seconds."""
    shapes, instructions = list(shapes), _instructions_of(device)
    with ThreadPoolExecutor(len(shapes)) as pool:
        under_way = [pool.submit(compile_program, *shape, instructions) for shape in shapes]
    for shape, done in zip(shapes, under_way):
        try:
            done.result()
        except Exception as error:
            raise _unavailable(error) from error
        program(*shape, device)
