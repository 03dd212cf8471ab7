"""The engines that train and measure runs: this machine, or a Ray cluster.

`Local.train` plans which runs share a step, claims them, and takes every group from where it stands to its end.
"""

import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

import torch

from zerosnet.data import DataSet, FolderData, load, open_folder, source
from zerosnet.errors import InputError
from zerosnet.training.finished.networks import surrogate_of
from zerosnet.training.fused.cuda_graph import forget_compiled
from zerosnet.training.fused.trainer import FusedTrainer
from zerosnet.training.grouping import (
    check_batch_norm,
    claimed,
    group,
    has_ended,
    meeting_points,
    run_precision,
    work,
)
from zerosnet.training.loop import GO_ON, STOP, train_group
from zerosnet.training.machine import (
    Clock,
    World,
    all_devices,
    cores,
    find_device,
    local_world,
    mark,
    torch_settings,
    torch_threads,
    under_torchrun,
)
from zerosnet.training.options import EngineOptions, Options, StreamOptions
from zerosnet.training.runs.spec import RunSpec, distinct
from zerosnet.training.runs.store import Store
from zerosnet.training.screen.displays import Lines, Progress, report_plain_torch, say_recipes
from zerosnet.training.streamed.processes import decoding_workers
from zerosnet.training.streamed.trainer import StreamedTrainer, check_decoder, micro_batch
from zerosnet.training.threads import in_threads, share_of_cores
from zerosnet.training.trainer import Trainer


@dataclass(frozen=True)
class Plan:
    """A plan of what to train.

    Attributes:
        groups: Runs that share a step.
        work: How much there is to compute, by run id, in any unit.
        steps: Steps per epoch of every run.
        trainer: Makes the trainer of runs that share a step.
        at_once: How many groups train side by side.
    """

    groups: Sequence[Sequence[RunSpec]]
    work: dict[str, float]
    steps: dict[RunSpec, int]
    trainer: Callable[[Sequence[RunSpec]], Trainer]
    at_once: int = 1


def plan_runs(specs: Sequence[RunSpec], store: Store, options: Options, *, all_gpus: bool = False) -> Plan:
    """Plan the runs that have not ended, as `train` would in one process or on all GPUs, and train nothing."""
    quiet = Lines(quiet=True)
    waiting = [spec for spec in distinct(specs) if not has_ended(store, spec, quiet)]
    device = find_device(options.device)
    if any(source(spec.dataset).streamed for spec in waiting):
        plan = plan_streamed(waiting, options, device, World(), quiet)
    else:
        plan = plan_arrays(waiting, store, options, device)
    if names := _several_devices(specs, options) if all_gpus else []:
        from zerosnet.training.cluster import share_groups

        groups = share_groups(waiting, store, replace(options, device=names[0]), len(names), quiet)
        plan = replace(plan, groups=groups, at_once=min(len(names), len(groups)))
    return plan


def _several_devices(specs: Sequence[RunSpec], options: Options) -> list[str]:
    """List the GPUs that share these runs; none if one device, or torchrun, trains them."""
    names = all_devices(options.device)
    return names if len(names) > 1 and len(specs) > 1 and not under_torchrun() else []


def plan_arrays(specs: Sequence[RunSpec], store: Store, options: Options, device: torch.device) -> Plan:
    """Plan runs whose data fit into memory: many networks are trained as one."""
    if options.stream != StreamOptions():
        raise InputError("workers, broken, micro-batch, sync-bn and decoder are for imagefolder")
    if under_torchrun():
        raise InputError("torchrun is for imagefolder; smaller runs share a store by themselves, or use --engine ray")
    for spec in specs:
        run_precision(spec, device)
        if spec.precision == "mixed":
            raise InputError("precision mixed is for imagefolder; expected bf16, fp32 or fp64")
    data = load_all(specs, options)
    for spec in specs:
        check_batch_norm(spec, data[spec], spec.recipe.batch)
    surrogates = {spec: surrogate_of(spec, store) for spec in specs if spec.recipe.adversarial is not None}
    workers = cores() if device.type == "cpu" else 1
    groups = group(specs, data, device, options.replicas, workers)

    def trainer(members: Sequence[RunSpec]) -> Trainer:
        first = members[0]
        return FusedTrainer(members, data[first], device, surrogate=surrogates.get(first), kernels=options.kernels)

    return Plan(
        groups,
        {spec.id: work(spec, data[spec]) for spec in specs},
        {spec: len(data[spec].train) // spec.recipe.batch for spec in specs},
        trainer,
        at_once=min(workers, len(groups)),
    )


def plan_streamed(
    specs: Sequence[RunSpec], options: Options, device: torch.device, world: World, progress: Progress
) -> Plan:
    """Plan runs on folders of images: one network after the other, trained by all processes together."""
    stream = options.stream
    if options.replicas is not None:
        raise InputError(f"replicas is {options.replicas}; networks on imagefolder are trained one at a time")
    opened: dict[tuple[str, float | None], FolderData] = {}
    for spec in specs:
        recipe, key = spec.recipe, (spec.dataset, spec.validation)
        run_precision(spec, device)
        at_once = micro_batch(recipe.batch, world, stream.micro_batch)
        check_decoder(stream.decoder, device, deterministic=options.deterministic)
        if recipe.adversarial is not None or recipe.noise or recipe.augmentation.crop:
            words = {"adversarial training": recipe.adversarial, "noise on the images": recipe.noise}
            what = next((word for word, asked in words.items() if asked), "a crop after padding")
            raise InputError(f"recipe {recipe.name} asks for {what}, which imagefolder has not; expected imagenet")
        if key not in opened:
            opened[key] = open_folder(spec.dataset, options.data, validation=spec.validation or 0.0)
        images = len(opened[key].train)
        if recipe.batch > images:
            raise InputError(f"batch is {recipe.batch}, but there are only {images} training images; see --batch")
        check_batch_norm(spec, opened[key], at_once * world.size if stream.sync_bn else at_once)
    report = progress.report if world.writes else partial(print, file=sys.stderr, flush=True)
    before: list[RunSpec] = []

    def trainer(members: Sequence[RunSpec]) -> Trainer:
        (spec,) = members
        if not before or replace(spec, seed=before[-1].seed) != before[-1]:
            forget_compiled(device)  # what was compiled for one seed serves all others
        before.append(spec)
        workers = decoding_workers(stream.workers, world)
        data = opened[spec.dataset, spec.validation]
        return StreamedTrainer(
            spec, data, device, world, stream, workers=workers, report=report, kernels=options.kernels
        )

    return Plan(
        [[spec] for spec in specs],
        {spec.id: float(spec.recipe.epochs) for spec in specs},
        {spec: len(opened[spec.dataset, spec.validation].train) // spec.recipe.batch for spec in specs},
        trainer,
    )


def load_all(specs: Sequence[RunSpec], options: Options) -> dict[RunSpec, DataSet]:
    """Load the data sets of runs, each once, and refuse batches that are larger than a training set."""
    loaded: dict[tuple[str, float | None], DataSet] = {}
    for spec in specs:
        if (key := (spec.dataset, spec.validation)) not in loaded:
            loaded[key] = load(spec.dataset, options.data, download=options.download, validation=spec.validation or 0.0)
        images, batch = len(loaded[key].train), spec.recipe.batch
        if batch > images:
            raise InputError(f"batch is {batch}, but there are only {images} training images; expected at most as many")
    return {spec: loaded[spec.dataset, spec.validation] for spec in specs}


Job = Callable[[Clock, Callable[[str], None]], object]
"""Work that can be sent elsewhere: a function of the clock to obey and of a function that prints a line."""


class Engine(Protocol):
    """A place to work: `Local`, or `zerosnet.training.cluster.Cluster`."""

    def device(self, name: str) -> torch.device:
        """Resolve auto, cpu or cuda to the device that a job gets."""

    def places(self, device: torch.device) -> int:
        """Count the jobs that run at a time."""

    def train(self, specs: Sequence[RunSpec], store: Store, options: Options, clock: Clock, progress: Progress) -> None:
        """Train all runs that have not ended; the store holds the outcome."""

    def do(self, jobs: Sequence[Job], device: torch.device, clock: Clock, progress: Progress) -> None:
        """Do other work."""


@dataclass(frozen=True)
class Local:
    """This machine. Jobs run one after the other; a training uses all GPUs, or the one that its options name."""

    all_gpus: bool = True

    device = staticmethod(find_device)

    def train(self, specs: Sequence[RunSpec], store: Store, options: Options, clock: Clock, progress: Progress) -> None:
        """Train all runs that have not ended, each once; the store holds the outcome.

        What another process is working on is left to it. Once the clock asked to stop, everything begun has a
        checkpoint. Nothing is written before all runs were found to be possible. A run that has ended needs neither its
        data nor a device that has its precision.
        """
        if names := _several_devices(specs, options) if self.all_gpus else []:
            from zerosnet.training.devices import train_on_devices

            train_on_devices(names, specs, store, options, clock, progress)
            return
        mark("imports")
        specs = distinct(specs)
        kinds = {source(spec.dataset).streamed for spec in specs}
        if len(kinds) > 1:
            raise InputError("some runs are on imagefolder and some are not; expected one kind at a time")
        streamed = kinds == {True}
        world = local_world() if streamed else World()
        device = world.own_device(find_device(options.device))
        progress = progress if world.writes else Lines(quiet=True)

        def must_stop() -> bool:
            return world.highest(STOP if clock.must_stop() else GO_ON) == STOP

        def train_members(members: Sequence[RunSpec]) -> None:
            if must_stop():
                return
            with clock.stopped_by_errors(), claimed(store, members, world, progress) as runs:
                held = {run.spec: run for run in runs}  # none in a process that does not write
                for position, together in meeting_points(runs, plan.steps, world, progress):
                    if must_stop():
                        return
                    trainer = plan.trainer(together)
                    mark("network and kernels")
                    if device.type == "cuda" or options.kernels == "native":
                        report_plain_torch(trainer.why_not_native, progress.report)
                    mine = [held[spec] for spec in together if spec in held]
                    train_group(trainer, mine, position, options, clock, progress)

        with clock, world.joined(device):
            asked = specs if world.writes else []
            ended = world.together(lambda: [spec for spec in asked if has_ended(store, spec, progress)])
            waiting = world.from_writer([spec for spec in asked if spec not in ended])
            if streamed:
                plan = world.together(lambda: plan_streamed(waiting, options, device, world, progress))
            else:
                plan = plan_arrays(waiting, store, options, device)
            mark("data")
            say_recipes(waiting, progress)
            progress.expect(plan.work)
            threads: AbstractContextManager[None] = nullcontext()
            if not streamed:  # how many threads an operation uses can change its last bits: one if bits matter
                threads = torch_threads(1 if options.deterministic else share_of_cores(plan.at_once))
            with progress, torch_settings(device, deterministic=options.deterministic), threads:
                if plan.at_once > 1:
                    in_threads(train_members, plan.groups, plan.at_once)
                else:
                    for members in plan.groups:
                        train_members(members)

    def places(self, device: torch.device) -> int:
        return 1

    def do(self, jobs: Sequence[Job], device: torch.device, clock: Clock, progress: Progress) -> None:
        with progress:
            for done, job in enumerate(jobs):
                if clock.must_stop():
                    return
                progress.measure(done, len(jobs))
                job(clock, progress.report)
            progress.measure(len(jobs), len(jobs))


def open_engine(options: EngineOptions) -> AbstractContextManager[Engine]:
    """Choose the engine, connected for the duration of a `with` block."""
    if options.engine == "local":
        return nullcontext(Local())
    from zerosnet.training.cluster import connected

    return connected(options.address)


def train(
    specs: Sequence[RunSpec],
    store: Store,
    options: Options,
    clock: Clock | None = None,
    progress: Progress | None = None,
) -> None:
    """Train all runs that have not ended, on one device of this machine (see `Local.train`)."""
    Local(all_gpus=False).train(specs, store, options, clock or Clock(), progress or Lines(quiet=True))
