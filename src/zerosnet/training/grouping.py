"""Find the runs that train together, and the network that they are together.

Runs share a step if their networks and recipes allow it (`group`), if they have not ended and no other process has them
(`claimed`), and from a position on at which all have a checkpoint (`meeting_points`).
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from hashlib import blake2b
from itertools import pairwise
from typing import TYPE_CHECKING

import torch

from zerosnet.data import DataSet, FolderData, source
from zerosnet.errors import InputError
from zerosnet.models import Config, Network, configure, fuse
from zerosnet.training.machine import World
from zerosnet.training.options import Precision, precision
from zerosnet.training.recipes.recipe import Constant
from zerosnet.training.runs.run import Run, positions, read_result, remove_checkpoints
from zerosnet.training.runs.spec import RunSpec
from zerosnet.training.runs.store import Store
from zerosnet.training.screen.displays import Progress

if TYPE_CHECKING:
    from torch import device as Device

FIRST_OF = "first_of"  # what the state of the first checkpoint calls the runs that began together


def network_config(spec: RunSpec, data: DataSet | FolderData) -> Config:
    """Describe the network of a run."""
    return configure(spec.model, num_classes=data.num_classes, in_chans=data.in_chans, **spec.network_options)


def run_precision(spec: RunSpec, device: "Device") -> Precision:
    """Find what numbers a run computes with on a device.

    Streamed networks have few blocks and large images: on CUDA their state is in half precision by default, too.
    """
    return precision(spec.precision, device, usual="mixed" if source(spec.dataset).streamed else "bf16")


def check_batch_norm(spec: RunSpec, data: DataSet | FolderData, images: int) -> None:
    """Refuse a network that is unknown, or whose batch norm would see one value per channel.

    That is so for one image at a time if the last blocks see a single pixel of it.
    """
    config = network_config(spec, data)
    if images > 1:
        return
    with torch.device("meta"):
        network, image = Network(config, seeds=()), torch.zeros(1, data.in_chans, *data.size)
    try:
        network(image)
    except ValueError:
        height, width = data.size
        raise InputError(
            f"batch norm would see 1 image of {height} x {width} at a time, which leaves it 1 value per channel; "
            "expected --batch or --micro-batch 2 or more"
        ) from None


def key(spec: RunSpec, data: DataSet) -> Hashable:
    """Make a key that is equal for runs that can share a step.

    They must have the same structure, data, batch, epochs, optimiser, augmentation and precision. Scheme, seed,
    learning rate and its schedule, and the decays are a replica's own.
    """
    shared = replace(spec.recipe, name="", lr=0.0, schedule=Constant(), weight_decay=0.0, coefficient_decay=0.0)
    return network_config(spec, data).fusion_key, spec.dataset, spec.validation, spec.precision, shared


def group(
    specs: Sequence[RunSpec], data: Mapping[RunSpec, DataSet], device: "Device", replicas: int | None, workers: int = 1
) -> list[list[RunSpec]]:
    """Group runs that train together, at most `replicas` each; None: what memory allows, spread over the workers."""
    if replicas is not None and replicas < 1:
        raise InputError(f"replicas is {replicas}; expected 1 or more")
    sharing: dict[Hashable, list[RunSpec]] = {}
    for spec in specs:
        sharing.setdefault(key(spec, data[spec]), []).append(spec)
    result: list[list[RunSpec]] = []
    for members in sharing.values():
        if replicas is None and len(members) > 1:
            from zerosnet.training.capacity import MOST, fitting

            wanted = len(members) if workers == 1 else MOST
            most = max(1, fitting(members[0], data[members[0]], device, wanted) // workers)
        else:
            most = replicas or 1
        count = -(-len(members) // most)
        if replicas is None and len(sharing) == 1:
            count = min(max(count, workers), len(members))
        result += _even(members, count)
    return result


def work(spec: RunSpec, data: DataSet) -> float:
    """Estimate how much there is to compute, in layers times pixels over all images, epochs and passes."""
    adversarial = spec.recipe.adversarial
    passes = 1 if adversarial is None else 1 + adversarial.steps + adversarial.clean_step
    layers, pixels = network_config(spec, data).structure.depth, data.size[0] * data.size[1]
    return float(layers * pixels * len(data.train) * spec.recipe.epochs * passes)


def build_model(specs: Sequence[RunSpec], data: DataSet) -> Network:
    """Draw the fused network of runs that share a step: replica k is the network of specs[k] alone."""
    return Network(fuse([network_config(spec, data) for spec in specs]), [spec.seed for spec in specs])


def _even(members: Sequence[RunSpec], count: int) -> list[list[RunSpec]]:
    """Split into `count` groups whose sizes differ by one at most, in order."""
    size, larger = divmod(len(members), count)
    starts = [i * size + min(i, larger) for i in range(count + 1)]
    return [list(members[a:b]) for a, b in pairwise(starts)]


def has_ended(store: Store, spec: RunSpec, progress: Progress) -> bool:
    """Check if there is nothing to do for a run, and report it; asked before its data are opened.

    Checkpoints that a kill just after the end has left are removed.
    """
    folder = store.folder(spec)
    result = read_result(folder)
    if result is not None:
        remove_checkpoints(folder)
        progress.report(f"{spec.id} has {result.status} already; nothing to do")
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
            progress.report(f"{spec.id} is in another process's hands")
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
    """Check if a run has a checkpoint at an earlier position too; the beginning counts before its first one."""
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
            progress.report(f"{run.id}: {lost}; going on from step {position}")
        elif newer > position:
            progress.report(f"{run.id}: the checkpoint at step {newer} is damaged; going on from step {position}")
    if epochs and not saved:
        progress.report(f"{run.id}: no checkpoint yet, {epochs} epoch{'' if epochs == 1 else 's'} lost; from the start")
