"""A list of all experiments: their cost at a scale, from measured rates, and how much of them evidence holds.

training_rates.json comes with the package; `tools/package_numbers.py` writes it from benchmarks/results.
"""

import json
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import cache
from importlib import resources
from typing import Any

from zerosnet.data import source
from zerosnet.experiments.definition import Experiment
from zerosnet.experiments.evidence import Evidence
from zerosnet.experiments.measured import Measured, collect, recorded
from zerosnet.experiments.readings import Value, is_attacked
from zerosnet.experiments.registry import EXPERIMENTS
from zerosnet.experiments.scales import Scale, scale
from zerosnet.training import RunSpec

_BASIC = 110  # deeper networks are built of bottlenecks: only plain torch trains them, and each depth has its own rate
_TIMED_IMAGES = 50_000  # per epoch of the GPU's rates, 32 x 32 pixels each
# training images, and pixels of one over those of a 32 x 32 image
_SIZES = {
    "cifar10": (50_000, 1.0),
    "cifar100": (50_000, 1.0),
    "mnist": (60_000, 28**2 / 32**2),
    "digits": (1_442, 8**2 / 32**2),
    "mosaics": (6_000, 8**2 / 32**2),
}


# networks of several streams: only plain torch trains them, and every stream is a state to sum in every block
_STREAMS = {"_x0": 2, "streams": 4}


@dataclass(frozen=True)
class Cost:
    """Networks, epochs over all of them, and seconds of training (None if no rate was measured).

    Attributes:
        gpu_seconds: One H200, our own kernels if there are any, ten networks as one, three if they have 326 layers;
            attacks and start-up not counted.
        cpu_seconds: Two cores; only for embedded data.
    """

    networks: int
    epochs: int
    gpu_seconds: float | None
    cpu_seconds: float | None


def cost(specs: Iterable[RunSpec]) -> Cost:
    """Add up the cost of runs.

    The rate at other depths than 20 and 56 is on the line through the two. MNIST has a rate of its own. Networks of m
    streams are counted as m times plain torch's rate for one, an estimate: they were not timed on a GPU. Adversarial
    training is counted by its passes: seven steps on a 20-layer surrogate and two on the network, for one of the
    network alone.
    """
    runs = list(specs)
    gpu, cpu = [_gpu_seconds(run) for run in runs], [_cpu_seconds(run) for run in runs]
    return Cost(len(runs), sum(run.recipe.epochs for run in runs), _total(gpu), _total(cpu))


def is_native(spec: RunSpec) -> bool:
    """Tell whether a run's rate is that of our own kernels: basic blocks, 32 x 32 pixels and one stream."""
    usual = spec.dataset in _SIZES and _SIZES[spec.dataset][1] == 1.0
    return usual and _layers(spec.model) <= _BASIC and _streams(spec.model) == 1


def _gpu_seconds(spec: RunSpec) -> float | None:
    layers, settings = _layers(spec.model), spec.recipe.adversarial
    if spec.dataset not in _SIZES:
        return None
    if layers > _BASIC:
        return _bottleneck_seconds(spec, layers)
    passes = _of_depth(layers)
    if settings is not None:
        attacked = 20 if settings.surrogate is not None else layers
        passes = passes * (2 if settings.clean_step else 1) + settings.steps * _of_depth(attacked)
    if is_native(spec):
        return spec.recipe.epochs * passes * _SIZES[spec.dataset][0] / _TIMED_IMAGES
    against_native = _plain_epoch(spec.dataset) / _rates()["native"]["56"]
    return float(spec.recipe.epochs * passes * _streams(spec.model) * against_native)


def _plain_epoch(dataset: str) -> float:
    """Find plain torch's seconds per epoch at 56 layers: those of the data if timed, else by the number of pixels."""
    images, pixels = _SIZES[dataset]
    own = _rates().get(dataset)
    return float(own["56"] if own else _rates()["torch"]["56"] * pixels * images / _TIMED_IMAGES)


def _bottleneck_seconds(spec: RunSpec, layers: int) -> float | None:
    """Count a plain training at the rate of its depth; None if the depth was not timed."""
    rate = _rates()["torch"].get(str(layers))
    if rate is None or spec.recipe.adversarial is not None:
        return None
    images, pixels = _SIZES[spec.dataset]
    return float(spec.recipe.epochs * rate * pixels * images / _TIMED_IMAGES)


def _cpu_seconds(spec: RunSpec) -> float | None:
    if spec.dataset not in _SIZES or not source(spec.dataset).embedded:
        return None
    digits = float(_rates()["digits_on_two_cores"]["20"]) * _layers(spec.model) / 20
    return spec.recipe.epochs * digits * _SIZES[spec.dataset][0] / _SIZES["digits"][0]


@cache
def _rates() -> dict[str, Any]:
    """Read seconds per epoch and network, by the number of layers as text."""
    stored: dict[str, Any] = json.loads(resources.files(__package__).joinpath("training_rates.json").read_text("utf-8"))
    return stored


def _of_depth(layers: int) -> float:
    """Compute seconds per epoch on a GPU, on the line through the two depths that were timed."""
    shallow, deep = (float(_rates()["native"][depth]) for depth in ("20", "56"))
    return shallow + (deep - shallow) / 36 * (layers - 20)


def _streams(model: str) -> int:
    return next((count for part, count in _STREAMS.items() if part in model), 1)


def _layers(model: str) -> int:
    match = re.search(r"\d+", model)
    assert match is not None
    return int(match[0])


def _total(parts: list[float | None]) -> float | None:
    known = [part for part in parts if part is not None]
    return sum(known) if len(known) == len(parts) else None


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
