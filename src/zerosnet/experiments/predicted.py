"""What was predicted of the networks of a table, to stand beside what was measured."""

from dataclasses import asdict, dataclass
from typing import Any

from zerosnet.errors import InputError
from zerosnet.experiments.definition import Cell
from zerosnet.experiments.evidence import Evidence
from zerosnet.experiments.measured import Measured
from zerosnet.experiments.readings import ACCURACY, CLEAN_UNDER_NOISE
from zerosnet.experiments.registered import Register
from zerosnet.experiments.run_networks import wiring_of_run
from zerosnet.numerics import Wiring, load_law
from zerosnet.training import RunSpec

_CLEAN = (ACCURACY, CLEAN_UNDER_NOISE)


@dataclass(frozen=True)
class Predicted:
    """What was predicted of a row's networks.

    Attributes:
        effective_depth: From the coefficients.
        blocks: How many blocks they have.
        accuracy: Test accuracy in per cent; None if the law was not calibrated for data, recipe or network.
        column: The column that the accuracy is a prediction of; None if no column has it, as under noise.
        registered: The file in which it was written down before training; None for what the law forecasts today. A
            network that the law was fitted on is then predicted by the law that is fitted to the others.
    """

    effective_depth: float
    blocks: int
    accuracy: float | None = None
    column: str | None = None
    registered: str | None = None

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def predicted_rows(table: Measured, evidence: Evidence) -> dict[str, Predicted]:
    """Collect what was predicted of the rows of a table; rows whose coefficients tell nothing are left out."""
    register, found = Register(evidence), dict[str, Predicted]()
    for cell in sorted(table.experiment.cells, key=lambda cell: cell.reading not in _CLEAN):
        if (known := found.get(cell.row)) is not None and known.accuracy is not None:
            continue
        one = _of_cell(table, cell, register)
        if one is not None and (known is None or one.accuracy is not None):
            found[cell.row] = one
    return found


def _of_cell(table: Measured, cell: Cell, register: Register) -> Predicted | None:
    specs = table.experiment.cell_specs(cell, table.scale)
    wiring = _wiring(specs[0]) if specs else None
    if wiring is None:
        return None
    column = cell.column if cell.reading in _CLEAN else None
    depth, blocks = wiring.effective_depth(), len(wiring.steps)
    known = next((one for spec in specs if (one := register.find(spec)) is not None), None)
    if known is not None:
        return Predicted(depth, blocks, known.accuracy, column, known.file)
    return Predicted(depth, blocks, _forecast(specs[0], wiring, "best" if cell.reading == ACCURACY else "last"), column)


def _forecast(spec: RunSpec, wiring: Wiring, epoch: str) -> float | None:
    """Ask the law, fitted to all other networks; None if it was not calibrated for a run."""
    law = load_law(epoch=epoch)
    unusual = spec.recipe.name != law.recipe or spec.changes or spec.validation is not None
    if unusual or spec.init_growth is not None:
        return None
    fitted = law.fitted(wiring) if spec.dataset == law.dataset else None
    return law.predict(wiring, spec.dataset).accuracy if fitted is None else fitted.left_out


def _wiring(spec: RunSpec) -> Wiring | None:
    try:
        return wiring_of_run(spec)
    except InputError:  # a size that no wiring is known for
        return None
