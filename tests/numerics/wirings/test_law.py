import json
import re
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from zerosnet.errors import InputError
from zerosnet.numerics import PAPER_ROWS, Scheme, euler, is_zero_stable, zerosnet
from zerosnet.numerics.wirings.batch import head_contributions_of_many, shares_of_many
from zerosnet.numerics.wirings.fit import Point, fit_law
from zerosnet.numerics.wirings.law import MEASURES, AccuracyLaw, load_law
from zerosnet.numerics.wirings.wiring import Wiring

OPT = zerosnet("-9/5")
LOW, HIGH = load_law().roots
NETWORK = load_law().to_json()["networks"][0]


@pytest.mark.parametrize("measure", MEASURES)
def test_constants_that_made_the_points_are_found_again(measure: str) -> None:
    tau = 4e-4 if measure == "parts" else 0.12
    made = AccuracyLaw(measure, 30.0, tau, 0.3, "cifar10", "paper", "best", ())
    wirings = [Wiring.of(row.scheme, (n, n, n)) for row in PAPER_ROWS for n in (3, 9)]
    points = [Point(w, 100 - made.a * made.quantity(w) ** -made.p) for w in wirings]
    law = fit_law(points, measure)
    assert (law.a, law.tau, law.p) == pytest.approx((30.0, tau, 0.3), rel=1e-4)
    assert law.rmse < 1e-3


def test_a_floor_that_made_the_points_is_found_again() -> None:
    made = AccuracyLaw("parts", 30.0, 0.006, 0.45, "cifar10", "paper", "best", (), floor=3.5)
    wirings = [Wiring.of(row.scheme, (n, n, n)) for row in PAPER_ROWS for n in (3, 9)]
    points = [Point(w, 100 - made.error_of(made.quantity(w))) for w in wirings]
    law = fit_law(points, floor=True)
    assert (law.a, law.tau, law.p, law.floor) == pytest.approx((30.0, 0.006, 0.45, 3.5), rel=1e-3)
    assert fit_law(points).rmse > 10 * law.rmse


@pytest.mark.parametrize("epoch", ["best", "last"])
def test_the_law_of_the_package_predicts_networks_left_out(epoch: str) -> None:
    laws = [load_law(measure, epoch) for measure in ("parts", "contributions", "shares")]
    near = {network.wiring for network in laws[0].networks if network.near}
    for side in (True, False):
        chosen = [[network for network in law.networks if (network.wiring in near) is side] for law in laws]
        errors = [law.rmse_of(networks) for law, networks in zip(laws, chosen)]
        assert errors[0] < errors[1] * (0.75 if side else 0.55) and errors == sorted(errors)
    assert {sum(network.blocks) for network in load_law(epoch=epoch).networks} >= {9, 27}


def test_a_network_that_was_fitted_is_found_by_its_wiring() -> None:
    law = load_law()
    for network in law.networks:
        assert law.fitted(network.wiring) is network
    assert law.fitted(Wiring.of(PAPER_ROWS[0].scheme, (2, 2, 2))) is None


def test_a_fitted_network_is_predicted_by_the_law_fitted_to_the_others() -> None:
    law = load_law()
    fitted, other = Wiring.of(zerosnet("-9/5"), (9, 9, 9)), Wiring.of(zerosnet("-9/5"), (8, 8, 8))
    assert law.fitted(other) is None and law.predict_left_out(other) == law.predict(other)
    known, found = law.fitted(fitted), law.predict_left_out(fitted)
    assert known is not None and found.accuracy == pytest.approx(known.left_out)
    assert found.interval is not None and found.interval[0] < known.left_out < found.interval[1]
    assert law.predict_left_out(fitted, "cifar100") == law.predict(fitted, "cifar100")


@pytest.mark.parametrize(
    ("block_schemes", "words"),
    [
        (("1/3,5/9,1/9;16/9",) * 2 + ("1/3,5/9,1/9;0",) * 23, "f switched off after 2 multistep blocks"),
        (("1/3,5/9,1/9;16/9", "1,1,1;1") * 12 + ("1/3,5/9,1/9;16/9",), "a scheme per block"),
        (("1/3,5/9,1/9;0",) + ("1/3,5/9,1/9;16/9",) * 24, "a scheme per block"),
    ],
)
def test_a_network_with_a_scheme_per_block_is_named(block_schemes: tuple[str, ...], words: str) -> None:
    network = replace(load_law().networks[0], scheme="1/3,5/9,1/9;16/9", block_schemes=block_schemes)
    assert network.label == f"zerosnet(-9/5) ({words})" and not network.plain


def test_clear_of_the_threshold_the_law_is_several_times_better_than_the_root_condition() -> None:
    networks = [network for network in load_law().networks if not network.near]
    misses = []
    for network in networks:
        stable = is_zero_stable(Scheme.parse(network.scheme))
        others = [n.accuracy for n in networks if n != network and is_zero_stable(Scheme.parse(n.scheme)) == stable]
        misses.append(network.accuracy - np.mean(others))
    assert np.sqrt(np.mean(np.square(misses))) > 6 * load_law().rmse_of(networks)


def test_intervals_are_wider_near_the_threshold_of_survival() -> None:
    law = load_law()
    clear, near = Wiring.of("1,0,0;1"), Wiring.of("1,0,0;1/25")
    assert not law.is_near(clear) and law.is_near(near)
    assert law.spread(clear) == (0, 0) and law.spread(near)[0] < -0.5
    assert {one.near for one in law.networks_like(near)} == {True}


def test_a_prediction_lies_in_its_interval_which_holds_most_networks() -> None:
    law = load_law()
    inside = 0
    for network in law.networks:
        prediction = law.predict(network.wiring)
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
        (Wiring.of("0;1"), {}, f"largest root is {LOW:g} to {HIGH:g}, not 0"),
        (Wiring.of("10;1"), {}, "not 10"),
        (Wiring.of(OPT, beta_growth="50"), {}, "not 0.02 (divided by the growth of beta)"),
    ],
)
def test_the_law_gives_a_reason_if_it_was_not_calibrated(wiring: Wiring, options: dict, reason: str) -> None:
    prediction = load_law().predict(wiring, **options)
    assert (prediction.accuracy, prediction.interval, prediction.calibrated) == (None, None, False)
    assert reason in prediction.why_not


def test_a_law_goes_into_json_and_comes_back() -> None:
    law = load_law()
    assert AccuracyLaw.from_json(json.loads(json.dumps(law.to_json()))) == law
    with pytest.raises(InputError, match="has no tau"):
        AccuracyLaw.from_json({"measure": "shares", "a": 1.0})


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        ({"a": "30"}, "a of a law in JSON is '30'; expected a positive number"),
        ({"a": float("nan")}, "a of a law in JSON is nan"),
        ({"tau": -1}, "tau of a law in JSON is -1; expected a number from 0 on"),
        ({"p": 10**400}, "p of a law in JSON is 1000"),
        ({"floor": True}, "floor of a law in JSON is True"),
        ({"dataset": None}, "dataset of a law in JSON is None; expected a text"),
        ({"measure": "roots"}, "measure is 'roots'; expected one of"),
        ({"measure": []}, "measure of a law in JSON is []"),
        ({"slope": 1}, "a law in JSON has an unknown field 'slope'"),
        ({"survival": {"foo": 1}}, "survival has no least"),
        ({"survival": {"least": 0.1, "foo": 1}}, "survival has an unknown field 'foo'"),
        ({"survival": {"least": float("inf")}}, "least of survival is inf"),
        ({"survival": None}, "survival is None; expected an object"),
        ({"networks": []}, "networks of a law in JSON is []; expected a list of at least 1"),
        ({"networks": {}}, "networks of a law in JSON is {}"),
        ({"networks": [{"scheme": "1;1"}]}, "networks[0] has no blocks"),
        ({"networks": [NETWORK, 3]}, "networks[1] is 3; expected an object"),
        ({"networks": [NETWORK | {"blocks": [9, "9"]}]}, "blocks of networks[0] is [9, '9']"),
        ({"networks": [NETWORK | {"blocks": []}]}, "blocks of networks[0] is []"),
        ({"networks": [NETWORK | {"accuracy": 100}]}, "accuracy of networks[0] is 100; expected a number from 0"),
        ({"networks": [NETWORK | {"quantity": 0}]}, "quantity of networks[0] is 0; expected a positive number"),
        ({"networks": [NETWORK | {"spread": [0.1]}]}, "spread of networks[0] is [0.1]; expected a list of exactly 2"),
        ({"networks": [NETWORK | {"block_schemes": [1]}]}, "block_schemes of networks[0] is [1]"),
        ({"networks": [NETWORK | {3: 4}]}, "networks[0] has an unknown field 3"),
    ],
)  # fmt: skip
def test_a_damaged_law_is_refused_with_the_field_that_is_wrong(broken: dict, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        AccuracyLaw.from_json(load_law().to_json() | broken)


@pytest.mark.parametrize("data", [None, [], "law", 3, {}])
def test_what_is_no_object_is_no_law(data: object) -> None:
    with pytest.raises(InputError, match=r"a law in JSON .*expected an object with measure, a, tau"):
        AccuracyLaw.from_json(data)


@pytest.mark.parametrize("stage_change", ["project-each", "project-shared", "restart"])
@pytest.mark.parametrize("growth", ["1", "1.839", "0.7"])
@pytest.mark.parametrize("rate", [1.84, 0.6, 4.2])
def test_no_gauge_changes_a_prediction(rate: float, growth: str, stage_change: str) -> None:
    wiring = Wiring.of(Scheme([1, 1, 1], [1]), stage_change=stage_change, beta_growth=growth)
    twin = wiring.regauge([rate**-n for n in range(28)])
    own, other = (load_law().predict(one) for one in (wiring, twin))
    assert other.accuracy == pytest.approx(own.accuracy)
    assert other.interval == pytest.approx(own.interval)


@pytest.mark.parametrize("text", ["1,1,1;1", "-3,5,-1;4", "-3/4,2,-1/4;5/2", "15/4,-4,5/4;-1/2"])
def test_an_unstable_scheme_with_growing_betas_is_predicted_as_its_zero_stable_twin(text: str) -> None:
    """beta_n = beta R^n undoes the growth of the state: alphas alpha_i R^-(i+1) with constant betas, start-up aside."""
    scheme = Scheme.parse(text)
    rate = 1.0001 * max(abs(np.roots([float(c) for c in scheme.rho])))
    inside = Scheme([float(a) / rate ** (i + 1) for i, a in enumerate(scheme.alphas)], [float(scheme.betas[0]) / rate])
    assert is_zero_stable(inside) and not is_zero_stable(scheme)
    grown, stable = (load_law().predict(w) for w in (Wiring.of(scheme, beta_growth=rate), Wiring.of(inside)))
    assert grown.accuracy == pytest.approx(stable.accuracy, abs=0.5)


def test_a_scheme_per_block_from_the_start_is_the_exact_twin() -> None:
    rate = Fraction(1841, 1000)
    wiring = Wiring.of(Scheme([1, 1, 1], [1]), beta_growth=rate)
    twin = wiring.regauge([rate**-n for n in range(28)])
    stable = twin.schemes()[5]
    assert is_zero_stable(stable)
    assert all(scheme.alphas == stable.alphas for scheme in twin.schemes()[2:])
    assert {float(scheme.betas[0]) for scheme in twin.schemes()[2:]} == {float(rate**-3)}
    assert load_law().predict(twin).accuracy == pytest.approx(load_law().predict(wiring).accuracy)


def test_a_network_without_blocks_that_reach_the_head_has_no_accuracy() -> None:
    silent = Wiring.per_block([Scheme([1], [0])] * 27)
    assert load_law().predict(silent).why_not == "no block survives training"


@pytest.mark.parametrize(("growth", "least", "most"), [("1.1", 93, 94), ("1.2", 92, 93.5), ("0.5", 78, 85)])
def test_betas_that_grow_or_shrink_cost_accuracy_as_blocks_are_forgotten_or_drowned(
    growth: str, least: float, most: float
) -> None:
    assert least < load_law().predict(Wiring.of(OPT, beta_growth=growth)).accuracy < most


@pytest.mark.parametrize("alphas", ["1,0,0", "1/3,5/9,1/9", "3/2,-1/2,0", "1,1,1"])
def test_intervals_hold_the_prediction_and_stay_within_what_networks_reach(alphas: str) -> None:
    law = load_law()
    for beta in np.geomspace(0.005, 2, 40):
        found = law.predict(Wiring.of(f"{alphas};{beta:.4f}"))
        low, high = found.interval
        assert 60 < low <= found.accuracy <= high < 96


def test_several_streams_and_several_betas_have_no_accuracy() -> None:
    streams = Wiring.of_matrices([np.eye(2)] * 27, [[1, 0]] * 27, [[1, 0]] * 27, [1, 0], blocks=(9, 9, 9))
    assert "several streams" in load_law().not_calibrated(streams)
    assert "one beta" in load_law().not_calibrated(Wiring.of("1;0,1"))


def test_gains_far_from_one_have_no_accuracy_as_the_scheme_has_none() -> None:
    gains = Wiring.of_gains([0.1] * 27, [1] * 27, (9, 9, 9))
    assert load_law().not_calibrated(gains) == load_law().not_calibrated(Wiring.of("0.1;1"))


def test_start_up_hides_no_root() -> None:
    many_steps = Wiring.of("100,0,0,0,0,0;1", (3, 3, 3))
    assert "not 100" in load_law().not_calibrated(many_steps)


def test_an_extreme_growth_stays_finite() -> None:
    for growth in (1e-6, 1e6):
        wiring = Wiring.of(OPT, beta_growth=growth)
        assert 0 < load_law().error_of(load_law().quantity(wiring)) < 100
        assert "largest root" in load_law().predict(wiring).why_not


def test_many_predictions_agree_with_single_ones() -> None:
    law = load_law()
    per_block = np.repeat([1.0, 4.0, 16.0], 9)
    alphas, betas = [[1.0], [0.9]], [1.0, 1.0]
    parts = head_contributions_of_many(alphas, betas) ** 2
    accuracy = law.accuracy_of(shares_of_many(alphas, betas), parts, per_block)
    singles = [law.predict(Wiring.of(euler(a))).accuracy for a in (1.0, 0.9)]
    assert accuracy.tolist() == pytest.approx(singles)


@pytest.mark.parametrize("points", [[], [Point(Wiring.of(OPT), 100.0)] * 6])
def test_points_that_fit_no_law_are_refused(points: list[Point]) -> None:
    with pytest.raises(InputError, match="expected"):
        fit_law(points)
