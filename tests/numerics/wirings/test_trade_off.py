import pytest

from zerosnet.numerics import depth_trade_off


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
