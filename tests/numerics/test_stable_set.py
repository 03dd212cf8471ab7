from fractions import Fraction

import pytest
import sympy

from zerosnet.numerics import FAMILIES, is_zero_stable, solve_stable_set, zerosnet

EXPECTED = {
    "euler": "[-1, 1]",
    "lm": "(-1, 1]",
    "zerosnet": "(-oo, -1] U (1/3, oo)",
    "leapfrog": "(-oo, oo)",
    "momentum": "[-1, 1)",
    "adams-bashforth": "{1, 2, 3, 4, 5, 6, 7, 8}",
    "from-roots": "[-1, 1)",
}


@pytest.mark.parametrize("name", FAMILIES)
def test_every_family_solves_its_zero_stable_set(name):
    assert str(FAMILIES[name].stable_set()) == EXPECTED[name]


def test_the_set_agrees_with_the_root_condition_of_members():
    stable = FAMILIES["zerosnet"].stable_set()
    for n in range(-90, 90):
        if n:
            lam = Fraction(n, 30)
            assert (lam in stable) is is_zero_stable(zerosnet(lam))


@pytest.mark.parametrize(
    "alphas, expected",
    [
        (lambda x: (x, -1), "(-2, 2)"),  # a pair on the circle for every x in between
        (lambda x: (0, x, 0, -1), "(-2, 2)"),
        (lambda x: (x, -2, x, -1), "(-2, 0) U (0, 2)"),  # (z^2+1)(z^2-xz+1): double at x = 0
        (lambda x: (x, x**2), "[1/2 - sqrt(5)/2, -1/2 + sqrt(5)/2]"),  # irrational ends
        (lambda x: (x**3 - x, x), "[-1, -1/2 + sqrt(5)/2] U {1}"),  # an isolated point
        (lambda x: (2 * (x**2 - 1), -((x**2 - 1) ** 2)), "(-sqrt(2), 0) U (0, sqrt(2))"),
        (lambda x: (1 / (x**2 - 2),), "(-oo, -sqrt(3)] U [-1, 1] U [sqrt(3), oo)"),  # poles
        (lambda x: (x**2 / x, 0 * x), "[-1, 1]"),  # 0/0 that cancels
        (lambda x: (1 + 0 * x,), "(-oo, oo)"),
        (lambda x: (2 + 0 * x,), "{}"),
    ],
)
def test_the_stable_sets_of_new_families_are_solved(alphas, expected):
    assert str(solve_stable_set(alphas)) == expected


def test_irrational_ends_can_be_compared_with():
    golden = solve_stable_set(lambda x: (x, x**2))
    assert 0.618 in golden
    assert "0.6181" not in golden
    end = golden.intervals[0].high
    assert sympy.simplify(end - (sympy.sqrt(5) - 1) / 2) == 0
