"""One group of runs from where it stands to its end: the training loop."""

import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import Any

from zerosnet.environment import environment
from zerosnet.errors import InputError
from zerosnet.models import save_model
from zerosnet.training.fused.cuda_graph import Lead
from zerosnet.training.fused.trainer import FusedTraining
from zerosnet.training.grouping import build_single
from zerosnet.training.options import Options
from zerosnet.training.runs.checkpoint import join, positions, snapshot
from zerosnet.training.runs.journal import Journal
from zerosnet.training.runs.run import Run, read_result
from zerosnet.training.runs.spec import RunSpec
from zerosnet.training.runs.store import Store
from zerosnet.training.runs.writer import BackgroundWriter
from zerosnet.training.screen.displays import Progress
from zerosnet.training.screen.stopping import Clock, SaveTimer
from zerosnet.training.streamed.trainer import LargeTraining


class Stopwatch:
    """Seconds of a group, shared out evenly among its replicas; goes on from what was spent before."""

    def __init__(self, replicas: int, before: float = 0.0) -> None:
        self.replicas, self.before, self.since = replicas, before, time.monotonic()

    def __call__(self) -> float:
        return self.before + (time.monotonic() - self.since) / self.replicas

    def lap(self) -> float:
        """What it shows; it begins anew at once, so that laps add up to the whole."""
        shown, self.before, self.since = self(), 0.0, time.monotonic()
        return shown


def train_group(
    training: FusedTraining, runs: Sequence[Run], position: int, options: Options, clock: Clock, progress: Progress
) -> None:
    """Train runs that share a step, all from the same position (a number of steps), to the end or till told to stop."""
    specs, replicas = training.specs, training.replicas
    steps, total = training.steps, training.steps * specs[0].recipe.epochs
    states = resume(training, runs, position)
    if options.train_accuracy:
        training.watch_training_set()
    journal = Journal(runs, training, log=options.log)
    is_open = [True] * replicas  # a run that diverged has ended; its replica is carried along, frozen
    whole = Stopwatch(replicas, max(state.get("seconds", 0.0) for state in states))
    this_epoch = Stopwatch(replicas, max(state.get("epoch_seconds", 0.0) for state in states))
    timer, lead = SaveTimer(options.checkpoint_every), Lead(training.device)
    display = progress.group(specs, journal.last(), position, total)

    with closing(training), closing(journal), BackgroundWriter() as writer:

        def save() -> None:
            state = {"seconds": whole(), "epoch_seconds": this_epoch() if position % steps else 0.0}
            parts = zip(runs, snapshot(training.tensors(), replicas), is_open)
            writer.submit(
                [partial(run.save_checkpoint, position, part, state) for run, part, goes_on in parts if goes_on]
            )
            timer.saved()

        while position < total and any(is_open):
            epoch, first = divmod(position, steps)
            training.begin_epoch(epoch, first)
            for _ in range(first, steps):
                training.step()
                position += 1
                lead.step()
                display.step(position)
                if position % steps and clock.must_stop():
                    save()
                    return
                if position % steps and timer.due_after_step():
                    save()
            journal.record(epoch + 1, this_epoch.lap, is_open)
            for k, diverged in enumerate(training.diverged()):
                if diverged and is_open[k]:
                    is_open[k] = False
                    result = journal.diverged(k, whole())
                    runs[k].finish(result)
                    progress.say(f"{runs[k].id} diverged: {result.reason}")
            display.epoch(journal.last(), is_open)
            if position == total:
                break
            if clock.must_stop():
                save()
                return
            if timer.due_after_epoch(epoch + 1):
                save()
        writer.wait()
        if any(is_open):
            finish(training, journal, is_open, whole)


def has_ended(store: Store, spec: RunSpec, progress: Progress) -> bool:
    """Whether there is nothing to do for a run, which is then said; asked before its data are opened."""
    result = read_result(store.folder(spec))
    if result is not None:
        progress.say(f"{spec.id} has {result.status} already; nothing to do")
    return result is not None


def say_what_is_lost(run: Run, position: int, progress: Progress) -> None:
    """Where a run goes on from a position: the checkpoints passed over, and the epochs before a first one."""
    saved, epochs = positions(run.checkpoints), len(run.metrics())
    for newer in saved:
        if newer > position:
            progress.say(f"{run.id}: the checkpoint at step {newer} is damaged; going on from step {position}")
    if epochs and not saved:
        progress.say(f"{run.id}: no checkpoint yet, {epochs} epoch{'' if epochs == 1 else 's'} lost; from the start")


def resume(training: FusedTraining, runs: Sequence[Run], position: int) -> list[dict[str, float]]:
    """Take up the runs at a position at which all have a checkpoint (0: the beginning); what else they had noted."""
    for run in runs:
        if position and run.environment().get("data") not in (None, training.facts.get("data")):
            raise InputError(f"dataset {run.spec.dataset!r} has changed since run {run.id} was begun with it")
        run.rewind(position // training.steps)
        run.write_environment(environment() | training.facts)
    if position == 0:
        return [{} for _ in runs]
    checkpoints = [run.load_checkpoint(at_most=position) for run in runs]
    assert all(checkpoint is not None and checkpoint.position == position for checkpoint in checkpoints)
    training.load(join([checkpoint.tensors for checkpoint in checkpoints if checkpoint]))
    return [checkpoint.state for checkpoint in checkpoints if checkpoint]


def finish(
    training: FusedTraining | LargeTraining, journal: Journal, is_open: Sequence[bool], seconds: Stopwatch
) -> None:
    """The last epoch is over: training accuracy as it is, weights, results."""
    scores = training.final_train_scores()
    for k, weights in enumerate(snapshot(training.weights(), training.replicas)):
        if not is_open[k]:
            continue
        run = journal.runs[k]
        model = build_single(run.spec, training.data, weights)
        facts = {"run": run.id, **run.spec.to_json()}
        counted: dict[str, Any] = training.counted()
        result = replace(journal.finished(k, seconds(), scores[k]), **counted)
        run.finish(result, partial(save_model, model, facts=facts))
