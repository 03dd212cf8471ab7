import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from zerosnet.errors import InputError
from zerosnet.numerics import PAPER_ROWS, Scheme, adams_bashforth, euler, zerosnet
from zerosnet.numerics.wirings.gauge import regauged_coefficients, same_up_to_gauge
from zerosnet.numerics.wirings.wiring import Wiring

OPT = zerosnet("-9/5")


def test_gauge_theorem() -> None:
    """z_n = c_n y_n, identically in all coefficients, scales, starting values and slopes."""
    alphas, betas = sympy.symbols("alpha:3"), sympy.symbols("beta:2")
    c, f = sympy.symbols("c:8", positive=True), sympy.symbols("f:8")
    y = list(sympy.symbols("y:3"))
    z = [c[n] * y[n] for n in range(3)]
    for n in range(2, 7):
        y.append(sum(a * y[n - i] for i, a in enumerate(alphas)) + sum(b * f[n - j] for j, b in enumerate(betas)))
        a, b = regauged_coefficients(alphas, betas, c[n + 1], [c[n - i] for i in range(3)])
        z.append(sum(a[i] * z[n - i] for i in range(3)) + sum(b[j] * f[n - j] for j in range(2)))
        assert sympy.expand(z[n + 1] - c[n + 1] * y[n + 1]) == 0


def test_roots_in_the_gauge_of_the_largest_root_are_divided_by_it() -> None:
    r, c = sympy.symbols("R c", positive=True)
    alphas = sympy.symbols("alpha:3")
    found, _ = regauged_coefficients(alphas, [1], c / r, [c, c * r, c * r**2])
    assert [sympy.simplify(a) for a in found] == [alpha / r ** (i + 1) for i, alpha in enumerate(alphas)]


def test_regauged_schemes_run_through_scaled_states_exactly() -> None:
    """The schemes per block of `regauge`, start-up included, in exact numbers."""
    wiring = Wiring.of(adams_bashforth(2), 6)
    scale = [sympy.Rational(n + 2, 2 * n + 3) for n in range(7)]
    twin = wiring.regauge(scale)
    assert twin.is_exact
    f = [sympy.Rational(3 * n + 1, n + 5) for n in range(6)]
    states = []
    for w, first in ((wiring, sympy.Integer(1)), (twin, scale[0])):
        y, slopes = [first], []
        for n, scheme in enumerate(w.schemes()):
            slopes.insert(0, f[n])
            past = y[::-1]
            terms = [sympy.Rational(a) * past[i] for i, a in enumerate(scheme.alphas) if a != 0]
            terms += [sympy.Rational(b) * slopes[j] for j, b in enumerate(scheme.betas) if b != 0]
            y.append(sum(terms))
        states.append(y)
    assert [c * y for c, y in zip(scale, states[0])] == states[1]


@settings(max_examples=30, deadline=None)
@given(
    st.sampled_from([row.scheme for row in PAPER_ROWS] + [adams_bashforth(3), euler("1/2")]),
    st.sampled_from(["project-each", "project-shared", "restart"]),
    st.lists(st.floats(0.01, 100), min_size=13, max_size=13),
)
def test_no_gauge_changes_shares_or_the_canonical_form(scheme: Scheme, change: str, c: list[float]) -> None:
    wiring = Wiring.of(scheme, (4, 5, 3), change)
    twin = wiring.regauge(c)
    assert same_up_to_gauge(wiring, twin)
    assert np.allclose(wiring.contributions(), twin.contributions(), atol=1e-12)


def test_matrices_are_regauged_too() -> None:
    random = np.random.default_rng(1)
    A, b, c = random.normal(size=(6, 3, 3)), random.normal(size=(6, 3)), random.normal(size=(6, 3))
    wiring = Wiring.of_matrices(A, b, c, [1, 1, 1], blocks=(3, 3), projection="each")
    assert same_up_to_gauge(wiring, wiring.regauge([1, 2, 3, 4, 5, 6, 7]))


def test_an_unstable_scheme_is_a_stable_one_with_shrinking_steps() -> None:
    unstable = Wiring.of(Scheme([1, 1, 1], [1]))
    rate = 1.8392867552141612
    twin = unstable.regauge([rate**-n for n in range(28)])
    late = twin.schemes()[20]
    assert sum(float(a) for a in late.alphas) == pytest.approx(1)
    assert [round(float(a), 3) for a in late.alphas] == [0.544, 0.296, 0.161]
    assert float(late.betas[0]) == pytest.approx(rate**-21)


def test_beta_growth_is_a_gauge_of_a_constant_scheme() -> None:
    """Euler with steps R^n is y_{n+1} = y_n / R + f_n / R, but for the size of the stem."""
    grown = Wiring.of_gains([1] * 9, [2**n for n in range(9)])
    constant = Wiring.of_gains(["1/2"] * 9, ["1/2"] * 9)
    assert same_up_to_gauge(grown, constant)


def test_other_schemes_are_not_the_same() -> None:
    assert not same_up_to_gauge(Wiring.of(OPT), Wiring.of(euler()))
    assert not same_up_to_gauge(Wiring.of(OPT), Wiring.of(OPT, (9, 9, 8)))
    assert not same_up_to_gauge(Wiring.of(OPT), Wiring.of(OPT, stage_change="project-shared"))
    assert not same_up_to_gauge(Wiring.of(OPT), Wiring.of(Scheme(OPT.alphas, [-b for b in OPT.betas])))


def test_a_padded_scheme_is_the_same_network() -> None:
    padded = Wiring.per_block([Scheme([1, 0, 0], [1])] * 27)
    assert same_up_to_gauge(padded, Wiring.of(euler()))
    assert same_up_to_gauge(Wiring.of(euler(), stage_change="restart"), Wiring.of(euler()))


@pytest.mark.parametrize("c", [[1] * 5, [1] * 27 + [0], [1] * 27 + [-1]])
def test_scales_are_positive_and_one_per_state(c: list[int]) -> None:
    with pytest.raises(InputError, match="expected"):
        Wiring.of(OPT).regauge(c)
