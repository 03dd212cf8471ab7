"""The plan of a network: where blocks are one-step."""

import pytest

from zerosnet.models import create_model
from zerosnet.models.stepping import history as plan


@pytest.mark.parametrize("steps", [1, 2, 3, 5])
def test_the_start_takes_one_block_less_than_the_scheme_has_steps(steps):
    assert [plan.one_step_start(age, steps) for age in range(1, 8)].count(True) == steps - 1


@pytest.mark.parametrize(("stage_change", "starts"), [("project-each", 1), ("restart", 3)])
def test_the_start_decides_which_blocks_are_one_step(stage_change, starts, monkeypatch):
    def one_step_blocks() -> int:
        model = create_model("zerosnet56", scheme="zerosnet(-9/5)", stage_change=stage_change)
        return sum(not block.plan.multistep for block in model.stack.blocks)

    assert one_step_blocks() == 2 * starts
    monkeypatch.setattr(plan, "one_step_start", lambda age, steps: age < steps + 1)
    assert one_step_blocks() == 3 * starts
