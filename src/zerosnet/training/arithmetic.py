"""The number formats and the device of a training, and the switches of torch that go with them.

Names are checked without torch, which is imported when a device or a number format is needed.
"""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

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
