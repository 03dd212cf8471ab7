"""Certificates, attacks and early stops, read from the records of this repository."""

from pathlib import Path

import pytest

from tools import defence_tables as tables

needs_runs = pytest.mark.skipif(not Path("results/runs").exists(), reason="needs the records of the repository")


def test_a_place_is_0_for_the_worst_and_1_for_the_best():
    assert tables.places({"a": 20.0, "b": 60.0, "c": 50.0}) == {"a": 0.0, "b": 1.0, "c": 0.75}


@needs_runs
def test_certified_accuracy_falls_with_the_radius():
    for network in tables.certified():
        values = [network.certified[radius] for radius in sorted(network.certified)]
        assert values == sorted(values, reverse=True) and len(values) == 17


@needs_runs
def test_the_certificates_lie_nearer_to_the_law_than_to_the_roots():
    measured, laws = tables._certified_places(), tables.predicted("noise")
    missed = {law: sum(abs(measured[s] - laws[s][law]) for s in measured) for law in ("parts", "root_condition")}
    assert missed["parts"] < 0.2 and missed["root_condition"] > 0.7


@needs_runs
def test_every_registered_network_that_was_stopped_early_is_listed():
    assert len(tables.stopped()) == 10 and tables.stopped_early().count("\n") == 6
    depth, accuracy = (tables._stopped_error(tables.NOISE, law) for law in ("parts", "clean_accuracy_line"))
    assert depth < accuracy / 4


@needs_runs
def test_a_graded_root_condition_does_about_as_well_as_the_law():
    missed = {law: float(tables._missed(law)) for law in tables.PLACE_LAWS}
    assert missed["parts"] < 0.15 and missed["modulus"] < 0.2 and missed["root_condition"] > 0.4


@needs_runs
def test_adversarial_training_keeps_something_at_8_of_255():
    assert len(tables.defended()) == 4
    for network in tables.defended():
        assert network.clean > network.kept["pgd-50"][tables.EPS] >= network.kept["autoattack"][tables.EPS] > 15
