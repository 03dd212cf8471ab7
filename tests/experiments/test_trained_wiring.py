"""Trained coefficients, read off the journal of a run."""

from pathlib import Path

import pytest
import torch

from zerosnet.experiments import trained_wiring
from zerosnet.models import create_model, wiring_of_network
from zerosnet.training import Options, RunSpec, Store, recipe, train

MODELS = ("zerosnet20_simplex", "preresnet20_gains", "preresnet20_x0", "streams20", "streams20_sinkhorn", "lmresnet20")


def of(model: str) -> RunSpec:
    return RunSpec(model, "cifar10", recipe("paper", "cifar10"), 1)


@pytest.mark.parametrize("model", MODELS)
def test_the_record_has_the_wiring_that_the_network_has(model: str) -> None:
    network = create_model(model, seed=1)
    with torch.no_grad():
        for values in network.coefficient_parameters():
            values += 0.05 * torch.randn(values.shape, generator=torch.Generator().manual_seed(0))
    kept = network.trained_coefficients()
    assert kept is not None
    found = trained_wiring(of(model), [{"epoch": 1}, {"epoch": 2, **kept[0]}])
    assert found is not None and found.blocks == 9
    assert found.wiring.effective_depth() == pytest.approx(wiring_of_network(network).effective_depth(), rel=1e-4)


@pytest.mark.parametrize("model", ["zerosnet20_simplex", "streams20_sinkhorn"])
def test_constrained_laws_never_leave_the_zero_stable_set(model: str) -> None:
    network = create_model(model, seed=1)
    with torch.no_grad():
        for values in network.coefficient_parameters():
            values += 3 * torch.randn(values.shape, generator=torch.Generator().manual_seed(0))
    found = trained_wiring(of(model), network.trained_coefficients() or [])
    assert found is not None and found.outside == 0
    assert found.largest_modulus == pytest.approx(1, abs=1e-4)
    assert found.growth == pytest.approx(1, abs=0.1), "20 rounds of Sinkhorn leave rows that add up to 1 nearly"


def test_a_gain_above_one_is_outside_and_its_growth_is_seen() -> None:
    blocks = [{"alphas": [keep], "betas": [1.0]} for keep in (1.0, 1.5, 2.0, *[1.0] * 6)]
    found = trained_wiring(of("preresnet20_gains"), [{"epoch": 1, "coefficients": blocks}])
    assert found is not None
    assert (found.outside, found.largest_modulus) == (2, pytest.approx(2)) and found.growth == pytest.approx(3)


def test_fixed_coefficients_and_old_records_of_streams_have_none() -> None:
    assert trained_wiring(of("preresnet20"), [{"epoch": 1}]) is None
    assert trained_wiring(of("streams20"), [{"epoch": 1}]) is None


@pytest.mark.parametrize("model", ["streams20_sinkhorn", "preresnet20_gains"])
def test_a_training_keeps_what_it_made_of_its_coefficients(model: str, tmp_path: Path) -> None:
    spec = RunSpec(model, "digits", recipe("quick", "digits", epochs=1), 1)
    train([spec], Store(tmp_path), Options("cpu"))
    record = Store(tmp_path).find(spec.id)
    found = trained_wiring(spec, record.metrics())
    assert found is not None and found.blocks == 9
