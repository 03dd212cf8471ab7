"""Run experiments: train what has not been trained, attack it, switch its blocks off; all of it kept in the store."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

import torch

from zerosnet.errors import InputError
from zerosnet.experiments.ablation import ablate, can_ablate
from zerosnet.experiments.definition import Experiment
from zerosnet.experiments.evidence import Evidence, read_evidence
from zerosnet.experiments.readings import attack_options, is_attacked
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
    RunSpec,
    Store,
    attack_runs,
    cores,
    distinct,
    remove_checkpoints,
)

Item = TypeVar("Item")
DEMO = ("mosaics",)
"""Experiments that `zerosnet reproduce` runs by default."""


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
) -> Evidence:
    """Take experiments as far as the clock allows; return what the store holds then.

    What is there already is not done again, and runs that several experiments want are run once. Networks that others
    make their adversarial examples on are trained first. A damaged run is reported and left as it is.
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
        waiting = _not_ended(store, stage)
        if waiting and not clock.must_stop():
            engine.train(waiting, store, options, clock, progress)
    evidence = read_evidence(store)
    for problem in evidence.problems:
        progress.report(problem)
    if clock.must_stop():
        return evidence
    attacks = _attacks(experiments, chosen, store, evidence, device, options.data, places)
    runs = [evidence.get(spec) for spec in wanted]
    finished = [run.record for run in runs if run is not None and can_ablate(run.record)]
    at_once = cores() if device.type == "cpu" else len(finished)  # small jobs, for an even bar
    ablations = (partial(ablate, some, device, options.data) for some in _shared(finished, places, max(1, at_once)))
    jobs: list[Job] = [*attacks, *ablations]
    if not jobs:
        return evidence
    engine.do(jobs, device, clock, progress)
    return read_evidence(store)


def _check_folders(experiments: Sequence[Experiment], at: Scale, store: Store, data: Path | None) -> None:
    """Refuse, before anything is trained, a folder of images that is not what an experiment's open runs are about."""
    for one in experiments:
        if one.folder and data and _not_ended(store, one.specs(at)):
            one.folder.check(data, one.name)


def _not_ended(store: Store, specs: Sequence[RunSpec]) -> list[RunSpec]:
    """List the specs whose runs have still to be trained; a run that cannot be read is not one of them.

    Checkpoints that a kill just after the end of a run has left are removed.
    """
    waiting = []
    for spec in specs:
        try:
            record = store.get(spec)
        except InputError:
            continue
        if record is None or record.result is None:
            waiting.append(spec)
        else:
            remove_checkpoints(record.folder)
    return waiting


def what_is_left(experiments: Sequence[Experiment], at: str | Scale, evidence: Evidence) -> Left:
    """Count the runs and attacks of experiments that evidence does not hold."""
    chosen = scale(at)
    specs = distinct(spec for one in experiments for spec in one.specs(chosen))
    runs = sum(not evidence.has_ended(spec) for spec in specs)
    attacks = {
        (spec.id, protocol)
        for one in experiments
        for protocol in one.protocols(chosen)
        for spec in one.attacked(protocol, chosen)
        if not is_attacked(evidence, spec, protocol, chosen.images)
    }
    return Left(runs, len(attacks))


def _attacks(
    experiments: Sequence[Experiment],
    at: Scale,
    store: Store,
    evidence: Evidence,
    device: torch.device,
    data: Path | None,
    places: int,
) -> Iterator[Job]:
    """Make a job for finished networks that wait for a protocol, as many as are attacked side by side."""
    for protocol in dict.fromkeys(protocol for one in experiments for protocol in one.protocols(at)):
        specs = distinct(spec for one in experiments for spec in one.attacked(protocol, at))
        waiting = []
        for spec in specs:
            run = evidence.get(spec)
            if run and run.record.has_weights and not is_attacked(evidence, spec, protocol, at.images):
                waiting.append(spec.id)
        images = attack_options(protocol, at.images).images
        for batch in _shared(waiting, places, MOST):
            measure = partial(attack_runs, store, batch, protocol, device=device, data=data, images=images)
            yield partial(_attack, measure)


def _attack(measure: Callable[..., object], clock: Clock, report: Callable[[str], None]) -> None:
    measure(report=report)


def _shared(items: Sequence[Item], places: int, most: int) -> Iterator[Sequence[Item]]:
    """Share items out among places, at most so many at a time."""
    size = max(1, min(most, -(-len(items) // places)))
    return (items[start : start + size] for start in range(0, len(items), size))
