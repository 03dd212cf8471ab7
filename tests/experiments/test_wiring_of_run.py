"""The wiring of a run's network, which the accuracy law reads."""

import pytest

from zerosnet.experiments import wiring_of_run
from zerosnet.training import RunSpec


def spec(**fields: object) -> RunSpec:
    common = {"model": "zerosnet20", "scheme": "1,1,1;1", "dataset": "cifar10", "recipe": "paper", "seed": 1}
    return RunSpec.from_json({**common, **fields})


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
    assert wiring_of_run(spec(model="zerosnet20_tra", scheme=None)) is None


@pytest.mark.parametrize(
    ("model", "alike"),
    [("zerosnet20_simplex", "zerosnet20_opt"), ("preresnet20_gains", "preresnet20"), ("preresnet20_x0", "preresnet20")],
)
def test_trained_coefficients_stand_for_their_start_values_if_asked(model: str, alike: str) -> None:
    trained, fixed = (spec(model=name, scheme=None) for name in (model, alike))
    assert wiring_of_run(trained) is None
    start, known = wiring_of_run(trained, at_start=True), wiring_of_run(fixed)
    assert start is not None and known is not None
    assert start.effective_depth() == pytest.approx(known.effective_depth(), rel=1e-6)


def test_streams_start_as_deep_as_euler_and_without_normalisation_there_is_no_wiring() -> None:
    streams, euler = (
        wiring_of_run(spec(model=name, scheme=None), at_start=True) for name in ("streams20", "preresnet20")
    )
    assert streams is not None and euler is not None
    assert streams.effective_depth() == pytest.approx(euler.effective_depth(), rel=0.02)
