"""Find out which runs of a group this process trains, and from where: claims, and common checkpoints."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from hashlib import blake2b

from zerosnet.training.runs.checkpoint import positions
from zerosnet.training.runs.run import Run, read_result, remove_checkpoints
from zerosnet.training.runs.spec import RunSpec
from zerosnet.training.runs.store import Store
from zerosnet.training.screen.displays import Progress
from zerosnet.training.streamed.processes import World

FIRST_OF = "first_of"  # what the state of the first checkpoint calls the runs that began together


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
