import json
from importlib import resources

import pytest
from tests.measured_runs import RUNS, needs_runs

from zerosnet.explorer.accuracies import FILE, accuracies_document, collect_accuracies


def test_measured_and_printed_are_kept_apart_and_have_a_modulus():
    document = accuracies_document()
    assert document["measured"]
    for entry in document["measured"]:
        assert entry["runs"] >= 1
        assert entry["parasitic_modulus"] >= 0
        assert 10 < entry["accuracy"] <= 100
    printed = {(entry["model"], entry["scheme"]): entry for entry in document["printed"]}
    optimum = printed["zerosnet56", "1/3,5/9,1/9;16/9"]
    assert (optimum["accuracy"], optimum["deviation"]) == (94.04, 0.12)
    assert optimum["parasitic_modulus"] == pytest.approx(1 / 3)
    assert len(document["printed"]) == 39


@needs_runs
def test_the_stored_accuracies_are_those_of_the_runs():
    stored = json.loads(resources.files("zerosnet.explorer").joinpath(FILE).read_text("utf-8"))
    assert stored == collect_accuracies(RUNS), "python -m zerosnet.explorer.accuracies results/runs makes it again"
