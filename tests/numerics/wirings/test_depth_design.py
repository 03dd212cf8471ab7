import pytest

from zerosnet.errors import InputError
from zerosnet.numerics import depth_trade_off, is_zero_stable, order, zerosnet
from zerosnet.numerics.wirings.depth_design import design_by_depth
from zerosnet.numerics.wirings.wiring import Wiring


@pytest.mark.parametrize(("steps", "least_order"), [(1, 1), (2, 1), (2, 2), (3, 1), (3, 2), (4, 3)])
def test_a_design_has_its_order_and_is_zero_stable(steps: int, least_order: int) -> None:
    found = design_by_depth(steps, (3, 3, 3), least_order)
    assert order(found.scheme) >= least_order
    assert found.scheme.steps == steps
    assert is_zero_stable(found.scheme) is not False
    assert found.value == pytest.approx(Wiring.of(found.scheme, (3, 3, 3)).effective_depth())


def test_more_steps_use_more_depth_than_euler_and_than_the_smallest_roots() -> None:
    depths = [design_by_depth(steps).value for steps in (1, 2, 3, 4)]
    assert depths == sorted(depths)
    assert depths[2] > Wiring.of(zerosnet("-9/5")).effective_depth() > depths[0]


def test_the_head_reads_most_from_euler() -> None:
    found = design_by_depth(3, objective="head")
    assert found.value == pytest.approx(found.euler, rel=1e-3)


@pytest.mark.parametrize("bound", [0.6, 0.7])
def test_a_small_stage_gain_costs_depth(bound: float) -> None:
    free, bounded = design_by_depth(3, objective="accuracy"), design_by_depth(3, objective="accuracy", gain=bound)
    assert bounded.stage_gain <= bound + 1e-6
    assert bounded.value < free.value


def test_a_bound_that_no_scheme_keeps_is_named() -> None:
    with pytest.raises(InputError, match=r"gain is 0.1; no scheme of 2 steps"):
        design_by_depth(2, gain=0.1)


def test_a_free_growth_runs_to_its_bound_for_shares_and_not_for_accuracy() -> None:
    assert design_by_depth(2, growth=None).growth == pytest.approx(2, abs=1e-3)
    assert 1 < design_by_depth(2, growth=None, objective="accuracy").growth < 1.5


@pytest.mark.parametrize("options", [{"steps": 9}, {"steps": 3, "order": 4}, {"steps": 2, "objective": "roots"}])
def test_bad_questions_are_named(options: dict) -> None:
    with pytest.raises(InputError, match="expected"):
        design_by_depth(**options)


@pytest.fixture(scope="module")
def found():
    return depth_trade_off(3, (3, 3, 3), moduli=(0.2, 0.5, 0.8))


def test_smaller_roots_cost_depth(found) -> None:
    for points in found.by_modulus.values():
        assert [best.value for _, best in points] == sorted(best.value for _, best in points)
        assert all(best.parasitic_modulus <= bound + 1e-6 for bound, best in points)


def test_a_bound_that_nothing_keeps_has_no_entry(found) -> None:
    assert min(bound for bound, _ in found.by_modulus[1]) == 0.2
    assert min(bound for bound, _ in found.by_modulus[2]) == 0.5, "order 2 has a parasitic modulus of 1/3 at least"


def test_order_costs_depth_and_steps_bring_it(found) -> None:
    first, second = ({best.steps: best.value for best in line} for line in (found.by_steps[1], found.by_steps[2]))
    assert set(first) == {1, 2, 3, 4} and set(second) == {2, 3, 4}
    assert all(first[steps] >= second[steps] - 1e-6 for steps in second)
    assert list(first.values()) == pytest.approx(sorted(first.values()), abs=0.01)
