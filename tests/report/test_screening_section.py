"""The section of the report about screened networks."""

from dataclasses import replace
from fractions import Fraction

import pytest
from tests.experiments.made_up import finish_all

from zerosnet.experiments import read_evidence
from zerosnet.numerics import Scheme, pair_of
from zerosnet.report.page.document import render
from zerosnet.report.page.screening_section import screening_section
from zerosnet.training import RunSpec, Store, recipe


@pytest.fixture
def specs():
    """Consistent schemes with a pair of parasitic roots on a grid of fifths."""
    found = []
    for real, imaginary in [(Fraction(a, 5), Fraction(b, 5)) for a in range(-2, 3) for b in range(3)]:
        square = real**2 + imaginary**2
        scheme = Scheme([1 + 2 * real, -2 * real - square, square], [1 - 2 * real + square])
        found.append(RunSpec("zerosnet56", "cifar10", recipe("screen", "cifar10"), 1, scheme))
    return found


def test_a_map_has_a_cell_per_network_measured_and_predicted(tmp_path, specs):
    store = Store(tmp_path)
    finish_all(store, specs, lambda spec: 0.8 - 0.1 * abs(pair_of(spec.scheme) + 0.2))
    evidence = read_evidence(store)
    words, ranks, maps = screening_section(evidence)
    assert f"{len(specs)} networks of 56 layers (cifar10)" in words and "the whole training" not in words
    assert f"over {len(specs)} networks: effective depth +" in ranks and "the law +" in ranks
    assert maps.count("<figure") == 3 and maps.count("<title>") == 3 * len(specs)
    assert "Screened networks" in render(evidence)


def test_ranks_of_the_whole_training_are_compared_if_there_are_some(tmp_path, specs):
    store = Store(tmp_path)
    whole = [RunSpec(one.model, one.dataset, recipe("paper", "cifar10"), 1, one.scheme) for one in specs]
    finish_all(store, [*specs, *whole], lambda spec: 0.8 - 0.1 * abs(pair_of(spec.scheme)))
    assert f"over the {len(specs)} that have both: +1.00" in screening_section(read_evidence(store))[0]


def test_without_screened_networks_there_is_no_section_and_with_few_no_map(tmp_path, specs):
    store = Store(tmp_path)
    assert screening_section(read_evidence(store)) == []
    finish_all(store, specs[:3], lambda spec: 0.8)
    (words,) = screening_section(read_evidence(store))
    assert "Of these, 3 with" in words and "a map needs 4" in words


def test_networks_with_changed_epochs_have_a_map_of_their_own(tmp_path, specs):
    store = Store(tmp_path)
    changed = recipe("screen", "cifar10", epochs=2)
    finish_all(store, [*specs[:3], *(replace(one, recipe=changed) for one in specs)], lambda spec: 0.8)
    words, _, maps, others = screening_section(read_evidence(store))
    assert f"{len(specs)} networks of 56 layers (cifar10)" in words and "recipe screen (epochs 2)." in words
    assert maps.count("<figure") == 3 and "3 networks of" in others and "(epochs 2)" not in others


def test_networks_that_are_not_compared_are_counted(tmp_path, specs):
    store = Store(tmp_path)
    finish_all(store, [replace(one, precision="fp64") for one in specs[:2]], lambda spec: 0.8)
    (words,) = screening_section(read_evidence(store))
    assert "Not compared: 2 of another precision" in words


@pytest.mark.parametrize("model, dataset, maps", [("zerosnet20", "digits", 2), ("zerosnet18", "digits", 1)])
def test_other_data_have_no_law_and_other_depths_no_forecast(tmp_path, specs, model, dataset, maps):
    store = Store(tmp_path)
    others = [RunSpec(model, dataset, recipe("screen", dataset), 1, one.scheme) for one in specs]
    finish_all(store, others, lambda spec: 0.8 - 0.1 * abs(pair_of(spec.scheme)))
    _, ranks, drawn = screening_section(read_evidence(store))
    assert drawn.count("<figure") == maps and "the law" not in ranks
    assert ("effective depth" in ranks) is (maps == 2)


def test_equal_accuracies_are_drawn(tmp_path, specs):
    store = Store(tmp_path)
    finish_all(store, specs, lambda spec: 0.8)
    _, ranks, maps = screening_section(read_evidence(store))
    assert "Rank correlation" not in ranks and "80.0 %" in maps
