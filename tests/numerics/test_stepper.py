import numpy as np
import pytest

from zerosnet.errors import InputError
from zerosnet.numerics import (
    PROBLEMS,
    Problem,
    Scheme,
    adams_bashforth,
    euler,
    from_roots,
    integrate,
    largest_error,
    leapfrog,
    lm,
    momentum,
    observed_order,
    order,
    zerosnet,
)
from zerosnet.numerics.methods.stepper import problem

CONVERGENT = {
    "euler(1)": euler(1),
    "lm(1/2)": lm("1/2"),
    "lm(-1/2)": lm("-1/2"),
    "zerosnet(-9/5)": zerosnet("-9/5"),
    "zerosnet(1/2)": zerosnet("1/2"),
    "zerosnet(10)": zerosnet(10),
    "leapfrog": leapfrog(),
    "momentum(1/2)": momentum("1/2"),
    "from-roots(1/2,-1/4,1/5)": from_roots(["1/2", "-1/4", "1/5"]),
    **{f"ab{k}": adams_bashforth(k) for k in range(1, 9)},
}
STEPS = {1: 512, 2: 128, 3: 128, 4: 64, 5: 64, 6: 64, 7: 48, 8: 64}
DIVERGENT = [
    "zerosnet(1/4)",
    "zerosnet(-1/3)",
    "lm(3/2)",
    "lm(-3/2)",
    "momentum(2)",
    "from-roots(-2)",
    "from-roots(-1,-1)",
]


@pytest.mark.parametrize("name", PROBLEMS)
def test_solutions_solve_their_problems(name):
    each = PROBLEMS[name]
    for t in np.linspace(each.start, each.end, 7):
        slope = (each.solution(t + 1e-5) - each.solution(t - 1e-5)) / 2e-5
        assert np.allclose(slope, each.f(t, each.solution(t)), atol=1e-8)


# order 8 reaches the rounding error of the easier problems before it shows
CASES = [
    (name, kind)
    for name in CONVERGENT
    for kind in PROBLEMS
    if name != "ab8" or kind in ("nonautonomous", "limit cycle")
]


@pytest.mark.parametrize("name, kind", CASES)
def test_the_observed_order_is_the_computed_order(name, kind):
    scheme = CONVERGENT[name]
    expected = order(scheme)
    assert observed_order(scheme, PROBLEMS[kind], STEPS[expected]) == pytest.approx(expected, abs=0.06 * expected)


@pytest.mark.parametrize("text", DIVERGENT)
def test_schemes_that_are_not_zero_stable_blow_up(text):
    scheme = Scheme.parse(text)
    coarse, fine = (largest_error(scheme, PROBLEMS["oscillator"], n, start="euler") for n in (40, 320))
    assert fine > 2 * coarse
    assert fine > 1


def test_an_inconsistent_scheme_does_not_converge():
    assert largest_error(euler("0.7"), PROBLEMS["decay"], 1000) > 0.5
    assert abs(observed_order(lm("1/2", "paper"), PROBLEMS["decay"], 500)) < 0.1


@pytest.mark.parametrize("k", [1, 2, 4])
def test_f_is_called_once_for_every_state(k):
    calls = []
    base = PROBLEMS["logistic"]
    counted = Problem("counted", lambda t, y: calls.append(t) or base.f(t, y), base.solution, base.start, base.end)
    integrate(adams_bashforth(k), counted, 20)
    assert len(calls) == len(set(calls)) == 21


def test_the_stepper_does_what_the_formula_says():
    scheme, each = Scheme(["1/3", "5/9", "1/9"], ["16/9", "1/7"]), PROBLEMS["nonautonomous"]
    trajectory = integrate(scheme, each, 10)
    t, y = trajectory.times, trajectory.states
    h = t[1] - t[0]
    expected = y[6] / 3 + 5 * y[5] / 9 + y[4] / 9 + h * (16 / 9 * each.f(t[6], y[6]) + each.f(t[5], y[5]) / 7)
    assert np.allclose(y[7], expected, rtol=1e-13)
    assert t[-1] == each.end
    assert y.shape == (11, 1)


def test_starting_values_by_runge_kutta_keep_order_four():
    assert observed_order(adams_bashforth(4), PROBLEMS["limit cycle"], 64, start="runge-kutta") == pytest.approx(
        4, abs=0.3
    )


def test_starting_by_euler_keeps_order_two():
    assert observed_order(zerosnet("-9/5"), PROBLEMS["decay"], 128, start="euler") == pytest.approx(2, abs=0.1)


def test_bad_requests_are_refused():
    with pytest.raises(InputError, match="start"):
        integrate(leapfrog(), PROBLEMS["decay"], 10, start="guess")
    with pytest.raises(InputError, match="at least"):
        integrate(adams_bashforth(4), PROBLEMS["decay"], 3)
    with pytest.raises(InputError, match="decay, oscillator"):
        problem("nosuch")
