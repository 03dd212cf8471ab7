"""NVRTC, the compiler of CUDA C++ that PyTorch carries, called without PyTorch, which takes seconds to import.

It needs no device. Threads compile side by side: Python's lock is released while it works.
"""

import ctypes
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from runpy import run_path
from typing import Any

from zerosnet.environment import gpu_driver


@cache
def torch_versions() -> tuple[str, str | None]:
    """The versions of PyTorch and of its CUDA (None if it has none), by its files: it need not be imported."""
    known = run_path(str(_torch_folder() / "version.py"))
    return str(known["__version__"]), known["cuda"]


@cache
def nvrtc_package() -> str | None:
    """The version of the NVRTC that was installed with PyTorch, by its package's name; None if it came otherwise.

    The library need not be loaded, and does not tell as much: its own version has only two numbers.
    """
    found = sorted(path.stem.rpartition("-")[2] for path in _torch_folder().parent.glob("nvidia_cuda_nvrtc*.dist-info"))
    return ", ".join(found) or None


def compiler_versions() -> str:
    """The versions on which compiled kernels depend: of PyTorch, of CUDA, of the driver and of NVRTC."""
    torch, cuda = torch_versions()
    return f"torch {torch}, CUDA {cuda}, driver {gpu_driver()}, NVRTC {nvrtc_package()}"


def _torch_folder() -> Path:
    found = find_spec("torch")
    if found is None or found.origin is None:
        raise ImportError("PyTorch is not installed")
    return Path(found.origin).parent


@cache
def library() -> ctypes.CDLL:
    """Load NVRTC of PyTorch's CUDA: the one that was installed with PyTorch, or else the system's."""
    cuda = torch_versions()[1]
    if cuda is None:
        raise OSError("this PyTorch has no CUDA, and so no NVRTC")
    major, folder = cuda.partition(".")[0], _torch_folder()
    names = [f"nvrtc64_{major}0_0.dll"] if sys.platform == "win32" else [f"libnvrtc.so.{major}", "libnvrtc.so"]
    installed = [*folder.parent.glob(f"nvidia/*/lib/{names[0]}"), folder / "lib" / names[0]]
    for name in [*(str(path) for path in installed if path.exists()), *names]:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    raise OSError("could not find any NVRTC library")


def compile_cuda(text: str, name: str, options: list[str]) -> bytes:
    """Compile a program to machine code.

    Raises:
        OSError: There is no NVRTC.
        RuntimeError: The program has errors; the message is the compiler's.
    """
    nvrtc, program = library(), ctypes.c_void_p()
    _check(nvrtc.nvrtcCreateProgram(ctypes.byref(program), text.encode(), name.encode(), 0, None, None))
    try:
        words = [option.encode() for option in options]
        status = nvrtc.nvrtcCompileProgram(program, len(words), (ctypes.c_char_p * len(words))(*words))
        if status:
            log = _read(nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog, program)
            raise RuntimeError(f"kernel compilation failed: {log.rstrip(bytes(1)).decode(errors='replace')}")
        return _read(nvrtc.nvrtcGetCUBINSize, nvrtc.nvrtcGetCUBIN, program)
    finally:
        nvrtc.nvrtcDestroyProgram(ctypes.byref(program))


def _read(size_of: Any, read: Any, program: ctypes.c_void_p) -> bytes:
    size = ctypes.c_size_t()
    _check(size_of(program, ctypes.byref(size)))
    content = ctypes.create_string_buffer(size.value)
    _check(read(program, content))
    return content.raw


def _check(status: int) -> None:
    if status:
        describe = library().nvrtcGetErrorString
        describe.restype = ctypes.c_char_p
        raise RuntimeError(f"NVRTC: {describe(status).decode()}")
