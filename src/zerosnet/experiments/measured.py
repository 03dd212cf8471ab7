"""Tables of measured numbers: every cell of an experiment with its values, beside what the paper printed.

recorded.json holds what was measured at full scale when the package was made; `tools/package_numbers.py` writes it.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import resources
from typing import Any

from zerosnet.experiments.definition import Cell, Experiment
from zerosnet.experiments.evidence import NOTHING, Evidence
from zerosnet.experiments.paper.printed import Printed
from zerosnet.experiments.readings import ACCURACY, Reading, Value, read
from zerosnet.experiments.registry import EXPERIMENTS
from zerosnet.experiments.scales import Scale, scale
from zerosnet.experiments.statistics import Summary, summarise

Number = tuple[Reading, tuple[str, ...]]


@dataclass(frozen=True)
class MeasuredCell:
    """A cell: the values of its seeds (accuracies in per cent), their summaries, and the paper's number.

    Attributes:
        wanted: How many seeds the scale asks for; 1 for what is computed without a run.
        last: At the last epoch.
        best: At the best test epoch, if that was recorded.
        runs: Ids of the runs that were looked for, whether they are there or not.
        reading: What is read of them.
    """

    row: str
    column: str
    printed: Printed | None
    values: tuple[Value, ...]
    wanted: int
    last: Summary | None
    best: Summary | None
    runs: tuple[str, ...]
    note: str = ""
    reading: Reading = ACCURACY

    @property
    def number(self) -> Number | None:
        """A key for this number: what was read of which runs. None if it is not read of runs."""
        runs = tuple(value.run for value in self.values if value.run is not None) or self.runs
        return (self.reading, runs) if runs else None

    @property
    def status(self) -> str:
        if self.values:
            return "measured" if len(self.values) >= self.wanted else "partial"
        if self.wanted:
            return "not run"
        return "quoted only" if self.printed is not None and self.note else "not at this scale"

    @property
    def compared(self) -> Summary | None:
        """The number to compare with the printed one: the best epoch, as in the paper, or else the last."""
        return self.best or self.last

    @property
    def doubtful(self) -> bool:
        """True if a sanity check failed for an attack behind one of the values."""
        return any(value.warnings for value in self.values)

    @property
    def difference(self) -> float | None:
        """Ours less the paper's."""
        if self.compared is None or self.printed is None:
            return None
        return self.compared.mean - self.printed.value

    @property
    def difference_in_deviations(self) -> float | None:
        """The difference in units of the larger of the two deviations; None if neither is known."""
        if self.difference is None or self.compared is None or self.printed is None:
            return None
        deviations = [d for d in (self.compared.deviation, self.printed.deviation) if d]
        return self.difference / max(deviations) if deviations else None

    def to_json(self) -> dict[str, Any]:
        return {
            "row": self.row,
            "column": self.column,
            "status": self.status,
            "printed": None if self.printed is None else self.printed.to_json(),
            "values": [value.to_json() for value in self.values],
            "wanted": self.wanted,
            "last": None if self.last is None else self.last.to_json(),
            "best": None if self.best is None else self.best.to_json(),
            "difference": self.difference,
            "difference_in_deviations": self.difference_in_deviations,
            "runs": list(self.runs),
            "note": self.note,
        }


@dataclass(frozen=True)
class Measured:
    """An experiment at a scale, as far as it was run."""

    experiment: Experiment
    scale: str
    cells: tuple[MeasuredCell, ...]

    def cell(self, row: str, column: str) -> MeasuredCell | None:
        return next((cell for cell in self.cells if (cell.row, cell.column) == (row, column)), None)

    @property
    def wanted(self) -> int:
        return len({run for cell in self.cells for run in cell.runs})

    @property
    def done(self) -> int:
        """Runs that gave at least one number."""
        return len({value.run for cell in self.cells for value in cell.values if value.run is not None})

    @property
    def warnings(self) -> dict[str, list[str]]:
        """The sanity checks that failed for the attacks behind its numbers, by run."""
        failed: dict[str, dict[str, None]] = {}
        for value in (value for cell in self.cells for value in cell.values):
            if value.run is not None and value.warnings:
                failed.setdefault(value.run, {}).update(dict.fromkeys(value.warnings))
        return {run: list(lines) for run, lines in failed.items()}

    @property
    def complete(self) -> bool:
        return all(cell.status in ("measured", "not at this scale", "quoted only") for cell in self.cells)

    def to_json(self) -> dict[str, Any]:
        return {
            "experiment": self.experiment.name,
            "scale": self.scale,
            "runs_wanted": self.wanted,
            "runs_done": self.done,
            "complete": self.complete,
            "cells": [cell.to_json() for cell in self.cells],
        }


def collect(experiment: Experiment, evidence: Evidence, at: str | Scale = "full") -> Measured:
    """Make the table of an experiment at a scale, of the runs without a damaged file."""
    chosen = scale(at)
    cells = (_collect(experiment, cell, evidence, chosen) for cell in experiment.cells)
    return Measured(experiment, chosen.name, tuple(cells))


def _collect(experiment: Experiment, cell: Cell, evidence: Evidence, at: Scale) -> MeasuredCell:
    runs = tuple(spec.id for spec in experiment.cell_specs(cell, at))
    if cell.compute is not None:
        return measured_cell(cell, [Value(None, None, cell.compute())], 1, runs)
    found = (read(evidence.sound[run], cell.reading, at.images) for run in runs if run in evidence.sound)
    return measured_cell(cell, [value for value in found if value is not None], len(runs), runs)


def measured_cell(cell: Cell, values: Sequence[Value], wanted: int, runs: tuple[str, ...]) -> MeasuredCell:
    """A cell with what was found for it."""
    best = [value.best for value in values if value.best is not None]
    return MeasuredCell(
        row=cell.row,
        column=cell.column,
        printed=cell.printed,
        values=tuple(values),
        wanted=wanted,
        last=summarise([value.last for value in values]),
        best=summarise(best) if len(best) == len(values) else None,
        runs=runs,
        note=cell.note,
        reading=cell.reading,
    )


def recorded() -> list[Measured]:
    """Tables at full scale that come with the package, with those cells that were measured."""
    data = json.loads(resources.files(__package__).joinpath("recorded.json").read_text(encoding="utf-8"))
    return [_table(EXPERIMENTS[one["experiment"]], one["cells"]) for one in data if one["experiment"] in EXPERIMENTS]


def whole(table: Measured) -> Measured:
    """A recorded table with all cells of its experiment: what was not measured is there as not run."""
    known = {(cell.row, cell.column): cell for cell in table.cells}
    empty = collect(table.experiment, NOTHING, table.scale)
    return replace(empty, cells=tuple(known.get((cell.row, cell.column), cell) for cell in empty.cells))


def _table(experiment: Experiment, cells: list[dict[str, Any]]) -> Measured:
    found = []
    for one in cells:
        declared = experiment.cell(one["row"], one["column"])
        if declared is not None:
            values = [Value.from_json(value) for value in one["values"]]
            runs = tuple(value.run for value in values if value.run is not None)
            found.append(measured_cell(declared, values, len(experiment.seeds), runs))
    return Measured(experiment, "full", tuple(found))
