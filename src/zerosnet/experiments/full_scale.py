"""What was measured at full scale and is part of the package: shown where a reader has run nothing of that size.

recorded.json is made from stores of finished runs:  python -m zerosnet.experiments.full_scale STORE...
"""

import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

from zerosnet.experiments.definition import Experiment
from zerosnet.experiments.evidence import NOTHING, read_evidence
from zerosnet.experiments.measured import Measured, collect, measured_cell
from zerosnet.experiments.readings import Value
from zerosnet.experiments.registry import EXPERIMENTS
from zerosnet.training import Store

_FILE = "recorded.json"


def recorded() -> list[Measured]:
    """Tables at full scale of which at least one number was measured, with those cells."""
    data = json.loads(resources.files(__package__).joinpath(_FILE).read_text(encoding="utf-8"))
    return [_table(EXPERIMENTS[one["experiment"]], one["cells"]) for one in data if one["experiment"] in EXPERIMENTS]


def whole(table: Measured) -> Measured:
    """A recorded table with all cells of its experiment: what was not measured is there as not run."""
    known = {(cell.row, cell.column): cell for cell in table.cells}
    empty = collect(table.experiment, NOTHING, table.scale)
    return replace(empty, cells=tuple(known.get((cell.row, cell.column), cell) for cell in empty.cells))


def to_record(stores: Sequence[Store]) -> list[dict[str, Any]]:
    """What stores hold of the experiments at full scale: the values of every cell that has some."""
    evidence, found = read_evidence(stores), []
    for experiment in EXPERIMENTS.values():
        cells = [
            {"row": cell.row, "column": cell.column, "values": [value.to_json() for value in cell.values]}
            for cell in collect(experiment, evidence, "full").cells
            if any(value.run is not None for value in cell.values)
        ]
        if cells:
            found.append({"experiment": experiment.name, "cells": cells})
    return found


def _table(experiment: Experiment, cells: list[dict[str, Any]]) -> Measured:
    found = []
    for one in cells:
        declared = experiment.cell(one["row"], one["column"])
        if declared is not None:
            values = [Value.from_json(value) for value in one["values"]]
            runs = tuple(value.run for value in values if value.run is not None)
            found.append(measured_cell(declared, values, len(experiment.seeds), runs))
    return Measured(experiment, "full", tuple(found))


if __name__ == "__main__":
    text = json.dumps(to_record([Store(root) for root in sys.argv[1:]]), indent=1)
    (Path(__file__).parent / _FILE).write_text(text + "\n", encoding="utf-8")
