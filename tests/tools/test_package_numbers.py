"""The numbers in the package are those of the records that lie beside it."""

import json

import pytest
from tests.docs.blocks import ROOT
from tests.measured_runs import RUNS, needs_runs
from tools.package_numbers import (
    ACCURACIES,
    RATES,
    RECORDED,
    RUN_TIMES,
    accuracies,
    main,
    recorded_tables,
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


@needs_benchmarks
def test_the_run_times_are_those_of_the_benchmark():
    assert read_json(RUN_TIMES) == run_times(read_json(BENCHMARKS / "models-cuda.json")), "make results"


@needs_benchmarks
def test_the_training_rates_are_those_of_the_benchmarks():
    on_gpu, on_cpu = (read_json(BENCHMARKS / f"training-{device}.json") for device in ("cuda", "cpu"))
    assert read_json(RATES) == training_rates(on_gpu, on_cpu), "make results"


def test_a_damaged_store_is_refused(tmp_path, capsys):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "spec.json").write_text("{")
    assert main([str(tmp_path), str(BENCHMARKS)]) == 2
    assert "spec.json is damaged" in capsys.readouterr().err
    assert main([str(tmp_path)]) == 2
