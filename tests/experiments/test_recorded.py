"""The recorded numbers of the package."""

import json

from zerosnet.experiments import recorded
from zerosnet.experiments.readings import Value


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
