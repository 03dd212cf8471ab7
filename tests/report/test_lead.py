"""The first figure and its headline follow the networks that are there."""

import json
import re
from pathlib import Path

import pytest
from tests.report.synthetic import specs_of_rows, write_run

from zerosnet.experiments import experiment, read_evidence
from zerosnet.numerics import load_law
from zerosnet.report.page.configurations import all_facts, panels
from zerosnet.report.page.lead import LeadFigure, LeadPoint, find_lead, headline, lead_section
from zerosnet.training import Store, read_sweep

SWEEPS = Path(__file__).parents[2] / "results/sweeps"


def lead_of(tmp_path, specs):
    for spec in specs:
        write_run(tmp_path, spec, attacks=False)
    grouped = panels(read_evidence(Store(tmp_path)).runs)
    return find_lead([(panel.title, all_facts(panel.members)) for panel in grouped])


def test_networks_that_the_law_is_about_are_drawn_against_their_predicted_accuracy(tmp_path):
    lead = lead_of(tmp_path, specs_of_rows(seeds=(1, 2)))
    assert lead.is_accuracy and len(lead.points) == 10 and "in these stores" in lead.what


def test_networks_that_the_law_was_fitted_on_are_predicted_without_them(tmp_path):
    lead = lead_of(tmp_path, specs_of_rows(seeds=(1,)))
    left_out = {round(one.left_out, 6) for one in load_law().networks}
    assert {round(point.predictor, 6) for point in lead.points} <= left_out


def test_other_networks_are_drawn_against_their_effective_depth(tmp_path):
    lead = lead_of(tmp_path, specs_of_rows(seeds=(1,), epochs=3))
    assert not lead.is_accuracy and lead.axis.startswith("effective depth") and "epochs 3" in lead.what


def test_too_few_networks_give_way_to_those_of_the_package(tmp_path):
    lead = lead_of(tmp_path, specs_of_rows(seeds=(1,))[:3])
    assert len(lead.points) == len(load_law().networks) and "when this package was made" in lead.what


def test_every_network_with_a_prediction_is_drawn_and_named(tmp_path):
    specs = [*specs_of_rows(seeds=(1,)), *read_sweep(SWEEPS / "depth.json")[:2]]
    lead = lead_of(tmp_path, specs)
    assert len(lead.points) == len({point.name for point in lead.points}) == 12
    others = [point for point in lead.points if point.zero_stable is None]
    assert [point.name.rpartition(" after ")[2] for point in others] == [
        "5 multistep blocks, 56 layers",
        "2 multistep blocks, 56 layers",
    ]
    assert all(point.modulus == pytest.approx(1 / 3) for point in others), "roots do not depend on betas"
    assert "a scheme per block, or trained coefficients" in str(lead_section(lead))


def test_networks_that_did_not_learn_are_named_and_not_drawn(tmp_path):
    specs = specs_of_rows(seeds=(1,))
    lead_of(tmp_path, specs)
    path = tmp_path / specs[-1].id / "result.json"
    failed = json.loads(path.read_text()) | {"test_accuracy": 0.2, "best_test_accuracy": 0.2}
    path.write_text(json.dumps(failed))
    lead = find_lead([(panel.title, all_facts(panel.members)) for panel in panels(read_evidence(Store(tmp_path)).runs)])
    assert len(lead.points) == 9 and [one.accuracy for one in lead.not_learned] == [pytest.approx(20)]
    assert re.search(r"did not learn: \S+, 56 layers \(20.0 %, predicted [\d.]+ %\)", str(lead_section(lead)))


def test_networks_with_equal_moduli_of_different_depth_are_compared(tmp_path):
    page = str(lead_section(lead_of(tmp_path, experiment("mosaics").specs("demo"))))
    assert re.search(r"points</b><span>for effective depth \d+ in place of \d+, at equal moduli", page)
    assert "zero-stable networks less the others" not in page


MIXED = (3, 1, 2, 5, 4, 8, 6, 7, 10, 9)


def figure(predictors, moduli):
    points = [LeadPoint("s", x, m, float(y), y > 2) for y, (x, m) in enumerate(zip(predictors, moduli, strict=True))]
    return LeadFigure(points, "made up", "effective depth")


@pytest.mark.parametrize(
    "predictors, moduli, words",
    [
        ((1, 2, 3, 4, 5), (3, 1, 2, 5, 4), "How much of its depth a network uses predicts"),
        ((3, 1, 2, 5, 4), (5, 4, 3, 2, 1), "Does zero stability or effective depth predict"),  # too few
        (MIXED, range(10, 0, -1), "Here the roots of a scheme predict"),
        (MIXED, range(1, 11), "Does zero stability or effective depth predict"),  # large moduli do well
        ((1, 2, 3, 4, 5), (5, 4, 3, 2, 1), "Does zero stability or effective depth predict"),
    ],
)
def test_the_headline_follows_the_rank_correlations(predictors, moduli, words):
    assert headline(figure(predictors, moduli)).startswith(words)


def test_networks_that_lie_apart_are_told_apart_in_the_headline():
    numbers = ((3, 36), (10, 46), (22, 68), (23, 87))
    points = [LeadPoint("s", depth, 0.5, accuracy, True) for depth, accuracy in numbers]
    lead = LeadFigure(points, "made up", "effective depth")
    words = (
        "Alike but for their scheme: effective depth 3 to 10 gave 36 to 46 %, effective depth 22 to 23 gave 68 to 87 %"
    )
    assert headline(lead) == words
    mixed = [*points, LeadPoint("s", 22.5, 0.5, 40, True)]
    assert not headline(LeadFigure(mixed, "made up", "effective depth")).startswith("Alike")
