"""What numbers a training computes with, and the switches of torch that go with it, set for a while and put back."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch

from zerosnet.errors import InputError


@dataclass(frozen=True)
class Precision:
    """Parameters, statistics and losses in `dtype`; convolutions in `conv_dtype`, the state in `state_dtype`.

    None: the same as `dtype`.
    """

    dtype: torch.dtype
    conv_dtype: torch.dtype | None = None
    state_dtype: torch.dtype | None = None


# TensorFloat-32 is off in all of them: fp32 is fp32
PRECISIONS = {
    "bf16": Precision(torch.float32, torch.bfloat16),
    "mixed": Precision(torch.float32, torch.bfloat16, torch.bfloat16),
    "fp32": Precision(torch.float32),
    "fp64": Precision(torch.float64),
}


def precision(name: str | None, device: torch.device, *, usual: str = "bf16") -> Precision:
    """The precision of that name; None is the `usual` one on CUDA and fp32 elsewhere."""
    name = name or (usual if device.type == "cuda" else "fp32")
    if name not in PRECISIONS:
        raise InputError(f"precision is {name!r}; expected one of {', '.join(PRECISIONS)}")
    numbers = PRECISIONS[name]
    if numbers.conv_dtype is not None and device.type != "cuda":
        raise InputError(f"precision {name} is for CUDA devices; on the CPU use fp32")
    return numbers


def check_device(name: str) -> None:
    if name not in ("auto", "cpu", "cuda"):
        raise InputError(f"device is {name!r}; expected auto, cpu or cuda")


def find_device(name: str) -> torch.device:
    """auto, cpu or cuda as a device; auto is CUDA where there is one."""
    check_device(name)
    if name == "cuda" and not torch.cuda.is_available():
        raise InputError("device is cuda, but torch finds no CUDA device here; expected auto or cpu")
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    return torch.device(name, 0) if name == "cuda" else torch.device(name)


@contextmanager
def torch_settings(device: torch.device, *, deterministic: bool) -> Iterator[None]:
    """No TensorFloat-32; algorithms that give the same bits every time, or the fastest ones cuDNN can find."""
    cudnn = torch.backends.cudnn
    before = cudnn.allow_tf32, cudnn.benchmark, cudnn.deterministic
    was_deterministic = torch.are_deterministic_algorithms_enabled()
    warn_only = torch.is_deterministic_algorithms_warn_only_enabled()
    try:
        if device.type == "cuda":
            cudnn.allow_tf32, cudnn.benchmark, cudnn.deterministic = False, not deterministic, deterministic
        if deterministic:
            # read by cuBLAS when it starts
            os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
            torch.use_deterministic_algorithms(True)
        yield
    finally:
        cudnn.allow_tf32, cudnn.benchmark, cudnn.deterministic = before
        torch.use_deterministic_algorithms(was_deterministic, warn_only=warn_only)
