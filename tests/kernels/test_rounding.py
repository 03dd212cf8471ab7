"""Networks in the arithmetic of the CUDA kernels, rounded on the CPU, against plain torch in float32."""

import copy

import pytest
import torch
from tests.kernels.rounded import RoundedKernels

from zerosnet.kernels.training_step import prepared
from zerosnet.models import create_model
from zerosnet.training.fused.passes import TorchStep

BATCH = 16
CASES = [
    ("zerosnet20_opt", {"replicas": 1}),
    ("preresnet20_x0", {"replicas": 2}),
    ("streams20", {"replicas": 2}),
    ("streams20_sinkhorn", {"replicas": 1}),
    ("streams56", {"replicas": 1}),
]


def build(name, options, **more):
    model = create_model(name, seed=list(range(options["replicas"])), **options)
    device = torch.device("cpu")
    native = prepared(model, lambda c, w: RoundedKernels(c, w, model.replicas, BATCH, device), **more)
    generator = torch.Generator().manual_seed(0)
    images = torch.randn(BATCH, 3 * model.replicas, 32, 32, generator=generator)
    return model, native, images, torch.randint(10, (model.replicas, BATCH), generator=generator)


def losses_of(logits, labels):
    losses = torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="none")
    return losses.view(labels.shape).mean(1)


@pytest.mark.parametrize(("name", "options"), CASES)
def test_gradients_are_as_near_to_float32_as_those_of_plain_torch_with_bf16_convolutions(name, options):
    """The bound is that of the test on a GPU, `test_step_gpu.py`."""
    model, native, images, labels = build(name, options)
    exact, bf16 = copy.deepcopy(model), copy.deepcopy(model)
    bf16.conv_dtype = torch.bfloat16
    truth, theirs = (
        TorchStep(one, list(one.parameters()), replicas=one.replicas)(images, labels) for one in (exact, bf16)
    )
    native.refresh(training=True)
    tape = native.forward(images, training=True)
    losses, _ = native.head.losses(tape, lambda logits: losses_of(logits, labels))
    native.backward(tape)
    torch.testing.assert_close(losses, truth.losses, rtol=0.02, atol=0.02)
    for (key, parameter), plain, exactly in zip(model.named_parameters(), theirs.gradients, truth.gradients):
        scale = exactly.norm() + 1e-12
        error, allowed = (native.gradients[parameter] - exactly).norm() / scale, (plain - exactly).norm() / scale
        assert error < 2 * allowed + 0.02, (key, error.item(), allowed.item())


@pytest.mark.parametrize(("name", "options"), CASES)
def test_evaluation_is_near_to_that_in_float32(name, options):
    model, native, images, _ = build(name, options, weights=False)
    with torch.no_grad():
        model.train()(images)
        expected = model.eval()(images).view(BATCH, model.replicas, -1).transpose(0, 1)
    native.refresh(training=False)
    found = native.head.logits(native.forward(images, training=False, record=False))
    assert (found - expected).norm() < 0.03 * expected.norm()
