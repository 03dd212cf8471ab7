"""Compile CUDA C++ at first use, with the NVRTC that PyTorch carries: no nvcc, no build step.

PyTorch's run-time compiler is a private interface, so it is used here and nowhere else. What was compiled is kept on
disk, by source, options, chip and versions.
"""

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any

import torch

from zerosnet.environment import gpu_driver
from zerosnet.files import write_bytes

PARTS = ("layout.cuh", "common.cuh")  # what every program of a width begins with
KERNELS = ("forward.cu", "backward.cu", "pointwise.cu", "edges.cu", "stem.cu")
PRODUCTS = {16: "mma.cuh", 32: "mma.cuh", 64: "wgmma.cuh"}  # what the convolutions of a width are built on
ELEMENTWISE = "elementwise.cu"  # a program of its own, for all widths

ENTRY, ELEMENTWISE_ENTRY = "conv_inner", "gather_images"  # a kernel that every program of the kind has


class KernelsUnavailable(RuntimeError):
    """There are no kernels for this machine or this network; the message gives the reason in one line."""


def _unavailable(error: Exception) -> KernelsUnavailable:
    """Turn any fault of the compiler or the private interface into the one error that callers expect."""
    reason = " ".join(str(error).split())[:300] or type(error).__name__
    return KernelsUnavailable(f"NVRTC could not build the kernels: {reason}")


def _read(name: str) -> str:
    return (files("zerosnet.kernels") / "source" / name).read_text()


@cache
def source(channels: int) -> str:
    """All kernels of a width as one CUDA program; CHANNELS and WIDTH are set when it is compiled."""
    return "\n".join(map(_read, (*PARTS, PRODUCTS[channels], *KERNELS)))


@cache
def compile_program(channels: int, width: int, instructions: str) -> bytes:
    """The compiled program of a width for an `instruction_set`. Needs NVRTC, but no device."""
    return _compile(source(channels), ENTRY, [f"-DCHANNELS={channels}", f"-DWIDTH={width}"], instructions)


@cache
def compile_elementwise(instructions: str) -> bytes:
    """The compiled program of the kernels around the network's step."""
    return _compile(_read(ELEMENTWISE), ELEMENTWISE_ENTRY, [], instructions)


def _compile(text: str, entry: str, definitions: Sequence[str], instructions: str) -> bytes:
    options = ["--std=c++17", *definitions]

    def with_nvrtc() -> bytes:
        from torch.cuda._utils import _nvrtc_compile

        binary, _ = _nvrtc_compile(text, entry, compute_capability=instructions, nvcc_options=options)
        return binary if isinstance(binary, bytes) else binary.encode()

    return remembered("\n".join([*options, instructions, _compiler(), text]), with_nvrtc)


def _compiler() -> str:
    """The versions on which compiled kernels depend: of PyTorch, of CUDA and of the driver."""
    return f"torch {torch.__version__}, CUDA {torch.version.cuda}, driver {gpu_driver()}"


def instruction_set(capability: tuple[int, int]) -> str:
    """Name the instruction set of a chip with its own extensions: "90a"; "90" would have no `wgmma`."""
    return "{}{}a".format(*capability)


def _instructions_of(device: int | None = None) -> str:
    return instruction_set(torch.cuda.get_device_capability(device))


class Program:
    """Compiled kernels on the current device; `launch` puts one on the current stream."""

    def __init__(self, binary: bytes, entry: str = ENTRY) -> None:
        try:
            from torch.cuda._utils import _cuda_load_module

            self._module: Any = _cuda_load_module(binary)
            _ = getattr(self._module, entry).set_shared_memory_config  # PyTorch 2.8 does not have it yet
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
    """The program of a width, loaded once for the process."""
    with torch.cuda.device(device):
        return Program(_built(compile_program, channels, width, _instructions_of()))


@cache
def elementwise_program(device: int) -> Program:
    """The program of the kernels around the network's step, loaded once for the process."""
    with torch.cuda.device(device):
        return Program(_built(compile_elementwise, _instructions_of()), ELEMENTWISE_ENTRY)


def _built(compiler: Any, *arguments: Any) -> bytes:
    try:
        binary: bytes = compiler(*arguments)
    except Exception as error:
        raise _unavailable(error) from error
    return binary


def compile_all(shapes: Iterable[tuple[int, int]], device: int) -> None:
    """All programs, those of several widths included, compiled side by side: each takes a processor a few seconds."""
    shapes, instructions = list(shapes), _instructions_of(device)
    with ThreadPoolExecutor(len(shapes) + 1) as pool:
        under_way = [pool.submit(compile_program, *shape, instructions) for shape in shapes]
        under_way.append(pool.submit(compile_elementwise, instructions))
    for done in under_way:
        _built(done.result)
    for shape in shapes:
        program(*shape, device)
    elementwise_program(device)


FOLDER = "ZEROSNET_CACHE"  # names another folder; empty: nothing is kept
_CHECK = sha256().digest_size


def cache_folder() -> Path | None:
    """Find the folder of compiled kernels: in $ZEROSNET_CACHE, or in the user's cache; None to keep nothing."""
    given = os.environ.get(FOLDER)
    if given is not None:
        return Path(given) / "kernels" if given else None
    try:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    except RuntimeError:  # a user without a home
        return None
    return base / "zerosnet" / "kernels"


def remembered(key: str, make: Callable[[], bytes]) -> bytes:
    """Return what was made for a key before, on this machine, or make it and keep it.

    An entry begins with the checksum of its content: a damaged one is made anew. Entries are written in one move, so
    that processes may do it at the same time. A folder that cannot be written keeps nothing.
    """
    folder = cache_folder()
    if folder is None:
        return make()
    path = folder / f"{sha256(key.encode()).hexdigest()[:32]}.bin"
    try:
        entry = path.read_bytes()
    except OSError:
        entry = b""
    check, content = entry[:_CHECK], entry[_CHECK:]
    if content and sha256(content).digest() == check:
        return content
    content = make()
    with suppress(OSError):
        write_bytes(path, sha256(content).digest() + content)
    return content
