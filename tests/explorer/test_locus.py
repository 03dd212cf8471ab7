import json

import pytest

pytest.importorskip("pydantic", reason="the explorer's extra is not installed")

from zerosnet.explorer.locus import families_document, locus_document
from zerosnet.explorer.query import Locus
from zerosnet.numerics import FAMILIES, Scheme, root_condition


def test_the_locus_of_a_family_has_its_exact_stable_set():
    document = locus_document(Locus(family="zerosnet", param="1", low=-4, high=4, points=81))
    assert document["stable_set"]["text"] == "(-oo, -1] U (1/3, oo)"
    assert document["stable_set"]["exact"] is True
    assert 0 not in document["values"]
    assert len(document["values"]) == 80


def test_the_moduli_are_those_of_the_members():
    document = locus_document(Locus(family="lm", param="0", low=-2, high=2, points=5))
    assert document["values"] == [-2, -1, 0, 1, 2]
    assert [row[0] for row in document["moduli"]] == pytest.approx([2, 1, 0, 1, 2])


def test_one_coefficient_moves_and_the_stable_set_is_sampled():
    document = locus_document(Locus(alphas="1/2,0", betas="1", vary="alpha1", low=-2, high=2, points=41))
    assert document["parameter"] == "alpha1"
    assert document["stable_set"]["exact"] is False
    for interval in document["stable_set"]["intervals"]:
        if interval["kind"] == "stable":
            middle = (interval["from"] + interval["to"]) / 2
            assert root_condition(Scheme([0.5, middle], [1.0])).zero_stable
    assert any(interval["kind"] == "stable" for interval in document["stable_set"]["intervals"])


def test_one_root_moves_among_others():
    document = locus_document(Locus(family="from-roots", param="1/2,-1/3", vary="root1", low=-2, high=2, points=5))
    assert [max(row) for row in document["moduli"]] == pytest.approx([2, 1, 0.5, 1, 2], abs=1e-6)


@pytest.mark.parametrize(("family", "param", "members"), [("leapfrog", None, 1), ("adams-bashforth", "3", 8)])
def test_families_without_a_real_parameter_are_points(family, param, members):
    document = locus_document(Locus(family=family, param=param))
    assert document["discrete"] is True
    assert len(document["values"]) == members


def test_a_member_has_as_many_parasitic_roots_as_steps_but_one():
    document = locus_document(Locus(family="adams-bashforth", param="3"))
    assert document["moduli"] == [[0.0] * (k - 1) for k in range(1, 9)]


def test_all_families_are_described_and_fit_into_json():
    document = families_document()
    assert [family["name"] for family in document] == list(FAMILIES)
    assert next(family for family in document if family["name"] == "zerosnet")["holes"] == [0.0]
    json.dumps(document, allow_nan=False)
