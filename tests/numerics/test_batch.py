from fractions import Fraction

import mpmath
import numpy as np
import pytest
from benchmarks.numerics_borderline import borderline_cases
from hypothesis import given
from hypothesis import strategies as st

from zerosnet.errors import InputError
from zerosnet.numerics import KINDS, PAPER_ROWS, Scheme, classify, from_roots, root_condition
from zerosnet.numerics.polynomials.prescribed import monic_from_roots

nearly = st.sampled_from([1, -1]).flatmap(
    lambda side: st.builds(lambda k, s: side + s * Fraction(1, 10**k), st.integers(1, 18), st.sampled_from([1, -1]))
)
real = st.fractions(-Fraction(5, 4), Fraction(5, 4), max_denominator=40) | nearly | st.sampled_from([0, 1, -1])
pair = st.builds(lambda r, c: (-2 * r * c, r * r), real, st.fractions(-1, 1, max_denominator=9))

TRIPLE = [2.9999999992129815, -2.999999998471743, 0.9999999992587613]  # a pair of roots of modulus 1 + 1.1e-6


def flat(alphas):
    return [float(a) for a in alphas]


def check(scheme):
    at_one = 1 - sum(scheme.alphas)
    if at_one != 0 and abs(at_one) < 1e-9:
        return  # in floats a root that close to 1 may be the principal root
    kind = KINDS[classify(flat(scheme.alphas))]
    assert kind in ("borderline", root_condition(scheme).kind)


@given(st.lists(real, max_size=7))
def test_consistent_schemes_agree_with_the_exact_verdict(roots):
    check(from_roots(roots))


@given(st.lists(real, max_size=4), st.lists(pair, min_size=1, max_size=2))
def test_complex_pairs_agree_with_the_exact_verdict(roots, pairs):
    polynomial = monic_from_roots([*roots, *pairs])
    check(Scheme([-c for c in polynomial[1:]], [1]))


@given(st.lists(st.fractions(-2, 2, max_denominator=50), min_size=1, max_size=8))
def test_arbitrary_weights_agree_with_the_exact_verdict(alphas):
    check(Scheme(alphas, [1]))


def test_the_borderline_set_is_never_decided_wrong():
    for case in borderline_cases():
        code = int(classify(flat(case.scheme.alphas)))
        assert {0: False, 1: True, 2: case.zero_stable}[code] is case.zero_stable, case.name


def test_a_mixture_of_schemes_keeps_its_order_and_shape():
    alphas = np.array([flat(row.scheme.alphas) for row in PAPER_ROWS])
    expected = [row.printed_zero_stable for row in PAPER_ROWS]
    assert classify(alphas).tolist() == [int(stable) for stable in expected]
    many = np.broadcast_to(alphas, (2000, 10, 3))
    codes = classify(many)
    assert codes.shape == (2000, 10)
    assert codes.dtype == np.int8
    assert (codes == np.array(expected)).all()


@pytest.mark.parametrize("steps", range(1, 9))
def test_random_rows_agree_with_their_eigenvalues(steps):
    rng = np.random.default_rng(steps)
    alphas = rng.uniform(-1, 1, (5000, steps)) * rng.uniform(0.2, 1.2, (5000, 1))
    matrices = np.zeros((5000, steps, steps))
    matrices[:, 0] = alphas
    matrices[:, range(1, steps), range(steps - 1)] = 1
    radius = np.abs(np.linalg.eigvals(matrices)).max(axis=1)
    codes = classify(alphas)
    assert (codes[radius > 1 + 1e-6] == 0).all()
    assert (codes[radius < 1 - 1e-6] == 1).mean() > 0.999
    assert (codes[radius < 1 - 1e-6] != 0).all()


def test_no_row_is_borderline_far_from_the_border():
    rng = np.random.default_rng(0)
    assert (classify(rng.uniform(-0.12, 0.12, (20000, 8))) == 1).all()


def test_huge_weights_are_unstable():
    assert classify([[1e308, 1e308, -1e308], [1e200, 0.0, 0.0]]).tolist() == [0, 0]


def test_no_schemes_give_no_codes():
    assert classify(np.zeros((0, 3))).shape == (0,)


def near_multiple_roots(rng, count):
    """Draw weights whose polynomials have several roots close to one point of the unit circle."""
    found = []
    while len(found) < count:
        steps, spread = int(rng.integers(2, 6)), 10.0 ** -int(rng.integers(3, 13))
        centre = rng.choice([1.0, 1.0, -1.0, 0.0])
        if centre == 0:
            some = np.exp(1j * rng.uniform(0.3, 2.8)) + spread * rng.normal(size=steps // 2)
            roots = [*some, *some.conj()]
        else:
            pair = centre + spread * complex(*rng.normal(size=2))
            roots = [pair, pair.conjugate(), centre + spread * rng.normal()][:steps]
        roots += list(rng.uniform(-1, 1, max(0, steps - len(roots))))
        alphas = -np.poly(roots).real[1:]
        if rng.random() < 0.5:
            alphas[-1] += 1 - alphas.sum()
        found.append(alphas)
    return found


def roots_to_60_digits(alphas):
    with mpmath.workdps(60):
        coefficients = [1, *(-mpmath.mpf(float(alpha)) for alpha in alphas)]
        return mpmath.polyroots(coefficients, maxsteps=500, extraprec=200)


def test_schemes_near_multiple_roots_are_never_decided_wrong():
    decided = 0
    for alphas in [TRIPLE, *near_multiple_roots(np.random.default_rng(27), 250)]:
        code = int(classify(alphas))
        if KINDS[code] == "borderline":
            continue
        try:
            nearest, *others = sorted(roots_to_60_digits(alphas), key=lambda root: abs(root - 1))
        except mpmath.libmp.NoConvergence:
            continue
        decided += 1
        moduli = [abs(root) for root in others]
        if abs(nearest - 1) > 1e-9:
            moduli.append(abs(nearest))
        if KINDS[code] == "strongly stable":
            assert max(moduli, default=0) < 1, list(alphas)
        else:
            assert max(moduli) > 1, list(alphas)
    assert decided > 100


def test_a_cluster_of_roots_at_1_is_borderline_and_a_root_outside_beside_it_is_found():
    assert KINDS[classify(TRIPLE)] == "borderline"
    double_and_two = -np.poly([1, 1, 2])[1:]
    assert KINDS[classify(double_and_two)] == "unstable"


@pytest.mark.parametrize("alphas", [np.array([[1 + 1j, 0]]), np.array([[1 + 0j]]), [[1j, 0.5]]])
def test_complex_weights_are_refused(alphas):
    with pytest.raises(InputError, match="complex numbers"):
        classify(alphas)


@pytest.mark.parametrize(
    "alphas", [[[1.0, np.nan]], [[np.inf]], np.zeros((2, 9)), np.zeros((2, 0)), 1.0, [["x"]], None, [10**400]]
)
def test_bad_arrays_are_refused(alphas):
    with pytest.raises(InputError) as caught:
        classify(alphas)
    assert "\n" not in str(caught.value)
