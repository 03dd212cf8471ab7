import json

import numpy as np
import pytest

from zerosnet.errors import InputError
from zerosnet.numerics import PAPER_ROWS, Scheme, euler, is_zero_stable, zerosnet
from zerosnet.numerics.wirings.batch import head_contributions_of_many
from zerosnet.numerics.wirings.fit import Point, fit_law
from zerosnet.numerics.wirings.law import MEASURES, AccuracyLaw, load_law
from zerosnet.numerics.wirings.wiring import Wiring

OPT = zerosnet("-9/5")


@pytest.mark.parametrize("measure", MEASURES)
def test_constants_that_made_the_points_are_found_again(measure: str) -> None:
    made = AccuracyLaw(measure, 30.0, 0.12, 0.3, "cifar10", "paper", "best", ())
    wirings = [Wiring.of(row.scheme, (n, n, n)) for row in PAPER_ROWS for n in (3, 9)]
    points = [Point(w, 100 - made.a * made.quantity(w) ** -made.p) for w in wirings]
    law = fit_law(points, measure)
    assert (law.a, law.tau, law.p) == pytest.approx((30.0, 0.12, 0.3), rel=1e-4)
    assert law.rmse < 1e-3


@pytest.mark.parametrize("epoch", ["best", "last"])
@pytest.mark.parametrize(("measure", "most"), [("parts", 1.0), ("contributions", 1.8), ("shares", 2.1)])
def test_the_law_of_the_package_predicts_networks_left_out(measure: str, most: float, epoch: str) -> None:
    law = load_law(measure, epoch)
    assert law.rmse < most
    assert {sum(network.blocks) for network in law.networks} == {9, 27}


def test_the_law_is_several_times_better_than_the_root_condition() -> None:
    networks = load_law().networks
    misses = []
    for network in networks:
        stable = is_zero_stable(Scheme.parse(network.scheme))
        others = [n.accuracy for n in networks if n != network and is_zero_stable(Scheme.parse(n.scheme)) == stable]
        misses.append(network.accuracy - np.mean(others))
    assert np.sqrt(np.mean(np.square(misses))) > 6 * load_law().rmse


def test_a_prediction_lies_in_its_interval_which_holds_most_networks() -> None:
    law = load_law()
    inside = 0
    for network in law.networks:
        wiring = Wiring.of(Scheme.parse(network.scheme), network.blocks, network.stage_change)
        prediction = law.predict(wiring)
        assert prediction.calibrated
        low, high = prediction.interval
        assert low < prediction.accuracy < high
        inside += low <= network.accuracy <= high
    assert inside >= 0.85 * len(law.networks)


@pytest.mark.parametrize(
    ("wiring", "options", "reason"),
    [
        (Wiring.of(OPT), {"dataset": "mnist"}, "fitted on cifar10"),
        (Wiring.of(OPT), {"normalised": False}, "normalisation"),
        (Wiring.of(OPT, (9, 9)), {}, "3 stages"),
        (Wiring.of(OPT, (144, 144, 144)), {}, "blocks"),
    ],
)
def test_where_it_was_not_calibrated_the_law_says_why(wiring: Wiring, options: dict, reason: str) -> None:
    prediction = load_law().predict(wiring, **options)
    assert (prediction.accuracy, prediction.interval, prediction.calibrated) == (None, None, False)
    assert reason in prediction.why_not


def test_a_law_goes_into_json_and_comes_back() -> None:
    law = load_law()
    assert AccuracyLaw.from_json(json.loads(json.dumps(law.to_json()))) == law
    with pytest.raises(InputError, match="has no tau"):
        AccuracyLaw.from_json({"measure": "shares", "a": 1.0})


def test_no_gauge_changes_a_prediction() -> None:
    wiring = Wiring.of(Scheme([1, 1, 1], [1]))
    twin = wiring.regauge([1.84**-n for n in range(28)])
    assert load_law().predict(twin).accuracy == pytest.approx(load_law().predict(wiring).accuracy)


def test_many_predictions_agree_with_single_ones() -> None:
    law = load_law()
    per_block = np.repeat([1.0, 4.0, 16.0], 9)
    accuracy = law.accuracy_of(head_contributions_of_many([[1.0], [0.5]], [1.0, 1.0]) ** 2, per_block)
    singles = [law.predict(Wiring.of(euler(a))).accuracy for a in (1.0, 0.5)]
    assert accuracy.tolist() == pytest.approx(singles)


@pytest.mark.parametrize("points", [[], [Point(Wiring.of(OPT), 100.0)] * 6])
def test_points_that_fit_no_law_are_refused(points: list[Point]) -> None:
    with pytest.raises(InputError, match="expected"):
        fit_law(points)
