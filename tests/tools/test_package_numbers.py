"""The numbers in the package are those of the records that lie beside it."""

import json
from dataclasses import replace

import pytest
from tests.docs.blocks import ROOT
from tests.measured_runs import RUNS, needs_runs
from tests.report.synthetic import specs_of_rows, write_run
from tools.package_numbers import (
    ACCURACIES,
    RATES,
    RECORDED,
    REGISTERED,
    RUN_TIMES,
    accuracies,
    main,
    rates_of,
    recorded_tables,
    registered,
    run_times,
    training_rates,
)

from zerosnet.experiments import read_evidence
from zerosnet.files import read_json
from zerosnet.training import Store

BENCHMARKS = ROOT / "benchmarks" / "results"
needs_benchmarks = pytest.mark.skipif(not BENCHMARKS.exists(), reason="installed without the benchmarks")


@pytest.fixture(scope="module")
def evidence():
    return read_evidence(Store(RUNS))


@needs_runs
def test_the_recorded_tables_are_those_of_the_runs(evidence):
    assert read_json(RECORDED) == json.loads(json.dumps(recorded_tables(evidence))), "make results"


@needs_runs
def test_the_accuracies_of_the_explorer_are_those_of_the_runs(evidence):
    assert read_json(ACCURACIES) == accuracies(evidence), "make results"


@needs_runs
def test_the_registered_accuracies_are_those_of_the_predictions():
    assert read_json(REGISTERED) == registered(RUNS), "make results"


_SHAPES = (
    [("native", 56, 10, "cifar10", 0.3), ("native", 56, 1, "cifar10", 0.8)],
    [("native", 56, 10, "cifar10", 0.4), ("torch", 56, 10, "cifar10", 0.7)],
    [("torch", 56, 10, "mnist", 0.8), ("torch", 164, 10, "cifar10", 3.0), ("torch", 326, 3, "cifar10", 9.0)],
)


def test_a_network_of_another_wiring_is_no_accuracy_of_its_scheme(tmp_path):
    usual = specs_of_rows(seeds=(1,))[0]
    others = [{"stage_change": "restart"}, {"beta_growth": "1.5"}, {"init_growth": "1.5"}]
    per_block = replace(usual, scheme=None, block_schemes=[usual.scheme] * 25)
    for spec in (usual, per_block, *(replace(usual, **other) for other in others)):
        write_run(tmp_path, spec, attacks=False)
    (only,) = accuracies(read_evidence(Store(tmp_path)))["measured"]
    assert (only["scheme"], only["runs"]) == (str(usual.scheme), 1)


@needs_benchmarks
def test_the_run_times_are_those_of_the_benchmark():
    assert read_json(RUN_TIMES) == run_times(read_json(BENCHMARKS / "models-cuda.json")), "make results"


@needs_benchmarks
def test_the_training_rates_are_those_of_the_benchmarks():
    assert read_json(RATES) == rates_of(BENCHMARKS), "make results"


def test_bottleneck_networks_and_mnist_have_rates_of_their_own_and_the_first_record_of_an_engine_counts():
    names = ("kernels", "layers", "replicas", "dataset", "seconds_per_epoch_and_network")
    native, old, deep = ([dict(zip(names, shape)) for shape in shapes] for shapes in _SHAPES)
    for row in (*native, *old):
        row["seconds_per_epoch"] = row["replicas"] * row["seconds_per_epoch_and_network"]
    gpu = {"environment": {"gpu": {"names": ["GPU"]}}}
    on_cpu = {"networks": 1, "seconds": 8.0}
    found = training_rates(gpu | {"rows": native}, gpu | {"rows": old}, on_cpu=on_cpu, others={"rows": deep})
    assert found["native"] == {"56": 0.3} and found["torch"] == {"56": 0.7, "164": 3.0, "326": 9.0}
    assert found["mnist"] == {"56": 0.8}
    assert found["epoch_of_group"] == {"native": {"10": 3.0, "1": 0.8}, "torch": {"10": 7.0}}


def test_a_damaged_store_is_refused(tmp_path, capsys):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "spec.json").write_text("{")
    assert main([str(tmp_path), str(BENCHMARKS)]) == 2
    assert "spec.json is damaged" in capsys.readouterr().err
    assert main([str(tmp_path)]) == 2
