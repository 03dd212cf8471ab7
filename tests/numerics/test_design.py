"""Design: Theorem 3 by computation, the law behind the optima, and that nothing beats them."""

import json
from fractions import Fraction
from itertools import pairwise
from math import comb

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from zerosnet.errors import InputError
from zerosnet.numerics import (
    Scheme,
    design,
    design_by_depth,
    design_table,
    is_zero_stable,
    order,
    real_interval,
    root_condition,
)
from zerosnet.numerics.designs.optimum import MOST_STEPS, barrier, equation, fixed_symmetric, shifted_symmetric
from zerosnet.numerics.methods.members import zerosnet_alphas

ALL = [(d, p) for d in range(1, MOST_STEPS + 1) for p in range(1, d + 1)]
FEASIBLE = [(d, p) for d, p in ALL if p == 1 or d >= 2 * (p - 1)]
FREE = [(d, p) for d, p in ALL if 1 < p < d]


def parasitic_factor(symmetric):
    """q of the scheme with these elementary symmetric functions of v, monic, highest power first."""
    q = [sum(c * comb(k, i) * (-1) ** i for k, c in enumerate(symmetric)) for i in range(len(symmetric))]
    return [c / q[0] for c in q]


def scheme_with(q) -> Scheme:
    rho = [a - b for a, b in zip([*q, 0], [0, *q])]
    return Scheme([-c for c in rho[1:]], [sum(q)])


def test_other_objectives_are_those_of_the_design_by_depth():
    assert design(2, objective="depth", blocks=(3, 3, 3)) == design_by_depth(2, (3, 3, 3))
    assert design(3, 2, objective="accuracy") == design_by_depth(3, order=2, objective="accuracy")
    assert design(3, 2, objective="modulus") == design(3, 2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"objective": "width"}, "objective is 'width'; expected one of modulus, depth, head, accuracy"),
        ({"order": 2, "blocks": (9, 9, 9)}, "blocks is"),
        ({"objective": "depth", "blocks": "many"}, "blocks is 'many'"),
        ({}, "order is None"),
    ],
)
def test_objectives_are_refused_by_name(options, message):
    with pytest.raises(InputError, match=message):
        design(3, **options)


def test_three_steps_of_order_two_give_theorem_three():
    best = design(3, 2)
    assert best.scheme == Scheme.parse("zerosnet(-9/5)") == Scheme(["1/3", "5/9", "1/9"], ["16/9"])
    assert (best.exact_modulus, best.modulus, best.feasible) == ("1/3", 1 / 3, True)
    assert (best.error_constant, best.real_interval) == (Fraction(11, 27), Fraction(1, 2))


@pytest.mark.parametrize("steps", range(2, MOST_STEPS + 1))
def test_order_two_has_modulus_one_over_2d_minus_3(steps):
    best = design(steps, 2)
    assert best.exact_modulus == str(Fraction(1, 2 * steps - 3))
    assert best.roots == (1, *[-1 / (2 * steps - 3)] * (steps - 1))


def test_known_optima():
    assert design(2, 2).scheme == Scheme.parse("leapfrog")
    assert design(4, 3).exact_modulus == "4/11 + 3*sqrt(3)/11"
    assert design(5, 3).scheme == Scheme(["-1/6", "11/12", "3/8", "-1/12", "-1/24"], ["9/4"])
    assert design(5, 3).exact_modulus == "1/2"
    assert design(6, 3).exact_modulus == "7/47 + 4*sqrt(6)/47"
    assert design(6, 4).exact_modulus == "77 m^3 - 51 m^2 - 9 m - 1 = 0"
    assert design(6, 4).modulus == pytest.approx(0.8234366769214763, abs=1e-15)


@pytest.mark.parametrize(("steps", "p"), ALL)
def test_every_design_is_what_it_says(steps, p):
    best = design(steps, p)
    assert best.feasible == ((steps, p) in FEASIBLE)
    assert (best.scheme is None) == (not best.feasible and p < steps)
    if best.scheme is None:
        assert best.modulus is best.roots is best.real_interval is None
        return
    assert order(best.scheme) == p and best.scheme.steps == steps and len(best.scheme.betas) == 1
    assert is_zero_stable(best.scheme) is best.feasible or (steps, p) == (2, 2)
    assert best.modulus == pytest.approx(max((abs(r) for r in best.roots[1:]), default=0))
    # floats smear a root of multiplicity d-p+1
    margin = root_condition(best.scheme).margin
    assert (margin if steps > 1 else 1) == pytest.approx(best.margin, abs=1e-15 if best.scheme.is_exact else 2e-2)
    assert np.poly(best.roots) == pytest.approx(np.array(best.scheme.rho, float), abs=1e-12)
    assert best.real_interval == real_interval(best.scheme)


@pytest.mark.parametrize(("steps", "p"), [(d, p) for d, p in FREE if (d, p) in FEASIBLE])
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_no_scheme_of_that_order_has_smaller_parasitic_roots(steps, p, data):
    best = design(steps, p)
    v = [r / (1 - r) for r in best.roots[1:]]
    symmetric = [(-1) ** k * c.real for k, c in enumerate(np.poly(v))]
    near = st.floats(-0.05, 0.05)
    free = [c + data.draw(near) for c in symmetric[p:]]
    with np.errstate(all="ignore"):
        found = np.roots([(-1) ** k * float(c) for k, c in enumerate([*map(fixed_symmetric, range(p)), *free])])
        assert np.abs(found / (1 + found)).max() >= best.modulus * (1 - 1e-6)


@pytest.mark.parametrize(("steps", "p"), [(d, p) for d, p in FREE if (d, p) not in FEASIBLE])
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_beyond_the_barrier_no_scheme_is_zero_stable(steps, p, data):
    free = data.draw(st.lists(st.fractions(-2, 2, max_denominator=50), min_size=steps - p, max_size=steps - p))
    try:
        scheme = scheme_with(parasitic_factor([*map(fixed_symmetric, range(p)), *free]))
    except ZeroDivisionError:
        return
    assert order(scheme) >= p
    assert is_zero_stable(scheme) is False


@pytest.mark.parametrize("steps", [3, 4])
def test_one_parameter_families_are_empty_just_below_the_optimum(steps):
    """Schur and Cohn, exactly: no member has all parasitic roots below m - 1e-9, some has them below m + 1e-9."""
    modulus = Fraction(design(steps, steps - 1).modulus)
    assert not _members_within(steps, modulus - Fraction(1, 10**9))
    assert _members_within(steps, modulus + Fraction(1, 10**9))


@pytest.mark.parametrize("steps", [5, 6])
def test_order_d_minus_one_is_out_of_reach_for_five_and_six_steps(steps):
    assert not _members_within(steps, Fraction(1))


def _members_within(steps: int, radius: Fraction) -> bool:
    """Whether some scheme of order steps-1 has all parasitic roots within a circle, decided in exact arithmetic.

    Roots can only touch the circle at the real zeros of a resultant; one sample between any two of them is enough.
    """
    t, z = sympy.symbols("t z", real=True)
    scale = sympy.Rational(radius.numerator, radius.denominator)
    fixed = [sympy.Rational(str(fixed_symmetric(k))) for k in range(steps - 1)]
    q = [c / scale**i for i, c in enumerate(parasitic_factor([*fixed, t]))]
    p = sympy.Poly(sympy.fraction(sympy.together(sympy.Poly(q, z).as_expr()))[0], z)
    touching = sympy.Poly(sympy.resultant(p, sympy.Poly(p.all_coeffs()[::-1], z)) * p.LC(), t)
    breaks = sorted({sympy.Rational(str(root.n(40))) for root in touching.real_roots()})
    samples = [breaks[0] - 1, *((a + b) / 2 for a, b in pairwise(breaks)), breaks[-1] + 1]
    return any(is_zero_stable(Scheme([-c.subs(t, sample) for c in q[1:]], [1])) for sample in samples)


def test_order_conditions_fix_the_symmetric_functions():
    s = sympy.Symbol("s")
    series = sympy.series((1 - s) * sympy.log(1 / (1 - s)) / s, s, 0, 8).removeO()
    assert [sympy.Rational(str(fixed_symmetric(k))) for k in range(8)] == [series.coeff(s, k) for k in range(8)]


@pytest.mark.parametrize("steps", range(2, 12))
def test_barrier_is_the_generating_function_of_the_docstring(steps):
    t = sympy.Symbol("t")
    series = sympy.series(sympy.atanh(t) / t, t, 0, steps + 1).removeO()
    product = sympy.Poly(sympy.expand((1 + t) ** (steps - 1) * (1 - t) * series), t)
    for k in range(1, steps):
        assert sympy.Rational(str(2**k * shifted_symmetric(steps, k, Fraction(1, 2)))) == product.coeff_monomial(t**k)


def test_order_p_needs_twice_p_minus_one_steps_up_to_order_eight():
    for p in range(2, 9):
        assert barrier(2 * (p - 1), p) is None
        assert all(barrier(steps, p) for steps in range(p, 2 * (p - 1)))


@pytest.mark.parametrize("steps", range(4, 12))
def test_order_three_bound_has_its_closed_form(steps):
    n, m = steps - 1, sympy.Symbol("m", positive=True)
    a = (1 + sympy.sqrt(sympy.Rational(7 * n - 3, 3 * n - 3))) / (2 * n)
    assert sympy.simplify(equation(steps, 3).as_expr().subs(m, a / (1 - a))) == 0


def test_all_three_step_schemes_of_order_two_are_the_zerosnet_family():
    lam, z = sympy.symbols("lam z")
    alphas = zerosnet_alphas(lam)
    rho = sympy.Poly([1, *(-a for a in alphas)], z)
    q = sympy.cancel(rho.as_expr() / (z - 1))
    # sum v = q'(1)/q(1) - n, and with n = 2 roots any value of e_2 is reached once
    v_sum = sympy.cancel(sympy.diff(q, z).subs(z, 1) / q.subs(z, 1) - 2)
    e_2 = sympy.cancel(q.subs(z, 0) / q.subs(z, 1))
    assert v_sum == sympy.Rational(-1, 2)
    assert sympy.diff(e_2, lam) != 0 and sympy.degree(sympy.numer(e_2), lam) == 1
    best = [x for x in sympy.solve(sympy.discriminant(sympy.Poly(q, z)), lam) if abs(float(x)) > 1]
    assert best == [sympy.Rational(-9, 5)]


def test_table_covers_every_order_of_every_step_number():
    table = design_table(4)
    assert [(row.steps, row.order) for row in table] == [(d, p) for d, p in ALL if d <= 4]
    assert [row.feasible for row in table] == [True, True, True, True, True, False, True, True, True, False]


def test_json_is_exact_where_rational_and_plain_where_not():
    exact, rounded, none = (json.loads(json.dumps(design(*pair).to_json())) for pair in [(3, 2), (4, 3), (5, 4)])
    assert exact["alphas"] == ["1/3", "5/9", "1/9"] and exact["betas"] == ["16/9"]
    assert exact["roots"] == [[1.0, 0.0], [-1 / 3, 0.0], [-1 / 3, 0.0]]
    assert all(isinstance(a, float) for a in rounded["alphas"])
    assert none["alphas"] is None and none["feasible"] is False and "-1/8" in none["proof"]


@pytest.mark.parametrize(("steps", "p"), [(0, 1), (9, 2), (1, 2), (3, 0), (3, 4), (2.0, 1), (True, 1), ("3", 2)])
def test_impossible_requests_are_refused(steps, p):
    with pytest.raises(InputError, match="expected"):
        design(steps, p)
