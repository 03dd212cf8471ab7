"""What the numbers of a table say about stability, moduli and depth."""

import json

import pytest
from tests.experiments.made_up import finish_all

from zerosnet import files
from zerosnet.experiments import EXPERIMENTS, collect, findings, pair_findings, read_evidence, recorded
from zerosnet.experiments.ablation import Ablation
from zerosnet.experiments.conclusions import distinct_findings, parasitic_modulus
from zerosnet.numerics import OPTIMUM, PAPER_ROWS, is_zero_stable
from zerosnet.training import Store

TABLE = EXPERIMENTS["table-zerosnet-cifar10"]
NOISES = ("table-robustness", "table-uniform-noise", "table-gaussian-noise", "table-constant-noise")


def stable(spec) -> bool:
    return spec.scheme is None or bool(is_zero_stable(spec.scheme))


@pytest.fixture
def filled(tmp_path):
    """The 56-layer rows: stable ones about 93, others about 79, by seed a little different."""
    store = Store(tmp_path)
    specs = [spec for spec in TABLE.specs("full") if spec.model.startswith("zerosnet56")]

    def accuracy(spec):
        modulus = parasitic_modulus(spec.scheme or OPTIMUM)
        return (0.94 if stable(spec) else 0.80) - 0.005 * modulus + 0.001 * spec.seed

    finish_all(store, specs, accuracy)
    return store


def test_zero_stable_rows_are_found_to_be_better(filled):
    (found,) = findings(collect(TABLE, read_evidence(filled)))
    assert (found.group, found.rows, found.stable_against_not.n) == ("56 layers", 10, (6, 4))
    assert found.stable_against_not.low > 10
    assert found.verdict.startswith("zero-stable rows are better by +14")
    assert found.by_modulus.rho == pytest.approx(-1)
    assert found.optimum_is_best is True and found.best == "56 0.33, 0.33, 1.00"
    assert found.by_effective_depth is None


def test_the_verdict_names_depth_if_it_goes_with_accuracy(filled):
    for record in filled.records():
        depth = (27 if stable(record.spec) else 5) - int(record.id[-1], 16) % 3
        curve = tuple(min(1.0, n / depth) for n in range(27))
        ablation = Ablation(record.id, 256, 1.0, curve, (0.5,) * 27, depth)
        files.write_json(record.folder / "ablation.json", ablation.to_json())
    evidence = read_evidence(filled)
    (found,) = findings(collect(TABLE, evidence), evidence)
    assert found.by_effective_depth.rho > 0.8
    assert "depth explains" in found.verdict
    assert json.loads(json.dumps(found.to_json()))["rows"] == 10


def test_groups_that_overlap_are_undecided(tmp_path):
    store = Store(tmp_path)
    specs = [spec for spec in TABLE.specs("full") if spec.model.startswith("zerosnet56")]
    order = {spec.id: i for i, spec in enumerate(specs)}
    finish_all(store, specs, lambda spec: 0.9 + 0.01 * (order[spec.id] % 2))
    (found,) = findings(collect(TABLE, read_evidence(store)))
    assert found.verdict.startswith("undecided")


def test_without_measurements_there_is_no_finding(tmp_path):
    assert findings(collect(TABLE, read_evidence(Store(tmp_path)))) == []


def test_principal_root_is_no_parasite_but_any_other_is():
    assert parasitic_modulus(PAPER_ROWS[0].scheme) == pytest.approx(1.84, abs=0.005)
    assert parasitic_modulus(OPTIMUM) == pytest.approx(1 / 3)


def test_pairs_are_compared_seed_by_seed(tmp_path):
    pairs, store = EXPERIMENTS["pairs"], Store(tmp_path)
    finish_all(store, pairs.specs("full"), lambda spec: (0.94 if stable(spec) else 0.80) + 0.001 * spec.seed)
    found = {one.group: one for one in pair_findings(collect(pairs, read_evidence(store)))}
    assert len(found) == 7
    same_beta = found["stability, with the same beta 16/9"]
    assert same_beta.difference.mean == pytest.approx(14) and same_beta.difference.certain
    assert "equal within 0.5" in found["size of beta and so consistency, optimum"].verdict
    assert json.loads(json.dumps(same_beta.to_json()))["group"] == same_beta.group
    assert pair_findings(collect(TABLE, read_evidence(store))) == []


def test_levels_that_two_tables_print_are_compared_once():
    said = [one for table in recorded() for one in findings(table) if one.experiment in NOISES]
    assert [len(said), len(distinct_findings(said))] == [25, 18], "no noise, and 17 levels of it"
    assert "numbers" not in said[0].to_json()
