"""The bytes that a step moves, counted from its launches on a chip that computes nothing."""

import re

import pytest
import torch
from tests.kernels.fake_chip import install
from tests.kernels.host import needs_compiler

from zerosnet.experiments import costs
from zerosnet.kernels import NativeStep
from zerosnet.kernels.cuda import CudaKernels
from zerosnet.models import create_model

# activations that a kernel reads and writes, as its source counts them; those of weights are left out
MOVED = dict.fromkeys(("conv_inner", "pool_backward"), 2) | {"conv_backward_inner": 3, "conv_backward_outer": 4}
MOVED |= {"activated_patches": 1 + 9 / 4, "gather_patches": 2 + 9 / 4, "take_even": 1 / 2, "pack_weights": 0}
MOVED |= dict.fromkeys(("channel_statistics", "pool", "stem_forward", "stem_weight_gradient"), 1)


def moved(kernel):
    if kernel in MOVED:
        return MOVED[kernel]
    name, dots, terms = re.fullmatch(r"(conv_step|state_gradient|history_gradient)(_dots)?_(\d)", kernel).groups()
    n = int(terms)
    return {"conv_step": (5 + 3 * n) / 2, "state_gradient": 3 + n, "history_gradient": 1 + n + bool(dots)}[name]


def of_a_step(monkeypatch, name):
    """Bytes of a step, in activations of the first stage."""
    install(monkeypatch)
    launch, found = CudaKernels._launch, []

    def noted(self, kernel, *arguments, **options):
        found.append(moved(kernel) * 16 / self.channels)
        launch(self, kernel, *arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(CudaKernels, "_launch", noted)
        model = create_model(name, seed=0).to(memory_format=torch.channels_last)
        NativeStep(model, batch=1)(torch.zeros(1, 3, 32, 32), torch.zeros(1, 1, dtype=torch.long))
    return sum(found)


@needs_compiler
@pytest.mark.parametrize(("name", "kind"), [("preresnet{}_x0", "_x0"), ("streams{}", "streams")])
@pytest.mark.parametrize("layers", ["20", "56"])
def test_networks_of_streams_move_as_many_bytes_as_their_costs_are_counted_by(monkeypatch, name, kind, layers):
    ratio = of_a_step(monkeypatch, name.format(layers)) / of_a_step(monkeypatch, f"zerosnet{layers}_opt")
    assert ratio == pytest.approx(costs._STREAMS[kind][layers], abs=0.05)
