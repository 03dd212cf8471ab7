"""Laws that cannot leave the zero-stable region, whatever happens to their numbers."""

from fractions import Fraction
from itertools import chain, product

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from zerosnet.models import create_model
from zerosnet.models.stepping.laws import RADIUS, StableLambdaLaw, StableRootsLaw
from zerosnet.numerics import Scheme, is_consistent, order, root_condition, zerosnet

finite = st.floats(-(2.0**100), 2.0**100, width=32)
KINDS = [
    *({"order": order, "shared": shared} for order in (1, 2) for shared in (False, True)),
    *({"order": order, "replicas": 2} for order in (1, 2)),
    *({"order": 1, "steps": steps} for steps in (2, 5, 6, 9)),
]


def parasitic(scheme: Scheme) -> np.ndarray:
    """Moduli of the roots but the principal one, from rho / (z - 1)."""
    rho = np.array([float(c) for c in scheme.rho])
    return np.abs(np.roots(np.cumsum(rho)[:-1]))


def assert_all_stable(model: torch.nn.Module) -> None:
    replicas = [model.schemes()] if model.replicas == 1 else model.schemes()
    for scheme in dict.fromkeys(chain(*replicas)):
        verdict = root_condition(scheme)
        assert verdict.zero_stable is True, (scheme, verdict)
        assert sum(map(Fraction, scheme.alphas)) == 1  # exactly: rho has its root at 1, not near it


@pytest.mark.parametrize("options", KINDS)
@pytest.mark.parametrize("size", [1e-3, 1.0, 30.0, 1e6, 1e30, 3e38])
def test_no_update_however_large_makes_a_block_unstable(options: dict, size: float) -> None:
    model = create_model("zerosnet20_stable", seed=0, **options)
    (values,) = model.coefficient_parameters()
    generator = torch.Generator().manual_seed(int(np.log10(size)) + 99)
    for signs in (
        torch.ones_like(values),
        -torch.ones_like(values),
        torch.randn(values.shape, generator=generator).sign(),
    ):
        with torch.no_grad():
            values += size * signs
        assert_all_stable(model)
        with torch.no_grad():
            values.copy_(size * signs)
        assert_all_stable(model)


@pytest.mark.parametrize("steps", range(2, 10))
def test_every_corner_of_the_cube_is_decided_as_stable(steps: int) -> None:
    """Infinite numbers of either sign: roots of multiplicity up to d - 1 on the smaller circle."""
    model = create_model("zerosnet1298_stable", steps=steps, seed=0)
    (values,) = model.coefficient_parameters()
    corners = torch.tensor(list(product((-torch.inf, torch.inf), repeat=steps - 1)))
    with torch.no_grad():
        values[: len(corners)] = corners
    assert_all_stable(model)


@settings(max_examples=40, deadline=None)
@given(st.lists(finite, min_size=2, max_size=2))
def test_roots_stay_in_the_disk_and_schemes_are_consistent(numbers: list[float]) -> None:
    law = StableRootsLaw(3)
    base = law.base(torch.tensor(numbers, dtype=torch.float64))
    scheme = Scheme(law.alphas(base).tolist(), [float(law.beta(base))])
    assert parasitic(scheme).max() <= RADIUS + 1e-6
    assert is_consistent(scheme)


@settings(max_examples=40, deadline=None)
@given(finite)
def test_lambda_stays_in_its_stable_set_and_the_order_is_two(number: float) -> None:
    law = StableLambdaLaw()
    base = law.base(torch.tensor([number], dtype=torch.float64))
    scheme = Scheme(law.alphas(base).tolist(), [float(law.beta(base))])
    assert parasitic(scheme).max() <= RADIUS + 1e-6
    assert order(scheme) >= 2
    mu = float(base)
    assert mu == 0 or 1 / mu < -1 or 1 / mu > 1 / 3


def test_both_ends_of_the_lambda_interval_have_a_parasitic_root_of_modulus_0_99() -> None:
    for mu in (StableLambdaLaw.LOWER, StableLambdaLaw.UPPER):
        assert parasitic(zerosnet(1 / mu)).max() == pytest.approx(RADIUS, abs=1e-12)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.complex_numbers(max_magnitude=0.98), min_size=1, max_size=2), st.booleans())
def test_real_roots_and_complex_pairs_are_all_reached(roots: list[complex], pair: bool) -> None:
    chosen = [roots[0], roots[0].conjugate()] if pair else [r.real for r in roots]
    q = np.poly(chosen).real
    alphas = -np.polymul([1, -1], q)[1:]
    law = StableRootsLaw(len(alphas))
    values = law.values(Scheme(alphas.tolist(), [float(q.sum())]))
    base = law.base(torch.tensor(values, dtype=torch.float64))
    assert np.allclose(law.alphas(base).numpy(), alphas, atol=1e-10)


@pytest.mark.parametrize("start", ["zerosnet(-9/5)", "zerosnet(1)", "zerosnet(10)", "zerosnet(1/2)", "1/2,1/4,1/4;7/4"])
def test_training_starts_at_the_scheme_asked_for(start: str) -> None:
    model = create_model("zerosnet20_stable", start=start, seed=0)
    scheme = model.schemes()[-1]
    wanted = Scheme.parse(start)
    assert np.allclose(scheme.to_float().alphas, wanted.to_float().alphas, atol=1e-6)
    assert np.allclose(scheme.to_float().betas, wanted.to_float().betas, atol=1e-6)


def test_the_stable_law_starts_at_the_optimal_scheme() -> None:
    for options in ({}, {"order": 2}, {"shared": True}):
        scheme = create_model("zerosnet20_stable", **options).schemes()[2]
        assert np.allclose(scheme.to_float().alphas, [1 / 3, 5 / 9, 1 / 9], atol=1e-6)


def test_a_number_far_out_still_has_a_gradient() -> None:
    """tanh's would be 1e-34 there."""
    values = torch.tensor([40.0], dtype=torch.float64, requires_grad=True)
    StableLambdaLaw().base(values).sum().backward()
    assert values.grad is not None and values.grad > 1e-5


def test_float32_would_move_a_double_root_a_thousand_times_further_than_float64() -> None:
    law = StableRootsLaw(3)
    k2 = (0.95 / RADIUS) ** 2
    k1 = -2 * (0.95 / RADIUS) / (1 + k2)
    values = torch.tensor([k / (1 - k * k) ** 0.5 for k in (k1, k2)], dtype=torch.float64)
    exact, rounded = law.base(values), law.base(values).float().double()
    moduli = [np.abs(np.roots([1, *base.tolist()])).max() for base in (exact, rounded)]
    assert moduli[0] == pytest.approx(0.95, abs=1e-7) and abs(moduli[1] - 0.95) > 1e-5
