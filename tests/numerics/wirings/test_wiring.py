import re
from fractions import Fraction

import numpy as np
import pytest

from zerosnet.errors import InputError
from zerosnet.numerics import PAPER_ROWS, Scheme, adams_bashforth, euler, forecast, leapfrog, zerosnet
from zerosnet.numerics.wirings.wiring import STEM, Wiring

OPT = zerosnet("-9/5")


def test_start_up_is_one_step_until_there_are_as_many_states_as_steps() -> None:
    schemes = Wiring.of(OPT).schemes()
    assert [s.betas[0] for s in schemes[:3]] == [1, 1, Fraction(16, 9)]
    assert schemes[0].alphas == (1, 0, 0)
    assert schemes[2:] == (OPT,) * 25


def test_restart_drops_history_and_begins_start_up_again() -> None:
    wiring = Wiring.of(OPT, (4, 4), "restart")
    assert [s.betas[0] == 1 for s in wiring.schemes()] == [True, True, False, False] * 2
    assert wiring.steps[4].A == ((1, 0, 0), (1, 0, 0), (0, 0, 0))


def test_exact_entries_stay_exact() -> None:
    assert Wiring.of(OPT, beta_growth="1.839").is_exact
    assert not Wiring.of(OPT.to_float()).is_exact
    last = Wiring.of(OPT, (3, 3), beta_growth="3/2").schemes()[-1]
    assert last.betas == (Fraction(16, 9) * Fraction(3, 2) ** 3,)


def test_older_slopes_are_streams() -> None:
    wiring = Wiring.of(adams_bashforth(3), (5,))
    assert len(wiring.start) == 3  # y_n, f_{n-1}, f_{n-2}
    assert wiring.steps[3].A[0] == (1, Fraction(-4, 3), Fraction(5, 12))
    assert wiring.schemes()[3] == adams_bashforth(3)


def test_contributions_are_those_of_the_recursion() -> None:
    """Without stage changes W is what the recursion itself makes of unit sources."""
    scheme, n = adams_bashforth(2), 7
    sources = np.eye(n + 1)
    states, slopes = [sources[0] * np.sqrt(STEM)], []
    for k in range(n):
        slopes.insert(0, sources[k + 1])
        new = states[0] + slopes[0] if k == 0 else states[0] + 1.5 * slopes[0] - 0.5 * slopes[1]
        states.insert(0, new)
    expected = np.array([y / np.linalg.norm(y) for y in reversed(states)])
    assert np.allclose(Wiring.of(scheme, n).contributions(), np.abs(expected))


def test_euler_has_the_shares_of_a_random_walk() -> None:
    expected = 1 / np.sqrt(STEM + np.arange(1, 28))
    assert np.allclose(Wiring.of(euler()).shares(), expected)


def test_rows_of_contributions_have_unit_length_and_hold_the_shares() -> None:
    for row in PAPER_ROWS:
        wiring = Wiring.of(row.scheme)
        W = wiring.contributions()
        assert np.allclose(np.linalg.norm(W, axis=1), 1)
        assert np.array_equal(W[1:, 1:].diagonal(), wiring.shares())


@pytest.mark.parametrize(("change", "cross"), [("project-each", 0.0), ("project-shared", STEM)])
def test_independent_projections_remove_cross_moments(change: str, cross: float) -> None:
    """y_2 = (y_1 + y_0) / 2 + f_1 with y_1 = y_0 + f_0, the stage changing between them."""
    wiring = Wiring.of(Scheme(["1/2", "1/2"], [1]), (1, 1), change)
    kept = (STEM + 1 + STEM + 2 * cross) / 4
    assert wiring.shares()[1] == pytest.approx(1 / np.sqrt(kept + 1))


def test_one_scheme_per_block_equals_the_scheme_where_all_are_the_same() -> None:
    for change in ("project-each", "project-shared", "restart"):
        multistep = sum(s == OPT for s in Wiring.of(OPT, stage_change=change).schemes())
        assert Wiring.per_block([OPT] * multistep, stage_change=change) == Wiring.of(OPT, stage_change=change)
    assert Wiring.per_block(Wiring.of(OPT).schemes()) == Wiring.of(OPT)


def test_gains_and_matrices_give_the_wiring_of_euler() -> None:
    gains = Wiring.of_gains([1] * 6, [1] * 6)
    matrices = Wiring.of_matrices([[[1]]] * 6, [[1]] * 6, [[1]] * 6, [1])
    assert gains == matrices
    assert np.array_equal(gains.contributions(), Wiring.of(euler(), 6).contributions())


def test_a_stream_that_stays_keeps_the_stem() -> None:
    """x0 mixed in: y_{n+1} = y_n / 2 + x0 / 2 + f_n."""
    wiring = Wiring.of_matrices([[["1/2", "1/2"], [0, 1]]] * 40, [[1, 0]] * 40, [[1, 0]] * 40, [1, 0])
    assert wiring.stem_shares(stem=1.0)[-1] == pytest.approx(1 / np.sqrt(1 + 4 / 3), rel=1e-6)


def test_streams_may_come_and_go() -> None:
    """A mean over all earlier states: one more stream per block."""
    A = [[[1], [1]], [[1, 0], [1, 0], [0, 1]]]
    wiring = Wiring.of_matrices(A, [[1, 0], [1, 0, 0]], [[1], [1, 0]], ["1/3", "1/3", "1/3"])
    assert np.allclose(wiring.contributions(stem=1.0)[-1], np.array([3, 2, 1]) / np.sqrt(14))


@pytest.mark.parametrize("text", ["1,1,1;1", "-3,5,-1;4", "15/4,-4,5/4;-1/2", "-4,5;1"])
def test_unstable_schemes_of_1298_layers_stay_finite(text: str) -> None:
    wiring = Wiring.of(Scheme.parse(text), (144, 144, 144))
    shares = wiring.shares()
    assert np.isfinite(shares).all()
    assert (shares > 0).all()
    assert wiring.effective_depth() < 10


def test_beta_growth_at_the_rate_of_the_largest_root_uses_all_blocks() -> None:
    unstable = Scheme([1, 1, 1], [1])
    assert Wiring.of(unstable).effective_depth() < 6
    assert Wiring.of(unstable, beta_growth="1.839").effective_depth() > 19


def test_effective_depth_counts_blocks() -> None:
    wiring = Wiring.of(OPT)
    assert wiring.blocks_above(0.1) == 27
    assert 20 < wiring.effective_depth() < 27
    assert wiring.effective_depth(tau=1e-9) == pytest.approx(27)
    assert wiring.effective_parameters() == forecast(OPT).effective_parameters, "one definition, with the law's tau"
    assert wiring.effective_parameters(tau=1e-12) == pytest.approx(9 * 21, rel=1e-4)
    assert 1 <= wiring.number_of_sources() <= 28


def test_schemes_that_forget_have_fewer_parameters_in_the_head() -> None:
    forgets = Wiring.of(euler("1/2"))
    assert forgets.effective_depth() > Wiring.of(euler()).effective_depth()
    assert forgets.effective_parameters() < Wiring.of(euler()).effective_parameters()


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Wiring.of(OPT, (9, 0)), "blocks is"),
        (lambda: Wiring.of(OPT, stage_change="drop"), "stage_change is 'drop'"),
        (lambda: Wiring.per_block([OPT] * 3), "schemes has 3 entries; expected 25"),
        (lambda: Wiring.per_block([OPT] * 27), "looks back 3 states"),
        (lambda: Wiring.of_gains([1], [1, 2]), "keep has 1"),
        (lambda: Wiring.of_matrices([[[1, 1]]], [[1]], [[1]], [1]), "A is"),
        (lambda: Wiring.of(OPT).shares(stem=0), "stem is 0"),
        (lambda: Wiring.of(OPT).effective_parameters([1, 2]), "per_block has 2 entries; expected 27"),
        (
            lambda: Wiring.of(OPT).effective_parameters([0] + [1] * 26),
            "the least of per_block is 0.0; expected a positive",
        ),
        (lambda: Wiring.of(OPT).effective_parameters([None] * 27), "per_block[0] is None; expected a number"),
        (lambda: Wiring.of(OPT).blocks_above("x"), "least is 'x'; expected a number"),
        (lambda: Wiring.of_gains([1], [1]).schemes(), "not one of schemes"),
        (lambda: Wiring.of_gains(1, [1]), "keep is 1; expected a list"),
        (lambda: Wiring.of_gains([1], "1"), "add is '1'; expected a list"),
        (lambda: Wiring.of_gains([float("nan")], [1]), "A[0][0][0] is nan; expected a number"),
        (lambda: Wiring.of_gains([10**400], [1]), "A[0][0][0] is larger than 1e300"),
        (lambda: Wiring.of_matrices(None, [[1]], [[1]], [1]), "A is None; expected a list"),
        (lambda: Wiring.of_matrices([[[1]]], {"0": 1}, [[1]], [1]), "b is {'0': 1}; expected a list"),
        (lambda: Wiring.of_matrices([], [], [], [1]), "A, b and c have 0, 0 and 0 entries"),
        (lambda: Wiring.of_matrices([[[1], [1, 2]]], [[1]], [[1]], [1]), "A[0] has rows of lengths [1, 2]"),
        (lambda: Wiring.of_matrices([[[1]]], [[]], [[1]], [1]), "b[0] is empty"),
        (lambda: Wiring.of_matrices([[[1]]] * 2, [[1]] * 2, [[1]] * 2, [1, 1]), "1 streams enter step 2; expected 2"),
        (lambda: Wiring.of_matrices([[[1], [1]], [[1]]], [[1, 1], [1]], [[1]] * 2, [1]), "2 streams enter step 1"),
        (lambda: Wiring.per_block(3), "schemes is 3; expected a list"),
        (lambda: Wiring.per_block([3] * 27), "scheme is 3; expected a Scheme"),
        (lambda: Wiring.of(OPT, (3,)).regauge(2), "c is 2; expected a list"),
    ],
)
def test_bad_input_is_named(build, message) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        build()


def test_matrices_and_schemes_may_be_generated_one_by_one() -> None:
    ones = Wiring.of_gains([1] * 3, [1] * 3)
    assert Wiring.of_matrices(([[1]] for _ in range(3)), ([1] for _ in range(3)), ([1] for _ in range(3)), [1]) == ones
    assert Wiring.per_block(("1;1" for _ in range(3)), 3).shares() == pytest.approx(ones.shares())


def test_leapfrog_keeps_two_interleaved_sums() -> None:
    """y_{n+1} = y_{n-1} + 2 f_n: the head reads every second block only."""
    head = Wiring.of(leapfrog(), 8).contributions()[-1]
    assert (head[2::2] > 0.3).all()
    assert (head[3::2] == 0).all()


def test_a_block_that_writes_after_the_state_has_vanished_overflows_nothing() -> None:
    wiring = Wiring.of_gains([1e-50] * 40, [0] * 39 + [1])
    shares = wiring.shares()
    assert shares[-1] == 1 and not shares[:-1].any()
    assert wiring.stem_shares().tolist() == [1.0] * 40 + [0.0]
