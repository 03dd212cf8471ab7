"""The network of a run, from its record alone: scheme, wiring, and what training made of it."""

from pathlib import Path

import pytest
import torch

from zerosnet.experiments import scheme_of_run, trained_wiring, wiring_of_run
from zerosnet.models import create_model, wiring_of_network
from zerosnet.training import Options, RunSpec, Store, recipe, train

MODELS = ("zerosnet20_simplex", "preresnet20_gains", "preresnet20_x0", "streams20", "streams20_sinkhorn", "lmresnet20")


def spec(**fields: object) -> RunSpec:
    common = {"model": "zerosnet20", "scheme": "1,1,1;1", "dataset": "cifar10", "recipe": "paper", "seed": 1}
    return RunSpec.from_json({**common, **fields})


def of(model: str) -> RunSpec:
    return spec(model=model, scheme=None)


def test_a_run_has_its_own_scheme_or_that_of_its_model() -> None:
    assert [str(scheme_of_run(one)) for one in (spec(), of("zerosnet56_opt"))] == ["1,1,1;1", "1/3,5/9,1/9;16/9"]
    per_block = spec(scheme=None, block_schemes=["1,1,1;1"] * 7)
    assert scheme_of_run(of("zerosnet56_tra")) is scheme_of_run(of("nothing")) is scheme_of_run(per_block) is None


@pytest.mark.parametrize("fields", [{}, {"stage_change": "restart"}, {"scheme": "15/4,-4,5/4;-1/2"}])
def test_growing_initial_weights_have_the_shares_of_growing_betas(fields: dict[str, str]) -> None:
    initial, grown = (wiring_of_run(spec(**{name: "1.841"}, **fields)) for name in ("init_growth", "beta_growth"))
    assert initial is not None and grown is not None
    assert list(initial.shares()) == pytest.approx(list(grown.shares()))


def test_a_scheme_for_every_block_keeps_its_start_up() -> None:
    schemes = ["1,0,0;1"] * 2 + ["1,1,1;1"] * 7
    listed = wiring_of_run(spec(scheme=None, block_schemes=schemes, init_growth="3/2"))
    grown = wiring_of_run(spec(beta_growth="3/2"))
    assert listed is not None and grown is not None
    assert list(listed.shares()) == pytest.approx(list(grown.shares()))


def test_trained_coefficients_have_no_wiring_before_training() -> None:
    assert wiring_of_run(of("zerosnet20_tra")) is None


@pytest.mark.parametrize(
    ("model", "alike"),
    [("zerosnet20_simplex", "zerosnet20_opt"), ("preresnet20_gains", "preresnet20"), ("preresnet20_x0", "preresnet20")],
)
def test_trained_coefficients_stand_for_their_start_values_if_asked(model: str, alike: str) -> None:
    trained, fixed = (of(name) for name in (model, alike))
    assert wiring_of_run(trained) is None
    start, known = wiring_of_run(trained, at_start=True), wiring_of_run(fixed)
    assert start is not None and known is not None
    assert start.effective_depth() == pytest.approx(known.effective_depth(), rel=1e-6)


def test_streams_start_as_deep_as_euler_and_without_normalisation_there_is_no_wiring() -> None:
    streams, euler = (wiring_of_run(of(name), at_start=True) for name in ("streams20", "preresnet20"))
    assert streams is not None and euler is not None
    assert streams.effective_depth() == pytest.approx(euler.effective_depth(), rel=0.02)


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
    run = RunSpec(model, "digits", recipe("quick", "digits", epochs=1), 1)
    train([run], Store(tmp_path), Options("cpu"))
    found = trained_wiring(run, Store(tmp_path).find(run.id).metrics())
    assert found is not None and found.blocks == 9
