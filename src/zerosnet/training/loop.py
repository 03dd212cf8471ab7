"""The training loop: one group of runs from where it stands to its end, whatever trainer it has.

Before it: which runs of a group this process may train, and at which checkpoints they can go on together.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import asdict, replace
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any

import torch

from zerosnet.environment import environment
from zerosnet.errors import InputError
from zerosnet.models import model_file
from zerosnet.training.fused.cuda_graph import Lead
from zerosnet.training.fused.passes import Score
from zerosnet.training.grouping import network_config
from zerosnet.training.options import Options
from zerosnet.training.runs.checkpoint import BackgroundWriter, join, positions, snapshot
from zerosnet.training.runs.journal import Journal
from zerosnet.training.runs.run import Run, read_result, remove_checkpoints
from zerosnet.training.runs.spec import RunSpec
from zerosnet.training.runs.store import Store
from zerosnet.training.screen.clocks import Clock, SaveTimer, mark, start_line
from zerosnet.training.screen.displays import Progress
from zerosnet.training.streamed.processes import World
from zerosnet.training.trainer import Trainer


def has_ended(store: Store, spec: RunSpec, progress: Progress) -> bool:
    """Tell whether there is nothing to do for a run, and report it; asked before its data are opened.

    Checkpoints that a kill just after the end has left are removed.
    """
    folder = store.folder(spec)
    result = read_result(folder)
    if result is not None:
        remove_checkpoints(folder)
        progress.say(f"{spec.id} has {result.status} already; nothing to do")
    return result is not None


@contextmanager
def claimed(store: Store, specs: Sequence[RunSpec], world: World, progress: Progress) -> Iterator[list[Run]]:
    """Hold the runs of a group that have not ended and that are free; none in a process that does not write."""
    with ExitStack() as stack:
        yield world.together(lambda: _claim_all(store, specs if world.writes else [], progress, stack))


def _claim_all(store: Store, specs: Sequence[RunSpec], progress: Progress, stack: ExitStack) -> list[Run]:
    runs = []
    for spec in specs:
        run = store.claim(spec)
        if run is None:
            progress.say(f"{spec.id} is in another process's hands")
            progress.forget(spec.id)
            continue
        stack.enter_context(run)
        if run.result() is None:
            runs.append(run)
        else:
            run.release()
            progress.forget(spec.id)
    return runs


def meeting_points(
    runs: Sequence[Run], steps: Mapping[RunSpec, int], world: World, progress: Progress
) -> list[tuple[int, list[RunSpec]]]:
    """Find the positions at which runs of a group can go on together, each with the specs that have a checkpoint there.

    The process that writes looks for them and tells the others. `steps` are those of an epoch.

    A kill between the checkpoints of two runs leaves them one apart; as every run keeps its last two, they meet at the
    earlier one, which is the beginning if it was their first. Runs that were begun at different times stay apart. A
    damaged checkpoint is passed over, and so is one that comes after a damaged line of metrics.jsonl, whose epoch is
    trained again; both are reported.
    """
    newest: dict[str, int] = {}
    first: set[str] = set()
    for run in runs:
        whole = run.whole_epochs()
        checkpoint = run.load_checkpoint(at_most=(whole + 1) * steps[run.spec] - 1)
        newest[run.id] = 0 if checkpoint is None else checkpoint.position
        if checkpoint is not None and checkpoint.state.get(FIRST_OF) == company(runs):
            first.add(run.id)
        _report_lost(run, newest[run.id], whole, steps[run.spec], progress)
    rest, meetings = list(runs), []
    while rest:
        position = min(newest[run.id] for run in rest)
        here = [run for run in rest if newest[run.id] == position or _can_go_back(run, position, first)]
        meetings.append((position, [run.spec for run in here]))
        rest = [run for run in rest if run not in here]
    return world.from_writer(meetings)


def company(runs: Sequence[Run]) -> str:
    """Name the runs of a group, in any order: with a neighbour less the last bits may differ on a GPU."""
    return blake2b("\n".join(sorted(run.id for run in runs)).encode(), digest_size=8).hexdigest()


def _can_go_back(run: Run, position: int, first: set[str]) -> bool:
    """Tell whether a run has a checkpoint at an earlier position too; the beginning counts before its first one."""
    if position == 0:
        return run.id in first
    checkpoint = run.load_checkpoint(at_most=position)
    return checkpoint is not None and checkpoint.position == position


def _report_lost(run: Run, position: int, whole: int, steps: int, progress: Progress) -> None:
    """Report the checkpoints passed over, and the epochs before a first one, of a run that goes on from a position."""
    saved, epochs = positions(run.checkpoints), len(run.metrics())
    for newer in saved:
        if newer // steps > whole:
            lost = f"metrics.jsonl lacks epoch {whole + 1}, which the checkpoint at step {newer} needs"
            progress.say(f"{run.id}: {lost}; going on from step {position}")
        elif newer > position:
            progress.say(f"{run.id}: the checkpoint at step {newer} is damaged; going on from step {position}")
    if epochs and not saved:
        progress.say(f"{run.id}: no checkpoint yet, {epochs} epoch{'' if epochs == 1 else 's'} lost; from the start")


GO_ON, SAVE, STOP = range(3)  # what a process asks for after a step; the highest wish of all processes is followed
FINAL = "final"  # what the state of a checkpoint after the last step calls the scores of the training images
FIRST_OF = "first_of"  # what the state of the first checkpoint calls the runs that began together


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
        clock: Tells when to stop.
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
    timer, lead = SaveTimer(options.checkpoint_every), Lead(trainer.device)
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
                    mark("first step")
                    progress.say(start_line())
                position += 1
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
                        progress.say(f"{runs[k].id} diverged: {result.reason}")
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
    trainer.load(join([checkpoint.tensors for checkpoint in checkpoints]) if checkpoints else None)
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
