"""Run experiments: train what has not been trained, attack it, switch its blocks off; all of it kept in the store."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from zerosnet.experiments.ablation import ablate
from zerosnet.experiments.experiment import Experiment
from zerosnet.experiments.reading import attack_options
from zerosnet.experiments.scale import Scale, scale
from zerosnet.training import Clock, Options, RunRecord, RunSpec, Store, train
from zerosnet.training.attack import MOST, attack_runs, read_attack
from zerosnet.training.progress import Lines, Progress

DEMO = ("table-zerosnet-cifar10", "table-robustness", "table-constant-noise", "table-fgsm")
"""What `zerosnet reproduce` runs when it is asked for nothing in particular; all read the same networks."""


@dataclass(frozen=True)
class Left:
    """What is still to be done: runs to train, and pairs of a run and a protocol to attack."""

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
) -> Left:
    """Take experiments as far as the clock allows; whatever is there already is not done again.

    Runs that several experiments want are run once. What others make their examples on is trained first.
    """
    clock, progress, chosen = clock or Clock(), progress or Lines(quiet=True), scale(at)
    needed = _once(spec for one in experiments for spec in one.needed_specs(chosen))
    wanted = _once(spec for one in experiments for spec in one.specs(chosen))
    for stage in (needed, wanted):
        waiting = [spec for spec in stage if not _has_ended(store, spec)]
        if waiting and not clock.must_stop():
            train(waiting, store, options, clock, progress)
    for batch, protocol in _batches(experiments, chosen, store):
        if clock.must_stop():
            break
        attack_runs(
            store,
            [record.id for record in batch],
            protocol,
            device=options.device,
            data=options.data,
            images=attack_options(protocol, chosen.images).images,
            say=progress.say,
        )
    finished = [record for spec in wanted if (record := _record(store, spec)) is not None and not _streamed(spec)]
    if not clock.must_stop():
        ablate(finished, options.device, options.data, clock, progress.say)
    return what_is_left(experiments, chosen, store)


def what_is_left(experiments: Sequence[Experiment], at: str | Scale, store: Store) -> Left:
    chosen = scale(at)
    specs = _once(spec for one in experiments for spec in one.specs(chosen))
    runs = sum(not _has_ended(store, spec) for spec in specs)
    attacks = {
        (spec.id, protocol)
        for one in experiments
        for protocol in one.protocols(chosen)
        for spec in one.attacked(protocol, chosen)
        if not _attacked(store, spec, protocol, chosen)
    }
    return Left(runs, len(attacks))


def _batches(experiments: Sequence[Experiment], at: Scale, store: Store) -> Iterator[tuple[list[RunRecord], str]]:
    """Finished networks that wait for a protocol, as many at a time as are attacked side by side."""
    for protocol in dict.fromkeys(protocol for one in experiments for protocol in one.protocols(at)):
        specs = _once(spec for one in experiments for spec in one.attacked(protocol, at))
        records = [
            record
            for spec in specs
            if (record := _record(store, spec)) is not None
            and (record.folder / "weights.safetensors").exists()
            and not _attacked(store, spec, protocol, at)
        ]
        for start in range(0, len(records), MOST):
            yield records[start : start + MOST], protocol


def _attacked(store: Store, spec: RunSpec, protocol: str, at: Scale) -> bool:
    """Whether a protocol has been run; of a network that diverged there is nothing to attack."""
    record = _record(store, spec)
    if record is None or record.result is None:
        return False
    return record.status == "diverged" or read_attack(record, protocol, attack_options(protocol, at.images)) is not None


def _has_ended(store: Store, spec: RunSpec) -> bool:
    record = _record(store, spec)
    return record is not None and record.result is not None


def _record(store: Store, spec: RunSpec) -> RunRecord | None:
    return store.find(spec.id) if (store.folder(spec) / "spec.json").exists() else None


def _streamed(spec: RunSpec) -> bool:
    from zerosnet.data import source

    return source(spec.dataset).streamed


def _once(specs: Iterator[RunSpec]) -> list[RunSpec]:
    return list({spec.id: spec for spec in specs}.values())
