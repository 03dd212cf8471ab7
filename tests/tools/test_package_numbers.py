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
    on_gpu, on_cpu = (read_json(BENCHMARKS / f"training-{device}.json") for device in ("cuda", "cpu"))
    deep = BENCHMARKS / "others-cuda.json"
    others = read_json(deep) if deep.exists() else None
    assert read_json(RATES) == training_rates(on_gpu, on_cpu, others), "make results"


def test_bottleneck_networks_have_the_faster_rate_of_compiled_and_not():
    gpu = {"environment": {"gpu": {"names": ["GPU"]}}, "rows": []}
    shapes = [(56, 10, "cifar10", 1.0), (164, 10, "cifar10", 3.0), (164, 10, "cifar10", 2.5), (326, 3, "cifar10", 9.0)]
    names = ("layers", "replicas", "dataset", "seconds_per_epoch_and_network")
    others = {"rows": [dict(zip(names, shape)) for shape in shapes]}
    assert training_rates(gpu, {"networks": 1, "seconds": 8.0}, others)["torch"] == {"164": 2.5}


def test_a_damaged_store_is_refused(tmp_path, capsys):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "spec.json").write_text("{")
    assert main([str(tmp_path), str(BENCHMARKS)]) == 2
    assert "spec.json is damaged" in capsys.readouterr().err
    assert main([str(tmp_path)]) == 2
