"""Networks without normalisation: gradients of the output at the start, from the coefficients."""

import numpy as np
import pytest
import torch

from zerosnet.models import create_model
from zerosnet.numerics import Wiring, sensitivity

SCHEMES = (
    "zerosnet(-9/5)",
    "zerosnet(1/2)",
    "-1/5,6/5,0;11/5",
    "1,1,1;1",
    "1/10,1/5,3/10;2/5",
    "11/5,-39/25,9/25;4/25",
)


@pytest.mark.parametrize("blocks", [(3, 3, 3), (9, 9, 9), (54,)])
def test_eulers_scheme_has_a_sensitivity_of_one_at_every_depth(blocks):
    found = sensitivity(Wiring.of("1;1", blocks))
    assert found.head == 0 and not found.blocks.any() and found.log10 == pytest.approx(0)


def test_residual_gains_multiply():
    found = sensitivity(Wiring.of_gains([2, 3], [5, 7]))
    assert 10**found.head == pytest.approx(36)  # y_2 = 6 y_0
    assert np.power(10, found.blocks) == pytest.approx([(5 * 3) ** 2, (7 * 2) ** 2])
    assert 10**found.log10 == pytest.approx((36 + (225 + 196) / 2) / 2)


def test_a_state_that_is_lost_has_no_sensitivity():
    found = sensitivity(Wiring.of_gains([1, 0], [1, 0]))
    assert found.head == -np.inf and found.log10 == -np.inf


def test_sensitivity_stays_finite_if_its_square_would_overflow():
    assert 308 < sensitivity(Wiring.of("-3,5,-1;4", (432,))).log10 < 1000


def test_sensitivity_grows_with_depth_if_and_only_if_a_root_lies_outside():
    for scheme, grows in [("zerosnet(-9/5)", False), ("zerosnet(1/2)", False), ("-1/20,21/20,0;41/20", True)]:
        shallow, deep = (sensitivity(Wiring.of(scheme, (n,))).log10 for n in (100, 400))
        assert (deep > shallow + 1) == grows


def squared_gradients(scheme: str) -> tuple[float, np.ndarray]:
    """Squared gradients of the output for head and last layers of branches, in a network of 20 layers."""
    model = create_model("zerosnet20_nonorm", scheme=scheme, seed=0).double()
    generator = torch.Generator().manual_seed(0)
    images = torch.randn(16, 3, 32, 32, generator=generator, dtype=torch.float64)
    found = []
    for image in images.split(1):
        model.zero_grad()
        (model(image) * torch.randn(1, 10, generator=generator, dtype=torch.float64)).sum().backward()
        weights = [model.fc.weight, *(block.f.conv2.weight for block in model.stack.blocks)]
        found.append([float(weight.grad.square().sum()) for weight in weights])
    mean = np.mean(found, axis=0)
    return mean[0], mean[1:]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_gradients_of_real_networks_are_those_of_the_coefficients(scheme):
    head, blocks = squared_gradients(scheme)
    euler_head, euler_blocks = squared_gradients("1,0,0;1")
    predicted = sensitivity(Wiring.of(scheme, (3, 3, 3)))
    assert np.log10(head / euler_head) == pytest.approx(predicted.head, abs=0.2)
    assert np.log10(blocks / euler_blocks) == pytest.approx(predicted.blocks, abs=0.2)
