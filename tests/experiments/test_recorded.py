"""The recorded numbers of the package are those of the runs that lie beside it."""

import json
from importlib import resources

from tests.measured_runs import RUNS, needs_runs

from zerosnet.experiments.full_scale import recorded, to_record
from zerosnet.experiments.readings import Value
from zerosnet.training import Store


def test_recorded_numbers_stand_in_declared_cells():
    tables = recorded()
    assert tables
    for table in tables:
        for cell in table.cells:
            assert table.experiment.cell(cell.row, cell.column) is not None
            assert cell.values and cell.compared is not None


@needs_runs
def test_the_file_is_what_the_runs_say():
    packaged = json.loads(resources.files("zerosnet.experiments").joinpath("recorded.json").read_text())
    assert packaged == json.loads(json.dumps(to_record([Store(RUNS)]))), (
        "make it anew: python -m zerosnet.experiments.full_scale results/runs"
    )


def test_failed_checks_go_into_the_record_and_come_out_of_it():
    doubtful, plain = Value("run", 1, 30.0, warnings=("paper-pgd: too good",)), Value("run", 1, 90.0, 91.0)
    for value in (doubtful, plain):
        assert Value.from_json(json.loads(json.dumps(value.to_json()))) == value
    assert "warnings" not in plain.to_json()
