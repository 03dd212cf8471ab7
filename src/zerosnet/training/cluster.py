"""Work on a Ray cluster: networks that are trained or attacked as one are a task, and all write into one store.

The store and the data are on a file system that all machines share. If a worker dies, Ray starts its task again
elsewhere; a training then goes on from the checkpoints of its runs, whose locks the dead process no longer holds.
"""

import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch

from zerosnet.data import source
from zerosnet.errors import InputError, MissingExtra
from zerosnet.training.capacity import share_out
from zerosnet.training.engine import Job, train
from zerosnet.training.finished.networks import in_order
from zerosnet.training.grouping import has_ended
from zerosnet.training.machine import Clock
from zerosnet.training.options import Options, precision
from zerosnet.training.plan import load_all
from zerosnet.training.runs.spec import RunSpec, distinct
from zerosnet.training.runs.store import Store
from zerosnet.training.screen.displays import GroupProgress, Lines, Progress

POLL = 0.5  # seconds between two looks at the clock
LOOK = 30.0  # seconds between two looks at how far the runs are
PATIENCE = 10.0  # seconds for the first answer of a cluster
RETRIES = 5  # of a task whose worker died: a network that kills every worker ends, too
HERE = "local"  # the address that stands for a cluster of this machine alone


def import_ray() -> Any:
    try:
        import ray
    except ImportError:
        raise MissingExtra("ray", "ray") from None
    return ray


@contextmanager
def connected(address: str) -> "Iterator[Cluster]":
    """Connect to the cluster at an address: "auto" is the one that is running here, "local" starts one."""
    ray = import_ray()
    if ray.is_initialized():
        yield Cluster(ray)
        return
    try:
        _knock(address)
        ray.init(
            address=None if address == HERE else address,
            log_to_driver=False,
            logging_level="error",
            **({"include_dashboard": False} if address == HERE else {}),
        )
    except (OSError, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(
            f"address is {address!r}, where there is no Ray cluster ({reason}); start one with `ray start --head`, "
            f"or use {HERE} for this machine alone"
        ) from None
    try:
        yield Cluster(ray)
    finally:
        ray.shutdown()


def _knock(address: str) -> None:
    """Try a HOST:PORT for some seconds; Ray itself would try for minutes."""
    host, colon, port = address.rpartition(":")
    if colon and port.isdigit() and "/" not in host:
        socket.create_connection((host, int(port)), timeout=PATIENCE).close()


@dataclass(frozen=True)
class Cluster:
    """A Ray cluster as a place to work, an `Engine`."""

    ray: Any

    def device(self, name: str) -> torch.device:
        """Resolve auto, cpu or cuda to the device of a task, wherever it runs; auto is CUDA if the cluster has GPUs."""
        gpus = self.ray.cluster_resources().get("GPU", 0)
        if name not in ("auto", "cpu", "cuda"):
            raise InputError(f"device is {name!r}; expected auto, cpu or cuda")
        if name == "cuda" and not gpus:
            raise InputError("device is cuda, but the Ray cluster has no GPUs; expected auto or cpu")
        return torch.device("cuda", 0) if name == "cuda" or (name == "auto" and gpus) else torch.device("cpu")

    def places(self, device: torch.device) -> int:
        """Count the tasks that run at a time: one per GPU, or one per core."""
        resource = "GPU" if device.type == "cuda" else "CPU"
        return max(1, int(self.ray.cluster_resources().get(resource, 1)))

    def train(self, specs: Sequence[RunSpec], store: Store, options: Options, clock: Clock, progress: Progress) -> None:
        """Train all runs that have not ended, each once; the store holds the outcome.

        A signal or the time limit stops every task at the end of a step, with checkpoints, before this returns.
        """
        device = self.device(options.device)
        options = replace(options, device=device.type, data=_absolute(options.data))
        for part in in_order(distinct(specs)):
            if clock.must_stop():
                return
            groups = share_groups(part, store, options, self.places(device), progress)
            common = (str(store.root.resolve()), options, time_of_day(clock))
            runs = [spec for members in groups for spec in members]
            calls = [(members, *common) for members in groups]
            self._run(train_group, calls, device, clock, progress, partial(how_far, runs, store))

    def do(self, jobs: Sequence[Job], device: torch.device, clock: Clock, progress: Progress) -> None:
        """Do other work, one task per job; each has a clock of its own, and a signal ends it at once."""
        self._run(do_job, [(job, time_of_day(clock)) for job in jobs], device, clock, progress)

    def _run(
        self,
        function: Callable[..., list[str]],
        calls: Sequence[tuple[Any, ...]],
        device: torch.device,
        clock: Clock,
        progress: Progress,
        so_far: Callable[[], str] = str,
    ) -> None:
        if not calls:
            return
        resources = {"num_gpus": 1} if device.type == "cuda" else {"num_cpus": 1}
        task = self.ray.remote(max_retries=RETRIES, **resources)(function)
        with clock, progress:
            pending = [task.remote(*call) for call in calls]
            progress.report(f"{len(calls)} group(s) of networks, {self.places(device)} at a time, on Ray")
            failure = _wait(self.ray, pending, clock, progress, so_far)
        if failure is not None:
            raise failure


def _wait(
    ray: Any, pending: list[Any], clock: Clock, progress: Progress, so_far: Callable[[], str]
) -> Exception | None:
    """Wait for all tasks and return the first error, after which the others are stopped cleanly.

    Every task knows the time limit itself.
    """
    failure: Exception | None = None
    total, stopping, looked, seen = len(pending), False, time.monotonic(), ""
    while pending:
        if time.monotonic() - looked > LOOK:
            looked, before, seen = time.monotonic(), seen, so_far()
            if seen != before:
                progress.report(seen)
        done, pending = ray.wait(pending, timeout=POLL)
        for reference in done:
            try:
                lines = ray.get(reference)
            except ray.exceptions.TaskCancelledError:
                continue
            except ray.exceptions.RayTaskError as error:
                failure = failure or (error.cause if isinstance(error.cause, Exception) else error)
            except ray.exceptions.RayError as error:
                line = str(error).splitlines()[0]
                failure = failure or OSError(f"a group of networks lost its worker too often: {line}")
            else:
                for line in lines:
                    progress.report(line)
                progress.report(f"{total - len(pending)} of {total} group(s) over")
        clock.failed = clock.failed or failure is not None
        if (clock.failed or clock.signal is not None) and not stopping:
            stopping = True
            for reference in pending:
                ray.cancel(reference, force=False, recursive=False)  # SIGINT, which a training's own clock notes
    return failure


def how_far(specs: Sequence[RunSpec], store: Store) -> str:
    """Count the epochs and networks that are done, as the store records them."""
    files = [store.folder(spec) / "metrics.jsonl" for spec in specs]
    done = sum(file.read_bytes().count(b"\n") for file in files if file.exists())
    ended = sum((file.parent / "result.json").exists() for file in files)
    epochs = sum(spec.recipe.epochs for spec in specs)
    return f"{done} of {epochs} epochs, {ended} of {len(specs)} networks ready"


def train_group(specs: list[RunSpec], root: str, options: Options, until: float | None) -> list[str]:
    """Train runs that can share a step, in a worker's process; return the lines that were reported."""
    said = Collected()
    if (clock := _own_clock(until)) is not None:
        train(specs, Store(root), options, clock, said)
    return said.lines


def do_job(job: Job, until: float | None) -> list[str]:
    """Do a job in a worker's process; return the lines that were reported."""
    said = Collected()
    if (clock := _own_clock(until)) is not None:
        job(clock, said.report)
    return said.lines


def _own_clock(until: float | None) -> Clock | None:
    """Make the clock of a task; None if its time was up before it began."""
    left = None if until is None else until - time.time()
    return None if left is not None and left <= 0 else Clock(left)


class Collected(Lines):
    """A progress display that keeps what is reported, without the lines of epochs."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def report(self, line: str) -> None:
        self.lines.append(line)

    def _changed(self, group: GroupProgress, epoch: bool) -> None:
        pass


def share_groups(
    specs: Sequence[RunSpec], store: Store, options: Options, slots: int, progress: Progress
) -> list[list[RunSpec]]:
    """Group runs that train as one and share them out among the places; a task may split its group further."""
    device = torch.device(options.device)
    waiting = [spec for spec in distinct(specs) if not has_ended(store, spec, progress)]
    for spec in waiting:
        precision(spec.precision, device, usual="mixed" if source(spec.dataset).streamed else "bf16")
    streamed = [spec for spec in waiting if source(spec.dataset).streamed]
    if streamed and options.stream.decoder == "gpu" and device.type != "cuda":
        raise InputError("decoder is 'gpu', but the cluster has no GPU; see workers")
    others = [spec for spec in waiting if not source(spec.dataset).streamed]
    shared = share_out(others, load_all(others, options), device, options.replicas, slots)
    return [[spec] for spec in streamed] + shared


def time_of_day(clock: Clock) -> float | None:
    """Convert a clock's deadline to a time of day, which all machines can read."""
    return None if clock.deadline is None else time.time() + clock.deadline - time.monotonic()


def _absolute(path: Path | None) -> Path | None:
    return None if path is None else path.resolve()
