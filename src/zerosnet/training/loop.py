"""The training loop: one group of runs from where it stands to its end, whatever trainer it has, and its journal."""

import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from zerosnet.environment import environment
from zerosnet.errors import InputError
from zerosnet.files import BackgroundWriter, finite
from zerosnet.models import combine, model_file, snapshot
from zerosnet.training.fused.cuda_graph import Lead
from zerosnet.training.grouping import FIRST_OF, company, network_config
from zerosnet.training.machine import Clock, mark, start_line
from zerosnet.training.options import Options, SaveInterval
from zerosnet.training.recipes.recipe import lr_at
from zerosnet.training.runs.run import Run, best_epoch
from zerosnet.training.runs.spec import Result
from zerosnet.training.screen.displays import Progress
from zerosnet.training.trainer import Score, Trainer

if TYPE_CHECKING:
    from zerosnet.training.runs.loggers import Logger

FIRST_SAVE = 5.0  # seconds of training after which the first checkpoint is due: a new user stops early
GO_ON, SAVE, STOP = range(3)  # what a process asks for after a step; the highest wish of all processes is followed
FINAL = "final"  # what the state of a checkpoint after the last step calls the scores of the training images


class SaveTimer:
    """A timer that knows when a checkpoint is due; the first one comes soon, whatever the interval."""

    def __init__(self, every: SaveInterval) -> None:
        self.every, self._saved, self._first = every, time.monotonic(), True

    def due_after_step(self) -> bool:
        if self._first and time.monotonic() - self._saved >= FIRST_SAVE:
            return True
        return self.every.seconds is not None and time.monotonic() - self._saved >= self.every.seconds

    def due_after_epoch(self, epoch: int) -> bool:
        return self.due_after_step() or (self.every.epochs is not None and epoch % self.every.epochs == 0)

    def saved(self) -> None:
        self._saved, self._first = time.monotonic(), False


class Stopwatch:
    """Seconds of a group, shared out evenly among its replicas; goes on from what was spent before."""

    def __init__(self, replicas: int, before: float = 0.0) -> None:
        self.replicas, self.before, self.since = replicas, before, time.monotonic()

    def __call__(self) -> float:
        return self.before + (time.monotonic() - self.since) / self.replicas

    def lap(self) -> float:
        """Read it and begin anew at once, so that laps add up to the whole."""
        shown, self.before, self.since = self(), 0.0, time.monotonic()
        return shown


class Journal:
    """The metrics of the runs of a group, in memory and in their folders; `runs` is empty if another process writes."""

    def __init__(self, runs: Sequence[Run], trainer: Trainer, *, log: Sequence[str] = ()) -> None:
        self.runs, self.trainer = list(runs), trainer
        self.rows: list[list[dict[str, Any]]] = [run.metrics() for run in runs]
        self._loggers: list[list[Logger]] = [[] for _ in runs]
        if log:
            from zerosnet.training.runs.loggers import open_loggers

            self._loggers = [open_loggers(log, run) for run in runs]

    def last(self) -> list[dict[str, Any] | None]:
        """Return the newest row of every run, with its best test accuracy so far, for display."""
        if not self.runs:
            return [None for _ in self.trainer.specs]
        return [{**rows[-1], "best_test_accuracy": best_epoch(rows)[1]} if rows else None for rows in self.rows]

    def record(self, epoch: int, seconds: Callable[[], float], open_runs: Sequence[bool]) -> None:
        """Evaluate all replicas after `epoch` epochs and add a row to every run that has not ended.

        `seconds` of the epoch are read once the device has done all of it, evaluation included.
        """
        trainer = self.trainer
        for test in trainer.tests.values():
            test.run()
        tests = {name: test.scores() for name, test in trainer.tests.items()}
        train, trained, taken = trainer.train_scores(), trainer.trained_coefficients(), seconds()
        for k, run in enumerate(self.runs):
            if not open_runs[k]:
                continue
            row: dict[str, Any] = {
                "epoch": epoch,
                "lr": lr_at(run.spec.recipe, epoch * trainer.steps - 1, trainer.steps),
            }
            row |= _named("train", train[k])
            for name, scores in tests.items():
                row |= _named(name, scores[k])
            row["seconds"] = taken
            if trained is not None:
                row |= trained[k]
            run.append_metrics(row)
            self.rows[k].append(row)
            for logger in self._loggers[k]:
                logger.log(row)

    def finished(self, k: int, seconds: float, train: Score) -> Result:
        """Make the result of a run that has come to its last epoch."""
        rows = self.rows[k]
        last, (epoch, best_accuracy) = rows[-1], best_epoch(rows)
        return Result(
            "finished",
            last["epoch"],
            seconds,
            test_accuracy=last["test_accuracy"],
            test_loss=finite(last["test_loss"]),
            best_epoch=epoch,
            best_test_accuracy=best_accuracy,
            train_accuracy=train.accuracy,
            train_loss=finite(train.loss),
            validation_accuracy=last.get("validation_accuracy"),
            validation_loss=finite(last.get("validation_loss")),
            test_top5_accuracy=last.get("test_top5_accuracy"),
        )

    def diverged(self, k: int, seconds: float) -> Result:
        """Make the result of a run whose loss or weights are no longer finite."""
        rows = self.rows[k]
        reason = f"loss or weights not finite after {int(self.trainer.lived[k])} steps"
        epoch, best_accuracy = best_epoch([row for row in rows if finite(row["test_loss"]) is not None])
        return Result("diverged", len(rows), seconds, best_epoch=epoch, best_test_accuracy=best_accuracy, reason=reason)

    def close(self) -> None:
        for loggers in self._loggers:
            for logger in loggers:
                logger.close()


def _named(name: str, score: Score) -> dict[str, float]:
    top5 = {} if score.top5_accuracy is None else {f"{name}_top5_accuracy": score.top5_accuracy}
    return {f"{name}_loss": score.loss, f"{name}_accuracy": score.accuracy, **top5}


def train_group(
    trainer: Trainer, runs: Sequence[Run], position: int, options: Options, clock: Clock, progress: Progress
) -> None:
    """Train runs that share a step from a position (a number of steps) to the end, or until told to stop.

    Args:
        trainer: The networks, freshly drawn.
        runs: The runs of the trainer's specs, all of which have a checkpoint at the position; none in a process that
            does not write.
        position: Where to begin; 0 is the beginning.
        options: When to save, which loggers to use, whether to score the training images.
        clock: Knows when to stop.
        progress: Shows how far the group is.
    """
    world, steps, replicas = trainer.world, trainer.steps, len(trainer.specs)
    total, begin = steps * trainer.specs[0].recipe.epochs, position
    states = resume(trainer, runs, position)
    if options.train_accuracy:
        trainer.watch_training_set()
    journal = Journal(runs, trainer, log=options.log)
    is_open = [True] * replicas  # a run that diverged has ended; its replica is carried along, frozen
    whole, this_epoch = (
        Stopwatch(replicas, max((state.get(name, 0.0) for state in states), default=0.0))
        for name in ("seconds", "epoch_seconds")
    )
    began = company(runs) if position == 0 and replicas > 1 else ""
    timer, lead = SaveTimer(options.checkpoint_every), Lead() if trainer.device.type == "cuda" else None
    display = progress.group(trainer.specs, journal.last(), position, total)

    with closing(trainer), closing(journal), BackgroundWriter() as writer:

        def wish(due: bool) -> int:
            return world.highest(STOP if clock.must_stop() else SAVE if due and world.writes else GO_ON)

        def save(final: Sequence[Score] = ()) -> None:
            nonlocal began
            trainer.settle()
            state: dict[str, Any] = {"seconds": whole(), "epoch_seconds": this_epoch() if position % steps else 0.0}
            if began:
                state[FIRST_OF], began = began, ""
            if runs:
                jobs = []
                for k, part in enumerate(snapshot(trainer.tensors(), replicas)):
                    noted = state | ({FINAL: asdict(final[k])} if final else {})
                    if is_open[k]:
                        jobs.append(partial(runs[k].save_checkpoint, position, part, noted))
                writer.submit(jobs)
            timer.saved()

        while position < total and any(is_open):
            epoch, first = divmod(position, steps)
            trainer.begin_epoch(epoch, first)
            for _ in range(first, steps):
                trainer.step()
                if options.profile_start and position == begin:
                    torch.empty(1, device=trainer.device).item()  # wait for the device
                    if mark("first step"):
                        progress.report(start_line())
                position += 1
                if lead is not None:
                    lead.step()
                display.step(position)
                if position % steps and (asked := wish(timer.due_after_step())):
                    save()
                    if asked == STOP:
                        return
            journal.record(epoch + 1, this_epoch.lap, is_open)
            for k, diverged in enumerate(trainer.diverged()):
                if diverged and is_open[k]:
                    is_open[k] = False
                    if runs:
                        result = journal.diverged(k, whole())
                        writer.wait()
                        runs[k].finish(result)
                        progress.report(f"{runs[k].id} diverged: {result.reason}")
            display.epoch(journal.last(), is_open)
            if position < total and any(is_open) and (asked := wish(timer.due_after_epoch(epoch + 1))):
                save()
                if asked == STOP:
                    return
        if any(is_open):
            scores = [Score(**state[FINAL]) for state in states if FINAL in state]
            if len(scores) < replicas:
                scores = trainer.final_train_scores()
                if replicas > 1:
                    save(scores)  # a kill among the results leaves no run to be trained in other company
            writer.wait()
            _finish(trainer, journal, is_open, whole, scores)
        writer.wait()


def resume(trainer: Trainer, runs: Sequence[Run], position: int) -> list[dict[str, Any]]:
    """Take up the runs at a position at which all have a checkpoint; return what else the checkpoints noted."""
    trainer.world.together(partial(_check_data, trainer, runs, position))
    facts = environment() | trainer.facts
    for run in runs:
        run.rewind(position // trainer.steps)
        run.write_environment(facts)
    if position == 0:
        return []
    found = [run.load_checkpoint(at_most=position) for run in runs]
    checkpoints = [checkpoint for checkpoint in found if checkpoint is not None and checkpoint.position == position]
    assert len(checkpoints) == len(runs)
    trainer.load(combine([checkpoint.tensors for checkpoint in checkpoints]) if checkpoints else None)
    return [checkpoint.state for checkpoint in checkpoints]


def _check_data(trainer: Trainer, runs: Sequence[Run], position: int) -> None:
    """Refuse to go on with other data than a run was begun with."""
    for run in runs:
        if position and run.environment().get("data") not in (None, trainer.facts["data"]):
            raise InputError(f"dataset {run.spec.dataset!r} has changed since run {run.id} was begun with it")


def _finish(
    trainer: Trainer, journal: Journal, is_open: Sequence[bool], seconds: Stopwatch, scores: Sequence[Score]
) -> None:
    """Write weights and results, with the scores of the training images: the last epoch is over."""
    if not journal.runs:
        return
    for k, weights in enumerate(snapshot(trainer.model.state_dict(), len(trainer.specs))):
        if is_open[k]:
            run = journal.runs[k]
            result = replace(journal.finished(k, seconds(), scores[k]), **trainer.counted())
            facts = {"run": run.id, **run.spec.to_json()}
            content = model_file(network_config(run.spec, trainer.data), weights, facts)
            run.finish(result, partial(Path.write_bytes, data=content))
