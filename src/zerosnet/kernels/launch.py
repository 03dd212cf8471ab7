"""Launch a loaded kernel by CUDA's driver, which can let it come before the one ahead of it has ended."""

import ctypes
from collections.abc import Sequence
from functools import cache
from typing import Any

import torch

from zerosnet.kernels.driver import DRIVER

EARLY = 6  # CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION


class LaunchAttribute(ctypes.Structure):
    """`CUlaunchAttribute`: its value is a union of 64 bytes, of which this one uses an int."""

    _fields_ = (("id", ctypes.c_int), ("pad", ctypes.c_int), ("value", ctypes.c_int), ("rest", ctypes.c_int * 15))


class LaunchConfig(ctypes.Structure):
    """`CUlaunchConfig`."""

    _fields_ = (
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("shared", ctypes.c_uint),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.POINTER(LaunchAttribute)),
        ("count", ctypes.c_uint),
    )


@cache
def _driver() -> ctypes.CDLL:
    return ctypes.CDLL(DRIVER)


def launch(
    function: ctypes.c_void_p,
    grid: tuple[int, int, int],
    block: tuple[int, int, int],
    shared: int,
    arguments: Sequence[Any],
    *,
    early: bool = False,
) -> None:
    """Put a kernel on the current stream.

    Args:
        function: The driver's handle of the kernel.
        grid: Blocks.
        block: Threads of a block.
        shared: Bytes of shared memory.
        arguments: Tensors, whose addresses are passed, ints and floats (C's int and double).
        early: Let it begin while the kernel ahead of it still runs; it has to wait for that one itself.

    Raises:
        RuntimeError: The driver refuses; the message names its error.
    """
    values = [_as_c(argument) for argument in arguments]
    pointers = (ctypes.c_void_p * len(values))(*(ctypes.addressof(value) for value in values))
    attribute = LaunchAttribute(EARLY, 0, 1)
    stream = torch.cuda.current_stream().cuda_stream
    how = LaunchConfig(grid, block, shared, stream, ctypes.pointer(attribute), int(early))
    status = _driver().cuLaunchKernelEx(ctypes.byref(how), function, pointers, None)
    if status:
        name = ctypes.c_char_p()
        _driver().cuGetErrorName(status, ctypes.byref(name))
        error = (name.value or b"unknown error").decode()
        raise RuntimeError(f"CUDA refused a launch: {error}; --kernels torch trains without kernels of our own")


def _as_c(argument: Any) -> ctypes.c_void_p | ctypes.c_int | ctypes.c_double:
    if isinstance(argument, torch.Tensor):
        return ctypes.c_void_p(argument.data_ptr())
    return ctypes.c_int(argument) if isinstance(argument, int) else ctypes.c_double(argument)
