"""Run experiments: train what has not been trained, attack it, switch its blocks off; all of it kept in the store."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

import torch

from zerosnet.experiments.ablation import ablate, can_ablate
from zerosnet.experiments.definition import Experiment
from zerosnet.experiments.readings import attack_options
from zerosnet.experiments.scales import Scale, scale
from zerosnet.training import (
    MOST,
    Clock,
    Engine,
    Job,
    Lines,
    Local,
    Options,
    Progress,
    RunRecord,
    RunSpec,
    Store,
    attack_runs,
    distinct,
    read_attack,
)

Item = TypeVar("Item")
DEMO = ("table-zerosnet-cifar10", "table-robustness", "table-constant-noise", "table-fgsm")
"""What `zerosnet reproduce` runs when it is asked for nothing in particular; all read the same networks."""


@dataclass(frozen=True)
class Left:
    """The work that is left: runs to train, and pairs of a run and a protocol to attack."""

    runs: int
    attacks: int

    @property
    def nothing(self) -> bool:
        return self.runs == 0 and self.attacks == 0


def reproduce(
    experiments: Sequence[Experiment],
    at: str | Scale,
    store: Store,
    options: Options,
    clock: Clock | None = None,
    progress: Progress | None = None,
    engine: Engine | None = None,
) -> Left:
    """Take experiments as far as the clock allows; whatever is there already is not done again.

    Runs that several experiments need are run once. Surrogates, on which others make their examples, are trained first.
    """
    clock, progress, chosen = clock or Clock(), progress or Lines(quiet=True), scale(at)
    engine = engine or Local()
    if not isinstance(engine, Local):  # its workers may have another working directory
        store, options = Store(store.root.resolve()), replace(options, data=options.data and options.data.resolve())
    _check_folders(experiments, chosen, store, options.data)
    device = engine.device(options.device)
    places = engine.places(device)
    needed = distinct(spec for one in experiments for spec in one.needed_specs(chosen))
    wanted = distinct(spec for one in experiments for spec in one.specs(chosen))
    for stage in (needed, wanted):
        waiting = [spec for spec in stage if not _has_ended(store, spec)]
        if waiting and not clock.must_stop():
            engine.train(waiting, store, options, clock, progress)
    if not clock.must_stop():
        attacks = _attacks(experiments, chosen, store, device, options.data, places)
        records = [_record(store, spec) for spec in wanted]
        finished = [record for record in records if record is not None and can_ablate(record)]
        ablations = (partial(ablate, some, device, options.data) for some in _shared(finished, places, len(finished)))
        engine.do([*attacks, *ablations], device, clock, progress)
    return what_is_left(experiments, chosen, store)


def _check_folders(experiments: Sequence[Experiment], at: Scale, store: Store, data: Path | None) -> None:
    """Refuse, before anything is trained, a folder of images that is not what an experiment's open runs are about."""
    for one in experiments:
        if one.folder and data and not all(_has_ended(store, spec) for spec in one.specs(at)):
            one.folder.check(data, one.name)


def what_is_left(experiments: Sequence[Experiment], at: str | Scale, store: Store) -> Left:
    chosen = scale(at)
    specs = distinct(spec for one in experiments for spec in one.specs(chosen))
    runs = sum(not _has_ended(store, spec) for spec in specs)
    attacks = {
        (spec.id, protocol)
        for one in experiments
        for protocol in one.protocols(chosen)
        for spec in one.attacked(protocol, chosen)
        if not _attacked(store, spec, protocol, chosen)
    }
    return Left(runs, len(attacks))


def _attacks(
    experiments: Sequence[Experiment], at: Scale, store: Store, device: torch.device, data: Path | None, places: int
) -> Iterator[Job]:
    """Make a job for finished networks that wait for a protocol, as many as are attacked side by side."""
    for protocol in dict.fromkeys(protocol for one in experiments for protocol in one.protocols(at)):
        specs = distinct(spec for one in experiments for spec in one.attacked(protocol, at))
        waiting = [
            record.id
            for spec in specs
            if (record := _record(store, spec)) is not None
            and (record.folder / "weights.safetensors").exists()
            and not _attacked(store, spec, protocol, at)
        ]
        images = attack_options(protocol, at.images).images
        for batch in _shared(waiting, places, MOST):
            measure = partial(attack_runs, store, batch, protocol, device=device, data=data, images=images)
            yield partial(_attack, measure)


def _attack(measure: Callable[..., object], clock: Clock, say: Callable[[str], None]) -> None:
    measure(say=say)


def _shared(items: Sequence[Item], places: int, most: int) -> Iterator[Sequence[Item]]:
    """Share items out among places, at most so many at a time."""
    size = max(1, min(most, -(-len(items) // places)))
    return (items[start : start + size] for start in range(0, len(items), size))


def _attacked(store: Store, spec: RunSpec, protocol: str, at: Scale) -> bool:
    """Check if a protocol has been run; a network that diverged cannot be attacked."""
    record = _record(store, spec)
    if record is None or record.result is None:
        return False
    return record.status == "diverged" or read_attack(record, protocol, attack_options(protocol, at.images)) is not None


def _has_ended(store: Store, spec: RunSpec) -> bool:
    record = _record(store, spec)
    return record is not None and record.result is not None


def _record(store: Store, spec: RunSpec) -> RunRecord | None:
    return store.find(store.folder(spec).name) if (store.folder(spec) / "spec.json").exists() else None
