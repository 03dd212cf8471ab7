"""Helpers of the declarations: from printed tables and the paper's ten coefficient rows to rows and cells."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from zerosnet.experiments.definition import Cell, Column, TableRow
from zerosnet.experiments.paper.printed import parse_printed
from zerosnet.experiments.readings import Reading
from zerosnet.experiments.scales import TrainingPlan
from zerosnet.numerics import OPTIMUM, PAPER_ROWS, PaperRow

STABLE = {"Yes": True, "No": False}
MODULI = "Roots' moduli"
QUOTED = "† taken by the paper from Lu et al. (2018), not run by it"
PRE_ACTIVATION = "* ResNet with pre-activation (PreResNet)"
CONFOUNDED = (
    "only six of the ten rows are consistent schemes, those with a lambda (1/4, -1/5, -1/2, 1/2, 10, -9/5): stability, "
    "consistency and the size of beta change together from row to row"
)

Measures = Sequence[tuple[Column, Reading]]
Line = tuple[TableRow, Sequence[Cell]]


def paper_row(moduli: str) -> PaperRow:
    """The coefficient row with these moduli, however the table writes and orders them ("1, 0.33, 0.33")."""
    wanted = sorted(map(float, moduli.split(",")))
    return next(row for row in PAPER_ROWS if sorted(map(float, row.printed_moduli)) == wanted)


def zerosnet(
    layers: int, row: PaperRow, dataset: str = "cifar10", recipe: str = "paper", *, demo: bool
) -> TrainingPlan:
    """ZeroSNet with the coefficients of a row; the optimum by its own name, so that tables share its runs."""
    if row.scheme == OPTIMUM:
        return TrainingPlan(f"zerosnet{layers}_opt", dataset, recipe, demo=demo)
    return TrainingPlan(f"zerosnet{layers}", dataset, recipe, row.scheme, demo=demo)


def labelled(record: Mapping[str, str], heads: Sequence[str], **fields: object) -> TableRow:
    """A row of the paper: the texts under `heads`, and its scheme and verdict if the table has them."""
    paper = paper_row(record[moduli]) if (moduli := _moduli_head(record)) else None
    labels = tuple(record[head] for head in heads)
    settings = {
        "key": " ".join(label for head, label in zip(heads, labels) if head != "Z. S."),
        "scheme": None if paper is None else paper.scheme,
        "zero_stable": STABLE.get(record.get("Z. S.", "")),
        **fields,
    }
    return TableRow(labels=labels, **settings)  # type: ignore[arg-type]


def cells(row: TableRow, record: Mapping[str, str], training: TrainingPlan | None, measures: Measures) -> list[Cell]:
    """Make one cell per column: the printed number if the table has one, and the reading of the row's training."""
    return [
        Cell(row.key, column.key, parse_printed(record.get(column.key, "")), training, reading)
        for column, reading in measures
    ]


def table(heads: Sequence[str], columns: Sequence[Column] | Measures, lines: Iterable[Line]) -> dict[str, Any]:
    """The fields of an `Experiment` that its lines make: heads, columns, rows and cells."""
    found = list(lines)
    return {
        "heads": tuple(heads),
        "columns": tuple(one if isinstance(one, Column) else one[0] for one in columns),
        "rows": tuple(row for row, _ in found),
        "cells": tuple(cell for _, of_row in found for cell in of_row),
    }


def _moduli_head(record: Mapping[str, str]) -> str | None:
    return next((head for head in (MODULI, "Moduli of roots") if head in record), None)
