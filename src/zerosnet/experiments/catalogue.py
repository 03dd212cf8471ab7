"""A list of all experiments: their cost at a scale, and how much of them evidence holds."""

from dataclasses import asdict, dataclass
from typing import Any

from zerosnet.experiments.costs import Cost, cost
from zerosnet.experiments.definition import Experiment
from zerosnet.experiments.evidence import Evidence
from zerosnet.experiments.measured import Measured, collect, recorded
from zerosnet.experiments.readings import Value, is_attacked
from zerosnet.experiments.registry import EXPERIMENTS
from zerosnet.experiments.scales import Scale, scale


@dataclass(frozen=True)
class Listed:
    """An experiment at a scale: runs wanted and ended, protocol measurements wanted and done, cost of all and the rest.

    Attributes:
        status: "computed" (needs no run), "not at this scale", "not run", "partial" or "done".
        waiting: Ids of the runs that are not there, in the order in which they would be trained.
        numbers: How many numbers the paper prints there; all cells if it prints none.
        measured: How many of them were measured at full scale, here or when the package was made.
        seeds: The fewest and the most seeds of a measured number; None if no runs are behind them.
    """

    name: str
    title: str
    reference: str
    scale: str
    status: str
    runs: int
    runs_done: int
    attacks: int
    attacks_done: int
    cost: Cost
    left: Cost
    waiting: tuple[str, ...]
    numbers: int
    measured: int
    seeds: tuple[int, int] | None

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def listing(evidence: Evidence, at: str | Scale = "full") -> list[Listed]:
    """All experiments, in the order of the registry."""
    known = {table.experiment.name: table for table in recorded()}
    return [_listed(one, evidence, scale(at), known.get(one.name)) for one in EXPERIMENTS.values()]


def _listed(one: Experiment, evidence: Evidence, at: Scale, known: Measured | None) -> Listed:
    specs = one.specs(at)
    ended = {spec.id for spec in specs if evidence.has_ended(spec)}
    attacks = [(spec, protocol) for protocol in one.protocols(at) for spec in one.attacked(protocol, at)]
    values = _full_scale_values(one, evidence, known)
    seeds = [len(each) for each in values if each and each[0].run is not None]
    attacked = sum(is_attacked(evidence, spec, protocol, at.images) for spec, protocol in attacks)
    return Listed(
        name=one.name,
        title=one.title,
        reference=one.reference,
        scale=at.name,
        status=_status(one, len(specs), len(ended), len(attacks) - attacked),
        runs=len(specs),
        runs_done=len(ended),
        attacks=len(attacks),
        attacks_done=attacked,
        cost=cost(specs),
        left=cost(spec for spec in specs if spec.id not in ended),
        waiting=tuple(spec.id for spec in specs if spec.id not in ended),
        numbers=len(values),
        measured=sum(bool(each) for each in values),
        seeds=(min(seeds), max(seeds)) if seeds else None,
    )


def _full_scale_values(one: Experiment, evidence: Evidence, known: Measured | None) -> list[tuple[Value, ...]]:
    """The values of every printed number at full scale: those of the store, or those that come with the package."""
    cells = collect(one, evidence).cells
    printed = [cell for cell in cells if cell.printed is not None] or cells
    found = []
    for cell in printed:
        other = None if known is None else known.cell(cell.row, cell.column)
        found.append(max(cell.values, () if other is None else other.values, key=len))
    return found


def _status(one: Experiment, wanted: int, done: int, attacks_left: int) -> str:
    if not wanted:
        return "computed" if any(cell.compute for cell in one.cells) else "not at this scale"
    if not done:
        return "not run"
    return "done" if done == wanted and not attacks_left else "partial"
