"""Least squares: against closed forms, against a fit made point by point, and what is refused."""

import numpy as np
import pytest

from zerosnet.errors import InputError
from zerosnet.experiments import regress

X = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
Y = [1.1, 2.9, 5.2, 6.8, 9.1, 10.9]


def test_a_straight_line_has_the_textbook_slope_and_standard_error():
    found = regress(Y, {"x": X})
    slope, base = np.polyfit(X, Y, 1)
    rest = np.array(Y) - base - slope * np.array(X)
    error = np.sqrt(rest @ rest / 4 / np.sum((np.array(X) - 2.5) ** 2))
    assert found["x"].value == pytest.approx(slope) and found.intercept == pytest.approx(base)
    assert found["x"].high - found["x"].value == pytest.approx(2.776445 * error, rel=1e-5), "t of 4 degrees, 95 %"
    assert found.explained == pytest.approx(np.corrcoef(X, Y)[0, 1] ** 2)
    assert found["x"].alone == pytest.approx(found.explained), "with one explanation all of it is lost"


def test_points_left_out_are_predicted_from_the_others():
    errors = []
    for i in range(len(X)):
        slope, base = np.polyfit(np.delete(X, i), np.delete(Y, i), 1)
        errors.append(Y[i] - base - slope * X[i])
    assert regress(Y, {"x": X}).left_out == pytest.approx(np.sqrt(np.mean(np.square(errors))))


def test_no_explanation_gives_the_mean():
    found = regress(Y, {})
    assert found.intercept == pytest.approx(np.mean(Y)) and found.coefficients == ()
    assert found.explained == pytest.approx(0)


def test_what_one_explanation_adds_is_the_difference_of_both_fits():
    other = [0.0, 1.0, 0.0, 0.0, 1.0, 1.0]
    both, alone = regress(Y, {"x": X, "other": other}), regress(Y, {"x": X})
    assert both["other"].alone == pytest.approx(both.explained - alone.explained)


def test_an_explanation_without_effect_has_a_large_p_and_a_real_one_a_small_one():
    generator = np.random.default_rng(0)
    x, idle = generator.normal(size=(2, 200))
    found = regress(list(3 * x + generator.normal(size=200)), {"x": list(x), "idle": list(idle)})
    assert found["x"].p < 1e-20 and found["idle"].p > 0.05
    assert found["idle"].low < 0 < found["idle"].high


@pytest.mark.parametrize(
    ("y", "explanations", "message"),
    [
        ([1.0, 2.0, 3.0], {"x": [1.0, 2.0]}, "expected 3 each"),
        ([1.0, 2.0], {"x": [1.0, 2.0]}, "expected at least 3"),
        ([1.0, 2.0, 3.0, 5.0], {"x": [1.0] * 4}, "constant or follows"),
    ],
)
def test_what_cannot_be_fitted_is_refused(y, explanations, message):
    with pytest.raises(InputError, match=message):
        regress(y, explanations)
