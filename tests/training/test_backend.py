"""Who computes the step, on a machine without a GPU."""

import pytest
import torch

from zerosnet.errors import InputError
from zerosnet.kernels import KernelsUnavailable
from zerosnet.models import create_model
from zerosnet.training.fused import step as backend_module
from zerosnet.training.fused.step import ASKED_FOR, Backend, choose_backend, report_plain_torch


def chosen(kernels: str | None) -> Backend:
    return choose_backend(
        kernels,
        create_model("zerosnet20_opt"),
        size=(32, 32),
        batch=4,
        label_smoothing=0.0,
        device=torch.device("cpu"),
        compiled=False,
    )


@pytest.mark.parametrize("kernels", [None, "native"])
def test_without_a_gpu_plain_torch_takes_over_and_says_why(kernels):
    backend = chosen(kernels)
    assert backend.kernels == "torch"
    assert "no CUDA device" in backend.why_not_native


def test_plain_torch_takes_over_and_reports_why_kernels_cannot_be_built(monkeypatch):
    class Broken:
        def __init__(self, *arguments, **options):
            self.native = self

        def warm_up(self):
            raise KernelsUnavailable("NVRTC could not build the kernels: it is not there")

    monkeypatch.setattr(backend_module, "reason_against", lambda *arguments: None)
    monkeypatch.setattr(backend_module, "NativeStep", Broken)
    backend = chosen(None)
    assert backend.kernels == "torch"
    assert backend.why_not_native == "NVRTC could not build the kernels: it is not there"


def test_plain_torch_on_request_needs_no_reason():
    assert chosen("torch").why_not_native == "asked for"


def test_unknown_kernels_are_refused_by_name():
    with pytest.raises(InputError, match="'cuda'; expected one of native, torch"):
        chosen("cuda")


def test_why_plain_torch_computes_is_reported_once_and_not_if_it_was_asked_for():
    said: list[str] = []
    for why in ("", "no chip", "no chip", ASKED_FOR, "odd images", "no chip"):
        report_plain_torch(why, said.append)
    assert said == [f"plain torch instead of the native kernels: {why}" for why in ("no chip", "odd images")]
