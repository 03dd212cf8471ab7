"""The paper's theorems and derivation, symbolically, with what it misprints put right."""

import sympy
from sympy import Rational, exp, oo, sqrt, symbols

from zerosnet.numerics import family, is_consistent, is_zero_stable, lm, zerosnet
from zerosnet.numerics.methods.members import LM_BETAS, zerosnet_alphas

x = symbols("lambda", real=True, nonzero=True)
z, h = symbols("z h")
ALPHAS = zerosnet_alphas(x)
BETA = (3 * x - 1) / (2 * x)
RHO = z**3 - sum(a * z ** (2 - i) for i, a in enumerate(ALPHAS))


def test_theorem_1_the_lambda_family_is_consistent():
    assert sympy.simplify(sum(ALPHAS) - 1) == 0
    assert sympy.simplify(-sum(i * a for i, a in enumerate(ALPHAS)) + BETA - 1) == 0


def test_theorem_2_the_parasitic_roots_are_as_printed():
    quotient, remainder = sympy.div(sympy.Poly(RHO, z), sympy.Poly(z - 1, z))
    assert sympy.simplify(remainder.as_expr()) == 0
    root = sqrt((9 + 5 * x) * (1 - 3 * x))
    for sign in (1, -1):
        assert sympy.simplify(quotient.as_expr().subs(z, (3 - x + sign * root) / (8 * x))) == 0


def test_theorem_2_region_corrected_leapfrog_belongs_to_it():
    assert str(family("zerosnet").stable_set()) == "(-oo, -1] U (1/3, oo)"
    assert sympy.factor(RHO.subs(x, -1)) == z * (z - 1) * (z + 1)
    assert is_zero_stable(zerosnet(-1))
    assert sympy.factor(RHO.subs(x, Rational(1, 3))) == (z - 1) ** 3
    assert not is_zero_stable(zerosnet("1/3"))


def test_theorem_3_minus_nine_fifths_has_the_least_parasitic_modulus_of_the_family():
    discriminant = (9 + 5 * x) * (1 - 3 * x)
    # complex pairs, for lambda < -9/5 and lambda > 1/3: the squared modulus is the product of the two roots
    squared = (1 + x) / (4 * x)
    assert sympy.simplify(squared - Rational(1, 4) - 1 / (4 * x)) == 0
    assert sympy.diff(squared, x).equals(-1 / (4 * x**2))  # falling on either side of 0
    assert squared.subs(x, Rational(-9, 5)) == Rational(1, 9)
    assert sympy.limit(squared, x, -oo) == sympy.limit(squared, x, oo) == Rational(1, 4)
    assert squared.subs(x, Rational(1, 3)) == 1
    # real roots, for -9/5 <= lambda <= -1: the sum (3-lambda)/(4 lambda) is negative, so that the larger modulus
    # belongs to the root with the plus sign (the denominator is negative); it rises from 1/3 to 1
    larger = -(3 - x + sqrt(discriminant)) / (8 * x)
    assert larger.subs(x, Rational(-9, 5)) == Rational(1, 3)
    assert larger.subs(x, -1) == 1
    # on that branch modulus^2 - s modulus + p = 0 gives lambda back as a function of m, and it rises in m
    m = symbols("m", positive=True)
    lam = sympy.solve(4 * x * m**2 + (3 - x) * m + 1 + x, x)
    assert len(lam) == 1
    slope = sympy.factor(sympy.diff(lam[0], m))
    assert all(slope.subs(m, value) > 0 for value in (Rational(2, 5), Rational(1, 2), Rational(9, 10)))
    assert (
        sympy.solveset(sympy.numer(sympy.together(slope)), m, sympy.Interval.open(Rational(1, 3), 1)) == sympy.EmptySet
    )
    coefficients = [sympy.simplify(a.subs(x, Rational(-9, 5))) for a in (*ALPHAS, BETA)]
    assert coefficients == [Rational(1, 3), Rational(5, 9), Rational(1, 9), Rational(16, 9)]


def test_theorem_3_real_roots_occur_beyond_the_stable_branch_too():
    """The discriminant is also non-negative on [-9/5, 1/3]; the printed [-9/5, -1) is its zero-stable part, which must
    be closed: at lambda = -1 the roots are 0 and -1."""
    discriminant = (9 + 5 * x) * (1 - 3 * x)
    solution = sympy.solve_univariate_inequality(discriminant >= 0, x, relational=False)
    assert solution == sympy.Interval(Rational(-9, 5), Rational(1, 3)) or solution == sympy.Union(
        sympy.Interval.Ropen(Rational(-9, 5), 0), sympy.Interval.Lopen(0, Rational(1, 3))
    )


class TestDerivation:
    """The appendix combines lambda_1 (A) - (lambda_1 + lambda_2) (B) + lambda_2 (C), three Taylor expansions solved for
    y''. With y = exp(t) about t = 0, each must hold up to O(h)."""

    l1, l2 = symbols("lambda_1 lambda_2", real=True, nonzero=True)

    @staticmethod
    def remainder(expression, order):
        return [sympy.series(expression, h, 0, order).removeO().coeff(h, q) for q in range(-3, order)]

    def test_taylor_expansions_have_plus_signs_in_powers_of_the_difference(self):
        """Misprint: the paper alternates signs and expands in (t_{n-1} - t_n), which is -h already. With the powers as
        printed all signs are plus; the alternating ones belong to powers of +h (and to n-1, n-2 only)."""
        for shift in (-1, -2, 1):
            step = shift * h
            taylor = 1 + step + step**2 / 2 + step**3 / 6
            assert sympy.series(exp(step) - taylor, h, 0, 4).removeO() == 0
            printed = 1 - step + step**2 / 2 - step**3 / 6
            assert sympy.series(exp(step) - printed, h, 0, 4).removeO() != 0

    def test_each_second_derivative_holds_to_first_order(self):
        before = 2 / h**2 * exp(-h) - 2 / h**2 + 2 / h + h / 3
        twice_before = exp(-2 * h) / (2 * h**2) - 1 / (2 * h**2) + 1 / h + 2 * h / 3
        after = 2 / h**2 * exp(h) - 2 / h**2 - 2 / h - h / 3
        for expression in (before, twice_before, after):
            assert sympy.series(expression - 1, h, 0, 2).removeO() == 0

    def solved_for_slope(self):
        """y'(t_n) from the sum of the three, its O(h^2) terms left out."""
        slope, new, now, old, older = symbols("slope y_new y_now y_old y_older")
        total = self.l1 * (2 * old / h**2 - 2 * now / h**2 + 2 * slope / h)
        total -= (self.l1 + self.l2) * (older / (2 * h**2) - now / (2 * h**2) + slope / h)
        total += self.l2 * (2 * new / h**2 - 2 * now / h**2 - 2 * slope / h)
        (solution,) = sympy.solve(total, slope)
        return sympy.expand(solution), (new, now, old, older)

    def test_the_slope_formula_lacks_a_lambda_1_in_print(self):
        """Misprint: the weight of y(t_{n-1}) is 2 lambda_1 / ((3 lambda_2 - lambda_1) h); lambda_1 is missing."""
        solution, (new, now, old, older) = self.solved_for_slope()
        scale = (3 * self.l2 - self.l1) * h
        printed = {
            new: 2 * self.l2 / scale,
            now: -3 * (self.l1 + self.l2) / (2 * scale),
            older: -(self.l1 + self.l2) / (2 * scale),
        }
        for symbol, weight in printed.items():
            assert sympy.simplify(solution.coeff(symbol) - weight) == 0
        assert sympy.simplify(solution.coeff(old) - 2 * self.l1 / scale) == 0
        assert sympy.simplify(solution.coeff(old) - 2 / scale) != 0

    def test_solving_for_the_new_state_gives_the_lambda_family(self):
        solution, (new, now, old, older) = self.solved_for_slope()
        slope = symbols("slope")
        (state,) = sympy.solve(sympy.Eq(slope, solution), new)
        state = sympy.expand(state.subs(self.l2, x * self.l1))
        weights = [state.coeff(symbol) for symbol in (now, old, older)]
        assert all(sympy.simplify(w - a) == 0 for w, a in zip(weights, ALPHAS))
        assert sympy.simplify(state.coeff(slope) - BETA * h) == 0

    def test_lambda_1_need_not_differ_from_a_third_of_it(self):
        """3 lambda_2 = lambda_1 is lambda = 1/3, where beta is 0 and no slope is left to solve for."""
        assert BETA.subs(x, Rational(1, 3)) == 0


def test_p1_only_one_plus_k_is_consistent_for_lm():
    k = symbols("k")
    residual = {name: sympy.solve(1 + k - (1 + slope * k), k) for name, slope in LM_BETAS.items()}
    assert residual["consistent"] == []  # 1 + k - (1 + k) vanishes identically
    assert LM_BETAS["consistent"] == 1
    assert residual["paper"] == residual["original"] == [0]
    assert lm("-1/2", "paper").betas == (0,)
    for value in ("-3/2", "3/2", "-1/2", "1/2"):
        assert is_consistent(lm(value))
        assert not is_consistent(lm(value, "paper"))


def test_p3_the_error_constant_of_the_lambda_family():
    expansion = exp(h) - sum(a * exp(-i * h) for i, a in enumerate(ALPHAS)) - h * BETA
    series = sympy.series(expansion, h, 0, 5).removeO()
    assert all(sympy.simplify(series.coeff(h, q)) == 0 for q in range(3))
    assert sympy.simplify(series.coeff(h, 3) - (3 * x + 1) / (6 * x)) == 0
    assert sympy.solve(series.coeff(h, 3), x) == [Rational(-1, 3)]
    assert not is_zero_stable(zerosnet("-1/3"))
