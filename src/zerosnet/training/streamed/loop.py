"""Runs on data sets that are decoded while they are used: one network after the other, by all processes together."""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import torch

from zerosnet.data import FolderData, open_folder, reason_against
from zerosnet.environment import environment
from zerosnet.errors import InputError
from zerosnet.models import Network
from zerosnet.training.arithmetic import find_device, precision, torch_settings
from zerosnet.training.fused.cuda_graph import Lead, forget_compiled
from zerosnet.training.fused.evaluation import Score
from zerosnet.training.grouping import network_config
from zerosnet.training.loop import Stopwatch, finish, has_ended, say_what_is_lost
from zerosnet.training.options import Options
from zerosnet.training.runs.checkpoint import snapshot
from zerosnet.training.runs.journal import Journal
from zerosnet.training.runs.run import Run
from zerosnet.training.runs.spec import RunSpec
from zerosnet.training.runs.store import RunRecord, Store
from zerosnet.training.runs.writer import BackgroundWriter
from zerosnet.training.screen.displays import Lines, Progress, say_recipes
from zerosnet.training.screen.stopping import Clock, SaveTimer
from zerosnet.training.streamed.processes import World, joined, local_world, own_device
from zerosnet.training.streamed.trainer import USUAL, LargeTraining, choose_balance, micro_batch

GO_ON, SAVE, STOP = range(3)  # what a process asks for after a step; the highest wish of all is followed
MOST_WORKERS = 32


def train_streamed(specs: Sequence[RunSpec], store: Store, options: Options, clock: Clock, progress: Progress) -> None:
    """Train all runs that have not ended, one after the other, in the world of processes that this one belongs to."""
    world = local_world()
    device = own_device(find_device(options.device), world)
    progress = progress if world.writes else Lines(quiet=True)
    settings = torch_settings(device, deterministic=options.deterministic)
    with clock, joined(world, device), progress, settings:
        waiting = _waiting(specs, store, world, progress)
        data = world.together(partial(_check, waiting, options, device, world))
        say_recipes(waiting, progress)
        if waiting and (options.kernels == "native" or (device.type == "cuda" and options.kernels is None)):
            progress.say("plain torch instead of the native kernels: there are none for networks on imagefolder")
        if waiting and device.type == "cuda" and options.stream.decoder is None and (why := reason_against(device)):
            progress.say(f"workers decode without the GPU: {why}")
        progress.expect({spec.id: float(spec.recipe.epochs) for spec in waiting})
        before: RunSpec | None = None
        for spec in waiting:
            if world.highest(STOP if clock.must_stop() else GO_ON) == STOP:
                return
            with _claimed(store, spec, world, progress) as (begins, run):
                if not begins:
                    progress.forget(spec.id)
                else:
                    if before is None or replace(spec, seed=before.seed) != before:
                        forget_compiled(device)  # what was compiled for one seed serves all others
                    before = spec
                    training = LargeTraining(
                        spec,
                        data[spec],
                        device,
                        world,
                        options.stream,
                        workers=_workers(options, world),
                        report=progress.say if world.writes else partial(print, file=sys.stderr, flush=True),
                    )
                    train_one(training, run, options, clock, progress)


def train_one(training: LargeTraining, run: Run | None, options: Options, clock: Clock, progress: Progress) -> None:
    """Train a network from where its run stands to the end, or till told to stop; `run` is the writing process's."""
    spec, world, steps = training.spec, training.world, training.steps
    total = steps * spec.recipe.epochs
    position, state = resume(training, run, progress)
    if options.train_accuracy:
        training.watch_training_set()
    journal = Journal([run] if run else [], training, log=options.log)
    whole, this_epoch = (Stopwatch(1, state.get(name, 0.0)) for name in ("seconds", "epoch_seconds"))
    timer, lead = SaveTimer(options.checkpoint_every), Lead(training.device)
    display = progress.group([spec], journal.last() or [None], position, total)

    with closing(training), closing(journal), BackgroundWriter() as writer:

        def save() -> None:
            training.settle()
            seconds = {"seconds": whole(), "epoch_seconds": this_epoch() if position % steps else 0.0}
            if run is not None:
                (part,) = snapshot(training.tensors(), 1)
                writer.submit([partial(run.save_checkpoint, position, part, seconds)])
            timer.saved()

        def asked_for(due: bool) -> int:
            return world.highest(STOP if clock.must_stop() else SAVE if due and world.writes else GO_ON)

        training.begin(position)
        while position < total:
            epoch, first = divmod(position, steps)
            training.begin_epoch(first)
            for _ in range(first, steps):
                training.step()
                position += 1
                lead.step()
                display.step(position)
                if position % steps and (wish := asked_for(timer.due_after_step())):
                    save()
                    if wish == STOP:
                        return
            journal.record(epoch + 1, this_epoch.lap, [True])
            diverged = training.diverged()
            display.epoch(journal.last() or [None], [not diverged])
            if diverged:
                if run is not None:
                    result = journal.diverged(0, whole())
                    run.finish(result)
                    progress.say(f"{run.id} diverged: {result.reason}")
                return
            if position < total and (wish := asked_for(timer.due_after_epoch(epoch + 1))):
                save()
                if wish == STOP:
                    return
        writer.wait()
        if run is None:
            training.final_train_scores()  # its share of what `finish` asks for
        else:
            finish(training, journal, [True], whole)


def resume(training: LargeTraining, run: Run | None, progress: Progress) -> tuple[int, Mapping[str, Any]]:
    """Take up a run at its last checkpoint, which the writing process reads for all; where it is, and what it noted."""
    checkpoint = None if run is None else run.load_checkpoint()
    position, state = training.world.from_writer(
        (0, {}) if checkpoint is None else (checkpoint.position, checkpoint.state)
    )
    training.world.together(partial(_same_data, training, run, position))
    if run is not None:
        say_what_is_lost(run, position, progress)
        run.rewind(position // training.steps)
        run.write_environment(environment() | training.facts)
    if checkpoint is not None:
        training.load(checkpoint.tensors)
    if position:
        training.world.spread(training.tensors().values())
    return position, state


def _same_data(training: LargeTraining, run: Run | None, position: int) -> None:
    if run is not None and position and run.environment().get("data") not in (None, training.facts["data"]):
        raise InputError(f"dataset {run.spec.dataset!r} has changed since run {run.id} was begun with it")


def _waiting(specs: Sequence[RunSpec], store: Store, world: World, progress: Progress) -> list[RunSpec]:
    """The runs that have not ended, as the writing process sees them."""
    asked = specs if world.writes else ()
    return world.from_writer(world.together(lambda: [spec for spec in asked if not has_ended(store, spec, progress)]))


@contextmanager
def _claimed(store: Store, spec: RunSpec, world: World, progress: Progress) -> Iterator[tuple[bool, Run | None]]:
    """Whether a run is to be trained now, and on the writing process the run itself, held for the duration."""
    run = world.together(lambda: _claim(store, spec, progress) if world.writes else None)
    try:
        yield world.from_writer(run is not None), run
    finally:
        if run is not None:
            run.release()


def _claim(store: Store, spec: RunSpec, progress: Progress) -> Run | None:
    if has_ended(store, spec, progress):
        return None
    run = store.claim(spec)
    if run is None:
        progress.say(f"{spec.id} is in another process's hands")
    elif has_ended(store, spec, progress):
        run.release()
        return None
    return run


def _check(specs: Sequence[RunSpec], options: Options, device: torch.device, world: World) -> dict[RunSpec, FolderData]:
    """Find out that all runs are possible before anything is written."""
    if options.replicas is not None:
        raise InputError(f"replicas is {options.replicas}; networks on imagefolder are trained one at a time")
    opened: dict[tuple[str, float | None], FolderData] = {}
    for spec in specs:
        recipe = spec.recipe
        precision(spec.precision, device, usual=USUAL)
        micro_batch(recipe.batch, world, options.stream.micro_batch)
        choose_balance(options.stream.decoder, device)
        if recipe.adversarial is not None or recipe.augmentation.crop:
            what = "adversarial training" if recipe.adversarial else "a crop after padding"
            raise InputError(f"recipe {recipe.name} asks for {what}, which imagefolder has not; expected imagenet")
        key = (spec.dataset, spec.validation)
        if key not in opened:
            opened[key] = open_folder(spec.dataset, options.data, validation=spec.validation or 0.0)
        images = len(opened[key].train)
        if recipe.batch > images:
            raise InputError(f"batch is {recipe.batch}, but there are only {images} training images; see --batch")
        network_config(spec, opened[key])
    return {spec: opened[spec.dataset, spec.validation] for spec in specs}


def evaluate_streamed(record: RunRecord, network: Network, options: Options) -> tuple[Score, int]:
    """The score of a finished run's network on the test set, and on how many images."""
    spec = record.spec
    data = open_folder(spec.dataset, options.data)
    device = find_device(options.device)
    numbers = None if device.type == "cpu" and spec.precision in ("bf16", "mixed") else spec.precision
    training = LargeTraining(
        replace(spec, precision=numbers),
        data,
        device,
        World(),
        replace(options.stream, micro_batch=None, broken="skip", decoder="workers"),
        workers=_workers(options, World()),
        report=partial(print, file=sys.stderr),
        compiled=False,
    )
    training.model.load_state_dict(network.state_dict())
    with torch_settings(device, deterministic=False):
        training.tests["test"].run()
    return training.tests["test"].scores()[0], int(training.tests["test"].sums[3])


def _workers(options: Options, world: World) -> int:
    """Decoding processes for each training one: a core is left for the training itself."""
    if options.stream.workers is not None:
        return options.stream.workers
    there = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(MOST_WORKERS, max(1, there // world.local_size - 1))
