import pytest
from hypothesis import given
from hypothesis import strategies as st

from zerosnet.experiments import pooled_difference, spearman, summarise, welch

numbers = st.lists(st.floats(0, 100).map(lambda x: round(x, 3)), min_size=4, max_size=12)


def test_deviation_is_the_sample_one():
    found = summarise([1.0, 2.0, 3.0, 4.0])
    assert (found.mean, found.deviation, found.n) == (2.5, pytest.approx((5 / 3) ** 0.5), 4)
    assert summarise([5.0]).deviation is None and summarise([]) is None


def test_welch_agrees_with_scipy():
    from scipy.stats import ttest_ind

    a, b = [94.0, 93.7, 93.2, 93.1, 92.4], [83.1, 79.4, 78.3]
    ours, theirs = welch(a, b), ttest_ind(a, b, equal_var=False)
    interval = theirs.confidence_interval(0.95)
    assert ours.p == pytest.approx(theirs.pvalue)
    assert (ours.low, ours.high) == (pytest.approx(interval.low), pytest.approx(interval.high))
    assert ours.certain


def test_welch_gives_none_for_one_number_or_constants():
    assert welch([1.0], [2.0, 3.0]) is None
    assert welch([1.0, 1.0], [1.0, 1.0]) is None


@given(numbers)
def test_swapping_the_sides_turns_the_interval_round(values):
    half = len(values) // 2
    one, other = welch(values[:half], values[half:]), welch(values[half:], values[:half])
    if one is not None:
        assert (one.low, one.high) == (pytest.approx(-other.high), pytest.approx(-other.low))


@given(st.data(), numbers)
def test_rank_correlation_agrees_with_scipy(data, x):
    from scipy.stats import spearmanr

    y = data.draw(st.lists(st.floats(0, 100).map(lambda v: round(v, 3)), min_size=len(x), max_size=len(x)))
    found = spearman(x, y)
    if len(set(x)) == 1 or len(set(y)) == 1:
        assert found is None
    else:
        assert found.rho == pytest.approx(spearmanr(x, y).statistic)
        assert 0 < found.p <= 1


def test_perfect_order_is_certain_and_repeatable():
    x = list(range(10))
    assert spearman(x, x).p < 1e-3
    assert spearman(x, x) == spearman(x, x)
    assert spearman(x[:4], x[:4]).p == pytest.approx(2 / 24)
    assert "(p < 1e-4, n =" in str(spearman(x, x)), "no permutation that was drawn reached it"


def test_with_two_groups_the_pooled_interval_is_student_s():
    from scipy.stats import ttest_ind

    a, b = [93.1, 93.4, 93.2], [92.9, 93.0]
    ours, theirs = pooled_difference(a, b, [a, b]), ttest_ind(a, b)
    assert ours.p == pytest.approx(theirs.pvalue)
    assert (ours.low, ours.high) == pytest.approx(tuple(theirs.confidence_interval(0.95)))


def test_two_pools_without_other_groups_give_welch_s_interval():
    a, b = [93.1, 93.4, 93.2], [92.9, 93.0]
    assert pooled_difference(a, b, [a], [b]) == welch(a, b)


def test_more_groups_narrow_the_interval_and_a_repeated_one_does_not():
    a, b, others = [93.1, 93.4], [93.0, 93.3], [[90.0, 90.3], [80.0, 80.3]]
    few, many, repeated = (pooled_difference(a, b, [a, b, *more]) for more in ([], others, [a, b]))
    assert many.high - many.low < few.high - few.low
    assert repeated == few


def test_one_seed_each_is_compared_by_what_others_vary():
    others = [[90.0, 90.1, 90.2], [80.0, 80.1, 80.2]]
    assert pooled_difference([93.0], [92.0], others).verdict == "a difference"
    assert pooled_difference([93.0], [93.05], others).verdict == "equal within 0.5"
    assert pooled_difference([93.0], [92.7], others).verdict == "undecided"


def test_nothing_is_pooled_from_single_numbers():
    assert pooled_difference([93.0], [92.0], [[93.0], [92.0]]) is None
    assert pooled_difference([], [92.0], [[93.0, 93.1]]) is None
