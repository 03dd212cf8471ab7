"""Shares computed from coefficients against networks at initialisation: no number is fitted."""

import math
import random

import numpy as np
import pytest
import torch

from zerosnet.experiments.ours import PAIRS
from zerosnet.models import create_model, of_replica, predicted_shares
from zerosnet.numerics import EULER, PAPER_ROWS, Scheme, from_roots

DECADES = 0.12
SEEDS = (0, 1, 2)
PAIRED = [scheme for both in PAIRS.values() for _, scheme in both]
MEASURED = list(dict.fromkeys([*(row.scheme for row in PAPER_ROWS), *PAIRED, EULER]))
"""The schemes first trained at 56 layers: the paper's ten, those of the pairs, and PreResNet's."""


def random_schemes(count: int) -> list[Scheme]:
    """Draw schemes of up to four steps: half with a principal root 1 and drawn parasitic roots, half with drawn alphas.

    Parasitic roots have moduli up to 1.3, real or a complex pair; beta is between 0.1 and 3.
    """
    draw = random.Random(21)
    schemes = []
    for n in range(count):
        if n % 2:
            alphas = [round(draw.uniform(-1.5, 1.5), 3) for _ in range(draw.randint(1, 4))]
        else:
            modulus, angle = draw.uniform(0, 1.3), draw.uniform(0, math.pi)
            pair = (round(-2 * modulus * math.cos(angle), 3), round(modulus**2, 3))
            roots = [round(draw.uniform(-1.3, 1.3), 3) for _ in range(draw.randint(0, 1))]
            alphas = from_roots([pair, *roots]).alphas
        schemes.append(Scheme(alphas, [round(10 ** draw.uniform(-1, 0.5), 3)]))
    return schemes


def variants() -> list[dict]:
    """Options of networks with a scheme per block, growing steps, or another change of stages."""
    draw = random.Random(22)
    triple, optimum, half = (Scheme.parse(text) for text in ("1,1,1;1", "zerosnet(-9/5)", "zerosnet(1/2)"))
    mixed = [draw.choice(MEASURED[:4] + MEASURED[6:10]) for _ in range(25)]
    steps = [Scheme(optimum.alphas, [round(10 ** draw.uniform(-2, 1), 3)]) for _ in range(25)]
    changes = [{"scheme": s, "stage_change": c} for s in (triple, optimum, half) for c in ("restart", "project-shared")]
    fifth = Scheme.parse("-3,5,-1;4")
    growing = [{"scheme": triple, "beta_growth": 1.839}, {"scheme": optimum, "beta_growth": 0.8}]
    growing += [{"scheme": optimum, "beta_growth": 1.839}, {"scheme": fifth, "beta_growth": 4.236}]
    both = [{"scheme": s, "beta_growth": 1.839, "stage_change": "restart"} for s in (triple, optimum)]
    return [{"block_schemes": mixed}, {"block_schemes": steps}, *growing, *both, *changes]


CASES = [{"scheme": scheme} for scheme in [*MEASURED, *random_schemes(20)]] + variants()


@torch.no_grad()
def largest_error(options: dict, seed: int, count: int, size: int) -> float:
    """Return the largest |log10(measured / predicted share)| over the blocks of a network of 56 layers."""
    model = create_model("zerosnet56", seed=seed, **options)
    predicted = predicted_shares(model)
    images = torch.randn(count, 3, size, size, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    measured = []
    for step in model.double().train().walk(images):
        beta = abs(float(of_replica(step.row.betas[0], 0)))
        measured.append(beta * float(step.slope.norm() / step.state.norm()))
    return float(np.abs(np.log10(np.divide(measured, predicted))).max())


@pytest.mark.parametrize(
    "options", [*CASES[:10:3], *CASES[19:22], *variants()[:6]], ids=lambda options: " ".join(map(str, options))
)
def test_shares_from_coefficients_agree_with_networks_at_initialisation(options):
    assert largest_error(options, seed=0, count=8, size=16) < DECADES


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("case", range(len(CASES)))
def test_all_shares_agree_with_networks_at_initialisation(case, seed):
    assert largest_error(CASES[case], seed, count=16, size=32) < DECADES
