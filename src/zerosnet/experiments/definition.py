"""An experiment as a value: what is trained, what is measured, and what the paper printed."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from zerosnet.data import class_names
from zerosnet.errors import InputError, did_you_mean
from zerosnet.experiments.paper.printed import Printed
from zerosnet.experiments.readings import ACCURACY, Reading
from zerosnet.experiments.scales import Scale, TrainingPlan, scale
from zerosnet.numerics import Scheme
from zerosnet.training import RunSpec

SEEDS = (1, 2, 3)


@dataclass(frozen=True)
class Column:
    """A column of numbers; `ours` if the paper has none like it."""

    key: str
    title: str
    ours: bool = False


@dataclass(frozen=True)
class TableRow:
    """A row: what stands left of the numbers, one text for each of the experiment's heads.

    Attributes:
        zero_stable: The paper's word on it, or the root condition's in rows of our own; None if it makes no sense.
        group: Rows of one group are compared with each other, such as "56 layers".
        ours: The paper has no such row.
    """

    key: str
    labels: tuple[str, ...]
    scheme: Scheme | None = None
    zero_stable: bool | None = None
    group: str = ""
    ours: bool = False
    note: str = ""


@dataclass(frozen=True)
class Cell:
    """A number to be found: what the paper printed there, what to train for it and what to read of that run.

    Attributes:
        training: None if nothing is trained: `compute` gives the number, or there is only what the paper quotes.
        compute: The number without any run.
        note: Why there is nothing of ours, if there is nothing.
    """

    row: str
    column: str
    printed: Printed | None = None
    training: TrainingPlan | None = None
    reading: Reading = ACCURACY
    compute: Callable[[], float] | None = None
    note: str = ""


@dataclass(frozen=True)
class Folder:
    """A data set in a folder of images, told from others by the number of its classes."""

    name: str
    classes: int

    def check(self, root: Path, wanted_by: str) -> None:
        """Refuse another data set; a missing folder is left to its reader."""
        train = root / "train"
        found = len(class_names(train)) if train.is_dir() else self.classes
        if found != self.classes:
            raise InputError(f"{wanted_by} needs {self.name}: {self.classes} classes in {train}, found {found}")


@dataclass(frozen=True)
class Experiment:
    """A table or figure of the paper, or an experiment of our own.

    Attributes:
        reference: Its place in the paper; "ours" if it has none.
        what: What is measured, and in which unit.
        compared: How ours and the paper's are compared.
        heads: The titles of the rows' labels.
        footnotes: The paper's own.
        notes: What to know: places in which the paper is silent or wrong, or does something else than it writes.
    """

    name: str
    title: str
    reference: str
    what: str
    heads: tuple[str, ...]
    columns: tuple[Column, ...]
    rows: tuple[TableRow, ...]
    cells: tuple[Cell, ...]
    compared: str = "best test epoch, as the authors' code reports it; the last epoch is shown beside it"
    footnotes: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    seeds: tuple[int, ...] = SEEDS
    """At full scale."""
    needs: tuple[TrainingPlan, ...] = ()
    """Trained before all else, with seed 1: networks that others make their adversarial examples on."""
    command: str = ""
    """The command that measures it, if that is not `zerosnet reproduce`."""
    folder: Folder | None = None
    """The data set that a folder of images has to hold, if the runs are on one: the name imagefolder fits any."""

    def row(self, key: str) -> TableRow:
        return next(row for row in self.rows if row.key == key)

    def cell(self, row: str, column: str) -> Cell | None:
        return next((cell for cell in self.cells if (cell.row, cell.column) == (row, column)), None)

    def cell_specs(self, cell: Cell, at: "str | Scale") -> list[RunSpec]:
        """The runs of one cell, one per seed; none if the scale leaves it out."""
        chosen = scale(at)
        return [] if cell.training is None else chosen.specs(cell.training, self.seeds)

    def specs(self, at: "str | Scale" = "full") -> list[RunSpec]:
        """All runs, each once, in the order to be trained: what others need, then a seed of every row at a time."""
        each = [self.cell_specs(cell, at) for cell in self.cells]
        specs = [specs[i] for i in range(max(map(len, each), default=0)) for specs in each if i < len(specs)]
        return list({spec.id: spec for spec in [*self.needed_specs(at), *specs]}.values())

    def needed_specs(self, at: "str | Scale") -> list[RunSpec]:
        chosen = scale(at)
        if not any(self.cell_specs(cell, chosen) for cell in self.cells):
            return []
        whole = replace(chosen, only=())
        return [spec for training in self.needs for spec in whole.specs(training, (1,))[:1]]

    def protocols(self, at: "str | Scale" = "full") -> list[str]:
        """The robustness protocols that its cells are read from, at a scale."""
        return list(
            {cell.reading.protocol: None for cell in self.cells if cell.reading.protocol and self.cell_specs(cell, at)}
        )

    def attacked(self, protocol: str, at: "str | Scale") -> list[RunSpec]:
        """The runs that a protocol is needed of."""
        specs = [s for cell in self.cells if cell.reading.protocol == protocol for s in self.cell_specs(cell, at)]
        return list({spec.id: spec for spec in specs}.values())


def find_experiment(name: str, experiments: dict[str, Experiment]) -> Experiment:
    if name not in experiments:
        raise InputError(
            f"experiment is {name!r}{did_you_mean(name, experiments)}; expected one of {', '.join(experiments)}"
        )
    return experiments[name]
