"""Laws of residual mixing: weights on a simplex, trained gains, steps that shrink."""

import pytest
import torch
from torch.nn import functional

from zerosnet.errors import InputError
from zerosnet.models import Config, create_model, wiring_of_network
from zerosnet.models.stepping.mixing_laws import GainsLaw, SimplexLaw, scaled_steps
from zerosnet.numerics import Scheme, Wiring, is_consistent, is_zero_stable

OPTIMUM = Scheme.parse("zerosnet(-9/5)")


def trained(name: str, steps: int = 4, lr: float = 0.5) -> tuple[torch.nn.Module, list[float]]:
    model = create_model(name, in_chans=1, seed=1)
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    generator = torch.Generator().manual_seed(0)
    x, labels = torch.randn(16, 1, 8, 8, generator=generator), torch.arange(16) % 10
    losses = []
    for _ in range(steps):
        loss = functional.cross_entropy(model(x), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return model, losses


@pytest.mark.parametrize("name", ["zerosnet20_simplex", "preresnet20_gains", "preresnet20_scaled"])
def test_networks_learn_and_their_coefficients_move(name: str) -> None:
    fresh = create_model(name, in_chans=1, seed=1)
    model, losses = trained(name, lr=0.1)
    assert losses[-1] < losses[0]
    moved = model.schemes() != fresh.schemes()
    assert moved == (name != "preresnet20_scaled")
    assert Config.from_json(model.config.to_json()) == model.config


def test_the_simplex_starts_at_the_optimum_and_stays_zero_stable_and_consistent() -> None:
    start = create_model("zerosnet20_simplex").schemes()[2:]
    for scheme in start:
        assert max(abs(float(a) - float(b)) for a, b in zip(scheme.alphas, OPTIMUM.alphas)) < 1e-7
    model, _ = trained("zerosnet20_simplex", lr=5.0)
    for scheme in model.schemes()[2:]:
        assert min(scheme.alphas) >= 0
        assert is_zero_stable(scheme)
        assert is_consistent(scheme)


@pytest.mark.parametrize("steps", [2, 3, 5])
def test_products_of_row_stochastic_companions_do_not_grow(steps: int) -> None:
    law = SimplexLaw(steps)
    values = 3 * torch.randn(24, steps, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    base = law.base(values)
    schemes = [Scheme(a, [b]) for a, b in zip(law.alphas(base).tolist(), law.beta(base).tolist())]
    wiring = Wiring.per_block(schemes, blocks=24 + steps - 1)
    assert wiring.gains().forward_rows.max() < 1e-12


def test_gains_are_one_at_the_start_and_the_network_is_then_a_preresnet() -> None:
    gains, plain = create_model("preresnet20_gains", seed=3), create_model("preresnet20", seed=3)
    x = torch.randn(2, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    assert torch.allclose(gains.eval()(x), plain.eval()(x), atol=1e-5)
    assert set(gains.schemes()) == {Scheme([1.0], [1.0])}


def test_scaled_steps_shrink_with_the_square_root() -> None:
    betas = [float(scheme.betas[0]) for scheme in create_model("preresnet56_scaled").schemes()]
    assert betas == pytest.approx([(n + 1) ** -0.5 for n in range(27)])
    assert len(scaled_steps(4)) == 4


def test_wirings_of_the_laws_predict_their_depth() -> None:
    depths = {
        name: wiring_of_network(create_model(name)).effective_depth()
        for name in ("preresnet56", "preresnet56_gains", "preresnet56_scaled", "zerosnet56_simplex", "zerosnet56_opt")
    }
    assert depths["preresnet56_gains"] == pytest.approx(depths["preresnet56"])
    assert depths["zerosnet56_simplex"] == pytest.approx(depths["zerosnet56_opt"], rel=1e-6)
    assert depths["preresnet56_scaled"] < depths["preresnet56"]


def test_starts_that_a_law_does_not_have_are_refused() -> None:
    with pytest.raises(InputError, match="expected 3 positive alphas"):
        SimplexLaw().values(Scheme.parse("1;1"))
    with pytest.raises(InputError, match="expected a consistent scheme"):
        SimplexLaw().values(Scheme.parse("1/3,1/3,1/3;1"))
    with pytest.raises(InputError, match="expected one alpha"):
        GainsLaw().values(OPTIMUM)
    with pytest.raises(InputError, match="steps is 1; expected 2 to 12"):
        SimplexLaw(1)
    assert GainsLaw().values(Scheme.parse("1/2;3")) == (0.5, 3.0)
    assert SimplexLaw(2).values(Scheme.parse("1/2,1/2;3/2")) == pytest.approx([-0.6931, -0.6931], abs=1e-4)
