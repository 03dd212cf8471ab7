"""What stores hold of an experiment, beside what the paper printed."""

import json

import pytest
from tests.experiments.made_up import finish
from tests.measured_runs import RUNS, needs_runs

from zerosnet.experiments import EXPERIMENTS, Value, collect, read_evidence, recorded
from zerosnet.experiments.readings import concerns
from zerosnet.robustness import ProtocolResult, ResultRow
from zerosnet.training import Store

COMPARISON, OPT, C10 = EXPERIMENTS["table-comparison"], "ZeroSNet-Opt 20", "C10 (%)"


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "runs")


def specs_of(row: str, column: str = C10):
    return COMPARISON.cell_specs(COMPARISON.cell(row, column), "full")


def test_three_seeds_give_mean_deviation_and_difference_last_and_best(store):
    for spec, last, best in zip(specs_of(OPT), (0.9158, 0.9203, 0.9171), (0.9169, 0.9207, 0.9194)):
        finish(store, spec, last, best)
    cell = collect(COMPARISON, read_evidence(store)).cell(OPT, C10)
    assert cell.status == "measured"
    assert (str(cell.last), str(cell.best), cell.last.n) == ("91.77±0.23", "91.90±0.19", 3)
    assert cell.difference == pytest.approx(91.90 - 92.01)
    assert cell.difference_in_deviations == pytest.approx(-0.11 / 0.35)


def test_status_tells_not_run_from_partly_run(store):
    finish(store, specs_of(OPT)[1], 0.9)
    found = collect(COMPARISON, read_evidence(store))
    assert found.cell(OPT, C10).status == "partial"
    assert [value.seed for value in found.cell(OPT, C10).values] == [2]
    assert found.cell("LM-ResNet 20", C10).status == "not run"
    assert (found.done, found.complete) == (1, False)


def test_a_quoted_resnet_without_pre_activation_is_never_filled_with_ours(store):
    cell = collect(COMPARISON, read_evidence(store)).cell("ResNet 20", C10)
    assert cell.status == "quoted only" and cell.printed.quoted and cell.runs == ()
    assert collect(COMPARISON, read_evidence(store)).cell("PreResNet 20", C10).status == "not run"


def test_scales_are_never_mixed(store):
    finish(store, specs_of(OPT)[0], 0.9)
    assert collect(COMPARISON, read_evidence(store), "reduced").done == 0
    assert collect(EXPERIMENTS["table-imagenet"], read_evidence(store), "demo").cells[0].status == "not at this scale"


def test_the_finished_run_of_two_stores_counts(store, tmp_path):
    spec = specs_of(OPT)[0]
    Store(tmp_path / "begun").claim(spec).release()
    finish(store, spec, 0.9)
    evidence = read_evidence([Store(tmp_path / "begun"), store])
    assert evidence.get(spec).record.status == "finished"
    assert collect(COMPARISON, evidence).cell(OPT, C10).values[0].last == pytest.approx(90)


def test_a_diverged_run_gives_no_number(store):
    from zerosnet.training import Result

    with store.claim(specs_of(OPT)[0]) as run:
        run.finish(Result("diverged", 3, 1.0, reason="loss not finite"))
    assert collect(COMPARISON, read_evidence(store)).cell(OPT, C10).values == ()


def test_gap_is_training_less_test(store):
    gap = EXPERIMENTS["table-generalisation-gap"]
    row = gap.rows[0].key
    finish(store, gap.cell_specs(gap.cell(row, "Gap"), "full")[0], 0.72, 0.73, train_accuracy=0.99)
    found = collect(gap, read_evidence(store))
    assert found.cell(row, "Gap").last.mean == pytest.approx(27)
    assert found.cell(row, "Training").last.mean == pytest.approx(99)


def test_parameters_are_counted(store):
    found = collect(EXPERIMENTS["table-parameters"], read_evidence(store))
    assert found.cell("20", "ZeroSNet").last.mean == pytest.approx((278_490 - 1_088) / 1e6)
    assert found.complete


def test_moduli_are_computed_as_printed(store):
    for cell in collect(EXPERIMENTS["table-coefficients"], read_evidence(store)).cells:
        assert abs(cell.difference) <= cell.printed.rounding + 1e-9


@needs_runs
def test_recorded_results_are_found():
    cell = collect(COMPARISON, read_evidence(Store(RUNS))).cell(OPT, C10)
    assert str(cell.best) == "91.90±0.19"


def test_tables_go_to_json(store):
    data = json.loads(json.dumps(collect(COMPARISON, read_evidence(store)).to_json()))
    assert data["runs_wanted"] == 123 and data["cells"][0]["status"] == "not run"


def test_recorded_numbers_stand_in_declared_cells():
    tables = recorded()
    assert tables
    for table in tables:
        for cell in table.cells:
            assert table.experiment.cell(cell.row, cell.column) is not None
            assert cell.values and cell.compared is not None


def test_failed_checks_go_into_the_record_and_come_out_of_it():
    doubtful, plain = Value("run", 1, 30.0, warnings=("paper-pgd: too good",)), Value("run", 1, 90.0, 91.0)
    for value in (doubtful, plain):
        assert Value.from_json(json.loads(json.dumps(value.to_json()))) == value
    assert "warnings" not in plain.to_json()


def test_a_failed_check_marks_the_attacks_that_it_names():
    white, black = (ResultRow(method, method, 0.5, 50, 100, access="any", eps=0.1) for method in ("pgd-20", "transfer"))
    result = ProtocolResult("paper-pgd", (white, black))
    assert [concerns("transfer 93.45% at 0.01, clean 86.91% at 0", row, result) for row in (white, black)] == [0, 1]
    assert all(concerns("wrong units", row, result) for row in (white, black))
