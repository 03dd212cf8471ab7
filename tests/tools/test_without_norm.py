"""Networks without normalisation: what was predicted, and the tables of what came."""

import json
from statistics import stdev

import pytest
from tools.without_norm import HERE, RATES, learned, predictions, spec, window

from tools import without_norm, without_norm_tables


def runs(*good: float) -> list[dict[str, object]]:
    return [{"lr": lr, "learned": lr in good} for lr in RATES]


def test_the_window_of_rates_ends_half_way_to_those_that_fail():
    assert window(runs(0.1, 0.03)) == pytest.approx(((0.01 * 0.03) ** 0.5, (0.1 * 0.3) ** 0.5))


def test_a_network_that_diverged_or_guesses_has_not_learned():
    assert learned("finished", 0.5) and not learned("finished", 0.49)
    assert not learned("diverged", None) and not learned("diverged", 0.9)


def test_registered_predictions_follow_from_the_coefficients():
    kept, found = json.loads((HERE / "predictions.json").read_text()), predictions()
    assert kept["windows"] == found["windows"] and kept["predictions"] == found["predictions"]


def test_refined_predictions_follow_from_the_registered_ones():
    assert (
        json.loads((HERE / "predictions-20.json").read_text())["predictions"] == without_norm.refined()["predictions"]
    )


def test_predictions_of_shared_projections_follow_from_the_coefficients():
    kept = json.loads((HERE / "predictions-shared.json").read_text())["predictions"]
    assert kept == without_norm.shared_predictions()["predictions"]


def test_lowest_rates_that_learn_differ_less_if_they_are_scaled_by_the_root_of_the_sensitivity():
    sizes, places = zip(*without_norm_tables.crossings(), strict=True)
    assert len(sizes) == len(places) == 28
    scaled = [place + size / 2 for size, place in zip(sizes, places, strict=True)]
    assert stdev(scaled) < 0.2 < 1 < stdev(places)


def test_predictions_are_never_edited():
    with pytest.raises(SystemExit, match="never edited"):
        without_norm.main("predict")


def test_every_run_that_was_asked_for_is_on_record():
    wanted = {one.id for one in without_norm.specs(without_norm.SCHEMES)}
    assert {run["run"] for run in without_norm_tables.recorded()} == wanted
    assert spec("1,1,1;1", 56, 0.1).id in wanted


def test_schemes_that_are_not_zero_stable_learn_at_low_rates():
    found = {
        run["lr"]
        for run in without_norm_tables.of_layers(56)
        if run["scheme"] == "from-roots(-6/5, 0)" and run["learned"]
    }
    assert found and max(found) < 0.1


def test_the_refined_law_judges_better_than_the_root_condition():
    wrong = {law: without_norm_tables.misjudged(law, 20) for law in without_norm_tables.LAWS}
    assert wrong["refined"] < wrong["root_condition"]
    assert without_norm_tables.misjudged("refined", 56) is None
