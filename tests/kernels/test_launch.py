"""What a user reads when the driver refuses a launch."""

import ctypes
from types import SimpleNamespace

import pytest
import torch

from zerosnet.kernels import launch as module


def test_a_refused_launch_names_the_error_and_the_way_around_it(monkeypatch):
    def name_of(status, place):
        place._obj.value = b"CUDA_ERROR_INVALID_VALUE"

    driver = SimpleNamespace(cuLaunchKernelEx=lambda *_: 1, cuGetErrorName=name_of)
    monkeypatch.setattr(module, "_driver", lambda: driver)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda: SimpleNamespace(cuda_stream=0))
    with pytest.raises(RuntimeError, match=r"CUDA_ERROR_INVALID_VALUE.*--kernels torch"):
        module.launch(ctypes.c_void_p(0), (1, 1, 1), (32, 1, 1), 0, [1, 2.0, torch.zeros(1)], early=True)
