import math
from fractions import Fraction

import numpy as np
import pytest
from benchmarks.numerics_borderline import borderline_cases
from hypothesis import given
from hypothesis import strategies as st

from zerosnet.numerics import Scheme, from_roots, is_zero_stable, momentum, root_condition, zerosnet

CASES = borderline_cases()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_borderline_set_is_decided_right(case):
    assert is_zero_stable(case.scheme) is case.zero_stable
    verdict = root_condition(case.scheme)
    assert verdict.zero_stable is case.zero_stable
    assert verdict.exact


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_borderline_set_in_floats_is_never_decided_wrong(case):
    assert is_zero_stable(case.scheme.to_float()) in (None, case.zero_stable)


@pytest.mark.parametrize(
    "scheme, kind, reason",
    [
        ("1,1,1;1", "unstable", "root 1.8393 lies outside the unit circle"),
        ("2,-1;1", "unstable", "double root at 1"),
        ("zerosnet(1/3)", "unstable", "triple root at 1"),
        ("-2,-1;1", "unstable", "double root at -1"),
        ("0,-2,0,-1;1", "unstable", "double roots at exp(±1.5708i)"),
        ("2,-2;1", "unstable", "roots 1.0000±1.0000i lie outside the unit circle"),
        ("1.000000001;1", "unstable", "root 1.0000 lies outside the unit circle by 1.0e-09"),
        ("leapfrog", "weakly stable", "simple root at -1 on the unit circle, none outside"),
        ("1,-1;1", "weakly stable", "simple roots at exp(±1.0472i) on the unit circle, none outside"),
        ("euler(1)", "strongly stable", "the only root is the simple root 1"),
        ("lm(1/2)", "strongly stable", "all parasitic roots lie inside the unit circle, the largest modulus is 0.5"),
        ("1/2;1", "strongly stable", "all roots lie inside the unit circle, the largest modulus is 0.5"),
    ],
)  # fmt: skip
def test_the_reason_is_one_sentence(scheme, kind, reason):
    verdict = root_condition(Scheme.parse(scheme))
    assert (verdict.kind, verdict.reason) == (kind, reason)


def test_the_principal_root_is_a_simple_root_one_and_comes_first():
    verdict = root_condition(zerosnet(10))
    assert verdict.has_principal_root
    assert verdict.roots[0] == 1
    assert math.isclose(verdict.margin, 1 - math.sqrt(0.275))
    assert np.allclose(np.abs(verdict.parasitic_roots), math.sqrt(0.275))


def test_a_multiple_root_one_leaves_no_principal_root():
    verdict = root_condition(Scheme([2, -1], [1]))
    assert not verdict.has_principal_root
    assert verdict.margin == 0
    assert verdict.moduli == (1.0, 1.0)


def test_without_root_one_all_roots_are_parasitic():
    verdict = root_condition(Scheme(["0.5", "0.3", "0.1"], ["0.1"]))
    assert len(verdict.parasitic_roots) == 3
    assert math.isclose(verdict.margin, 1 - max(verdict.moduli))


def test_margins_keep_their_sign_below_float_precision():
    assert 0 < root_condition(momentum(1 - Fraction(1, 10**30))).margin < 1e-29
    assert -1e-29 < root_condition(momentum(1 + Fraction(1, 10**30))).margin < 0


@pytest.mark.parametrize("sign", [1, -1])
def test_sides_of_the_circle_are_decided_even_below_the_smallest_float(sign):
    tiny = sign * Fraction(1, 10**400)
    for scheme in (Scheme([1 + tiny], [1]), momentum(1 + tiny), Scheme([0, 1 + tiny], [1])):
        verdict = root_condition(scheme)
        assert verdict.zero_stable is (sign < 0)
        assert (max(verdict.moduli) > 1) is (sign > 0)
        assert verdict.margin * sign < 0
        assert "by less than 1e-300" in verdict.reason


@pytest.mark.parametrize("alphas", [[2.0, -1.0], [0.0, 1.0], [1.0, -1.0], [-1.0]])
def test_floats_with_parasitic_roots_on_the_circle_are_borderline(alphas):
    verdict = root_condition(Scheme(alphas, [1]))
    assert verdict.kind == "borderline"
    assert verdict.zero_stable is None
    assert "within rounding" in verdict.reason


def test_a_float_root_within_rounding_of_one_is_the_principal_root():
    for lam in (-1.8, 10.0, 0.5, 7.3, -3.3):
        verdict = root_condition(zerosnet(lam))
        assert verdict.kind == "strongly stable"
        assert verdict.has_principal_root
        assert not verdict.exact


def test_only_the_alphas_make_a_verdict_numeric():
    assert root_condition(Scheme([1], [0.5])).exact
    assert not root_condition(Scheme([1, 0.0], [1])).exact


def test_floats_of_any_size_get_a_verdict():
    assert root_condition(Scheme([1e250, 1.0, 1e-250], [1])).kind == "unstable"
    assert root_condition(Scheme([1.0, 1e-300], [1])).kind == "strongly stable"


roots = st.fractions(-Fraction(3, 2), Fraction(3, 2), max_denominator=30)


@given(st.lists(roots, min_size=1, max_size=6))
def test_floats_agree_with_the_exact_verdict_or_are_borderline(parasitic):
    exact, numeric = (root_condition(s) for s in (from_roots(parasitic), from_roots(parasitic).to_float()))
    assert numeric.kind in ("borderline", exact.kind)
    assert len(numeric.roots) == len(exact.roots)


@given(st.lists(st.integers(-8, 8).map(lambda n: Fraction(n, 4)), min_size=1, max_size=6))
def test_moduli_agree_with_the_decision(alphas):
    scheme = Scheme(alphas, [1])
    verdict = root_condition(scheme)
    assert is_zero_stable(scheme) is verdict.zero_stable
    assert len(verdict.roots) == scheme.steps
    if verdict.zero_stable:
        assert max(verdict.moduli) <= 1
    if max(verdict.moduli) > 1:
        assert verdict.kind == "unstable"
    if verdict.kind == "strongly stable":
        assert verdict.margin > 0
