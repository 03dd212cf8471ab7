"""Train runs: group those that can share a step, and take every group from where it stands to its end."""

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager
from typing import TypeVar

import torch

from zerosnet.data import DataSet, load, source
from zerosnet.errors import InputError
from zerosnet.training.arithmetic import find_device, precision, torch_settings
from zerosnet.training.finished.networks import as_classifier, load_network, surrogate_of
from zerosnet.training.fused.backend import ASKED_FOR
from zerosnet.training.fused.cuda_graph import forget_compiled
from zerosnet.training.fused.trainer import FusedTraining
from zerosnet.training.grouping import build_model, group, work
from zerosnet.training.loop import has_ended, say_what_is_lost, train_group
from zerosnet.training.options import Options, StreamOptions
from zerosnet.training.runs.run import Run
from zerosnet.training.runs.spec import RunSpec, distinct
from zerosnet.training.runs.store import RunRecord, Store
from zerosnet.training.screen.displays import Lines, Progress, say_recipes
from zerosnet.training.screen.stopping import Clock
from zerosnet.training.streamed.loop import train_streamed
from zerosnet.training.streamed.processes import under_torchrun

Item = TypeVar("Item")
LOOK = 0.5  # seconds; a signal that comes as Python begins to wait for other threads is noticed when it looks up


def train(
    specs: Sequence[RunSpec],
    store: Store,
    options: Options,
    clock: Clock | None = None,
    progress: Progress | None = None,
) -> None:
    """Train all runs that have not ended, those asked for twice once; the store holds the outcome.

    What another process is working on is left to it. Once the clock asked to stop, everything begun has a checkpoint.
    Nothing is written before all of them were found to be possible. A run that has ended needs neither its data nor a
    device that has its precision.
    """
    clock, progress = clock or Clock(), progress or Lines(quiet=True)
    specs = distinct(specs)
    streamed = [spec for spec in specs if source(spec.dataset).streamed]
    if not streamed:
        _train_arrays(specs, store, options, clock, progress)
    elif len(streamed) == len(specs):
        train_streamed(streamed, store, options, clock, progress)
    else:
        raise InputError("some runs are on imagefolder and some are not; expected one kind at a time")


def _train_arrays(specs: Sequence[RunSpec], store: Store, options: Options, clock: Clock, progress: Progress) -> None:
    """Train runs whose data fit into memory, many networks as one."""
    if options.stream != StreamOptions():
        raise InputError("workers, broken, micro-batch, sync-bn and decoder are for imagefolder")
    if under_torchrun():
        raise InputError("torchrun is for imagefolder; smaller runs share a store by themselves, or use --engine ray")
    device = find_device(options.device)
    waiting = [spec for spec in specs if not has_ended(store, spec, progress)]
    for spec in waiting:
        precision(spec.precision, device)
        if spec.precision == "mixed":
            raise InputError("precision mixed is for imagefolder; expected bf16, fp32 or fp64")
    data = load_all(waiting, options)
    workers = cores() if device.type == "cpu" else 1
    surrogates = {spec: surrogate_of(spec, store) for spec in waiting}
    groups = group(waiting, data, device, options.replicas, workers)
    say_recipes(waiting, progress)
    progress.expect({spec.id: work(spec, data[spec]) for spec in waiting})
    said: dict[str, object] = {}  # about kernels

    def train_members(members: Sequence[RunSpec]) -> None:
        if clock.must_stop():
            return
        with clock.stopped_by_errors(), _claimed(store, members, progress) as runs:
            for position, together in meeting_points(runs, progress):
                if not clock.must_stop():
                    first = together[0].spec
                    members = [run.spec for run in together]
                    training = prepare(members, data[first], device, surrogates[first], options.kernels)
                    _say_which_kernels(training, options, progress, said)
                    train_group(training, together, position, options, clock, progress)

    with clock, progress, torch_settings(device, deterministic=options.deterministic):
        in_parallel(train_members, groups, min(workers, len(groups)), one_thread=options.deterministic)


def prepare(
    specs: Sequence[RunSpec],
    data: DataSet,
    device: torch.device,
    surrogate: RunRecord | None = None,
    kernels: str | None = None,
) -> FusedTraining:
    """The networks of runs that share a step, freshly drawn, on a device, with their step recorded where possible."""
    forget_compiled(device)
    source = None if surrogate is None else as_classifier([surrogate], [load_network(surrogate)], data, device)
    model = build_model(specs, data)
    training = FusedTraining(specs, model, data.to(device), device, surrogate=source, kernels=kernels)
    training.facts |= {"data": data.fingerprint} | ({} if surrogate is None else {"surrogate": surrogate.id})
    return training


def _say_which_kernels(training: FusedTraining, options: Options, progress: Progress, said: dict[str, object]) -> None:
    """Once, why the plain engine is used where one would expect the native one: on a GPU, or where it was asked for."""
    backend, why, mine = training.backend, training.backend.why_not_native, object()
    expected = training.device.type == "cuda" or options.kernels == "native"
    if expected and backend.kernels == "torch" and why != ASKED_FOR and said.setdefault(why, mine) is mine:
        progress.say(f"plain torch instead of the native kernels: {why}")


def in_parallel(
    work: Callable[[Item], object],
    items: Sequence[Item],
    workers: int,
    *,
    one_thread: bool,
    stop: threading.Event | None = None,
) -> None:
    """Work on groups: on the CPU several at a time, each in a thread of its own with its share of the cores.

    Many small operations share cores badly, whole networks share them well. How many threads an operation uses can
    change its last bits: where bits matter it is always one, whatever runs beside it. Once a group has failed, or the
    user has interrupted, no other is begun, and `stop` tells those at work.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1 if one_thread else max(1, before // max(workers, 1)))
    try:
        if workers <= 1:
            for item in items:
                work(item)
            return
        with ThreadPoolExecutor(workers, thread_name_prefix="group") as pool:
            try:
                futures = [pool.submit(work, item) for item in items]
                ended: set[Future[object]] = set()
                while len(ended) < len(futures) and not any(future.exception() for future in ended):
                    ended = wait(futures, LOOK, return_when=FIRST_EXCEPTION).done
                for future in futures:
                    if future in ended:
                        future.result()
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)  # first: who is told to stop would take the next one
                if stop is not None:
                    stop.set()
                raise
    finally:
        torch.set_num_threads(before)


def cores() -> int:
    """How many cores this process may use."""
    return min(torch.get_num_threads(), len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1_000)


def meeting_points(runs: Sequence[Run], progress: Progress) -> list[tuple[int, list[Run]]]:
    """Where runs of a group can go on together: pairs of a position and the runs that have a checkpoint there.

    A kill between the checkpoints of two runs leaves them one apart; as every run keeps its last two, they meet at the
    earlier one. Runs that were begun at different times stay apart. A damaged checkpoint is passed over, and named.
    """
    newest = {run.id: checkpoint.position if (checkpoint := run.load_checkpoint()) else 0 for run in runs}
    for run in runs:
        say_what_is_lost(run, newest[run.id], progress)
    rest, meetings = sorted(runs, key=lambda run: newest[run.id]), []
    while rest:
        position = newest[rest[0].id]
        here = [run for run in rest if newest[run.id] == position or (position and _has(run, position))]
        meetings.append((position, here))
        rest = [run for run in rest if run not in here]
    return meetings


def _has(run: Run, position: int) -> bool:
    checkpoint = run.load_checkpoint(at_most=position)
    return checkpoint is not None and checkpoint.position == position


@contextmanager
def _claimed(store: Store, specs: Sequence[RunSpec], progress: Progress) -> Iterator[list[Run]]:
    """The runs of a group that have not ended and that no other process has, held for the duration."""
    with ExitStack() as stack:
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
        yield runs


def load_all(specs: Sequence[RunSpec], options: Options) -> dict[RunSpec, DataSet]:
    loaded: dict[tuple[str, float | None], DataSet] = {}
    for spec in specs:
        if (key := (spec.dataset, spec.validation)) not in loaded:
            fraction = spec.validation or 0.0
            loaded[key] = load(spec.dataset, options.data, download=options.download, validation=fraction)
        images, batch = len(loaded[key].train), spec.recipe.batch
        if batch > images:
            raise InputError(f"batch is {batch}, but there are only {images} training images; expected at most as many")
    return {spec: loaded[spec.dataset, spec.validation] for spec in specs}
