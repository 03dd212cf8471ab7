"""What the head reads of every block, computed from coefficients, against networks at initialisation.

A state is a linear function of the stem and of all slopes f_n, so a real network can be taken apart: every source goes
alone through the same projections and sums.
"""

import numpy as np
import pytest
import torch

from zerosnet.models import create_model
from zerosnet.models.stepping.history import History
from zerosnet.numerics import Scheme, Wiring

DECADES = 0.12
NEGLIGIBLE = 1e-5  # of the amplitude of what the head reads

OPT, TRIPLE, FIFTH, HALF, QUARTER = "1/3,5/9,1/9;16/9", "1,1,1;1", "-3,5,-1;4", "9/4,-2,3/4;1/2", "15/4,-4,5/4;-1/2"
CASES = [
    (OPT, {}),
    (TRIPLE, {}),
    (HALF, {}),
    (TRIPLE, {"beta_growth": "1.839"}),
    (QUARTER, {"beta_growth": "2.177"}),
    (FIFTH, {"beta_growth": "4.236"}),
    (OPT, {"beta_growth": "1.839"}),
    (OPT, {"beta_growth": "1.2"}),
    (OPT, {"beta_growth": "0.8"}),
    (OPT, {"stage_change": "restart"}),
    (FIFTH, {"stage_change": "restart"}),
    (TRIPLE, {"stage_change": "restart", "beta_growth": "1.839"}),
    (HALF, {"stage_change": "project-shared"}),
]


@torch.no_grad()
def measured_weights(scheme: str, options: dict, seed: int, count: int = 6, size: int = 16) -> np.ndarray:
    """Size of what the head reads of the stem, f_0, f_1, ..., relative to what it reads."""
    model = create_model("zerosnet56", scheme=scheme, seed=seed, **options).double().train()
    images = torch.randn(count, 3, size, size, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    stem = model.stem(images)
    stack = model.stack
    steps = list(stack.walk(stem))
    sources = len(steps) + 1
    history = History((torch.cat([stem, torch.zeros_like(stem.repeat(sources - 1, 1, 1, 1))]),))
    for n, (block, row) in enumerate(zip(stack.steps, stack.rows(stem))):
        projected = block.project(history, history.states[0])
        slope = torch.zeros_like(projected.states[0])
        slope[(n + 1) * count : (n + 2) * count] = steps[n].slope
        history = block.hand_on(history, projected, slope, block.combine(projected, slope, row))
    alone = history.states[0].unflatten(0, (sources, count))
    assert torch.allclose(alone.sum(0), steps[-1].state, rtol=1e-8, atol=1e-8 * float(steps[-1].state.abs().max()))
    return alone.flatten(1).norm(dim=1).numpy() / float(steps[-1].state.norm())


@pytest.mark.parametrize(("scheme", "options"), CASES)
def test_parts_from_coefficients_agree_with_networks_at_initialisation(scheme: str, options: dict) -> None:
    measured = measured_weights(scheme, options, seed=0)
    wiring = Wiring.of(Scheme.parse(scheme), **options)
    predicted = wiring.contributions()[-1]
    large = np.maximum(measured, predicted) > NEGLIGIBLE
    assert np.abs(np.log10(measured[large] / predicted[large])).max() < DECADES
    assert np.square(measured).sum() == pytest.approx(1, abs=0.25), "sources are hardly correlated"
