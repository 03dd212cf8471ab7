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
