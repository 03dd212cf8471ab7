"""The GPUs of this machine, asked for and woken up without PyTorch, while that is being imported."""

import ctypes
import os
import threading

NVML = "nvml.dll" if os.name == "nt" else "libnvidia-ml.so.1"
DRIVER = "nvcuda.dll" if os.name == "nt" else "libcuda.so.1"


def capabilities() -> list[tuple[int, int]]:
    """The compute capability of every GPU, by NVML, which begins no CUDA; none if it does not tell."""
    try:
        nvml = ctypes.CDLL(NVML)
        if nvml.nvmlInit_v2():
            return []
        count, found = ctypes.c_uint(), []
        nvml.nvmlDeviceGetCount_v2(ctypes.byref(count))
        for index in range(count.value):
            device, major, minor = ctypes.c_void_p(), ctypes.c_int(), ctypes.c_int()
            if nvml.nvmlDeviceGetHandleByIndex_v2(index, ctypes.byref(device)) == 0 and (
                nvml.nvmlDeviceGetCudaComputeCapability(device, ctypes.byref(major), ctypes.byref(minor)) == 0
            ):
                found.append((major.value, minor.value))
        nvml.nvmlShutdown()
    except (OSError, AttributeError):
        return []
    return found


def wake() -> threading.Thread:
    """Make the context of the first GPU that CUDA shows, in a thread; PyTorch will find it made, or make it."""
    thread = threading.Thread(target=_make_context, name="wake the GPU")
    thread.start()
    return thread


def _make_context() -> None:
    try:
        driver = ctypes.CDLL(DRIVER)
        device, context = ctypes.c_int(), ctypes.c_void_p()
        if driver.cuInit(0) == 0 and driver.cuDeviceGet(ctypes.byref(device), 0) == 0:
            driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device)
    except (OSError, AttributeError):
        pass
