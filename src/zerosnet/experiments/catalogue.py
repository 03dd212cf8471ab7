"""A list of all experiments, with their cost at a scale and how much of them evidence holds."""

from dataclasses import asdict, dataclass
from typing import Any

from zerosnet.experiments.costs import Cost, cost
from zerosnet.experiments.definition import Experiment
from zerosnet.experiments.evidence import Evidence
from zerosnet.experiments.readings import is_attacked
from zerosnet.experiments.registry import EXPERIMENTS
from zerosnet.experiments.scales import Scale, scale


@dataclass(frozen=True)
class Listed:
    """An experiment at a scale: runs wanted and ended, protocol measurements wanted and done, cost of all and the rest.

    Attributes:
        status: "computed" (needs no run), "not at this scale", "not run", "partial" or "done".
        waiting: Ids of the runs that are not there, in the order in which they would be trained.
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

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def listing(evidence: Evidence, at: str | Scale = "full") -> list[Listed]:
    """All experiments, in the order of the registry."""
    return [_listed(one, evidence, scale(at)) for one in EXPERIMENTS.values()]


def _listed(one: Experiment, evidence: Evidence, at: Scale) -> Listed:
    specs = one.specs(at)
    ended = {spec.id for spec in specs if evidence.has_ended(spec)}
    attacks = [(spec, protocol) for protocol in one.protocols(at) for spec in one.attacked(protocol, at)]
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
    )


def _status(one: Experiment, wanted: int, done: int, attacks_left: int) -> str:
    if not wanted:
        return "computed" if any(cell.compute for cell in one.cells) else "not at this scale"
    if not done:
        return "not run"
    return "done" if done == wanted and not attacks_left else "partial"
