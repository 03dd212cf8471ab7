"""Train on all GPUs of this machine: one process per GPU, and one store."""

import pickle
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from multiprocessing import get_context, resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

from zerosnet.errors import InputError
from zerosnet.training.cluster import Collected, how_far, share_groups, time_of_day
from zerosnet.training.engine import train
from zerosnet.training.machine import Clock, Start, count_from, own_start
from zerosnet.training.options import Options
from zerosnet.training.runs.spec import RunSpec
from zerosnet.training.runs.store import Store
from zerosnet.training.screen.displays import Progress

POLL = 0.5  # seconds between two looks at the clock
LOOK = 30.0  # seconds between two looks at how far the runs are


def train_on_devices(
    devices: Sequence[str], specs: Sequence[RunSpec], store: Store, options: Options, clock: Clock, progress: Progress
) -> None:
    """Train all runs that have not ended, a process per device; the store holds the outcome.

    Groups are handed out one at a time, long ones first. A signal or the time limit stops every process at the end of a
    step, with checkpoints, and no other group is begun; so does the failure of one of them, which is raised here. If
    this process is killed, the others stop in the same way.
    """
    groups = share_groups(specs, store, replace(options, device=devices[0]), len(devices), progress)
    if not groups:
        return
    used = devices[: len(groups)]
    workers: dict[Connection, BaseProcess] = {}
    until, root = time_of_day(clock), str(store.root.resolve())
    runs = [spec for members in groups for spec in members]
    with clock, progress:
        try:
            with _interrupts_held():
                for number, device in enumerate(used):
                    profile = options.profile_start and number == 0  # one line for the command
                    theirs = replace(options, device=device, profile_start=profile)
                    line, worker = _start(root, theirs, until)
                    workers[line] = worker
            progress.report(f"{len(groups)} group(s) of networks on {', '.join(used)}")
            failure = _hand_out(groups, workers, clock, progress, partial(how_far, runs, store))
        finally:
            for line in workers:
                line.close()  # which stops a process that is still at work
    if failure is not None:
        raise failure


def _start(root: str, options: Options, until: float | None) -> tuple[Connection, BaseProcess]:
    """Start a process; return this end of the line to it. The other end is its own, so that its death ends the line."""
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    # not a daemon, which may not start processes that load images
    worker = context.Process(target=_work, args=(theirs, root, options, until, own_start()))
    worker.start()
    theirs.close()
    return ours, worker


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Hold back Ctrl-C for a while; processes that are started meanwhile do not notice it before they ask to."""
    resource_tracker.ensure_running()  # multiprocessing starts it with the first process, and lets signals in then
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _hand_out(
    groups: Sequence[Sequence[RunSpec]],
    workers: dict[Connection, BaseProcess],
    clock: Clock,
    progress: Progress,
    so_far: Callable[[], str],
) -> Exception | None:
    """Give a group to every process that asks, until all have ended; return the first error, which stops them."""
    failure: Exception | None = None
    waiting, open_lines = list(groups), list(workers)
    stopping, looked, seen = False, time.monotonic(), ""
    while (living := _living(workers)) or any(line.poll() for line in open_lines):
        if time.monotonic() - looked > LOOK:
            looked, before, seen = time.monotonic(), seen, so_far()
            if seen != before:
                progress.report(seen)
        ready = wait([*open_lines, *(worker.sentinel for worker in living)], timeout=POLL)
        for line in [line for line in open_lines if line in ready]:
            try:
                said = line.recv()
            except (EOFError, OSError):
                open_lines.remove(line)
                continue
            if isinstance(said, Exception):
                failure = failure or said
                clock.failed = True
            elif isinstance(said, str):
                progress.report(said)
            else:
                _send(line, waiting.pop(0) if waiting and not clock.must_stop() else None)
        lost = [worker.exitcode for worker in workers.values() if worker.exitcode]
        if lost and failure is None and clock.signal is None:
            failure = OSError(f"a process that trains ended with code {lost[0]}; run the command again to go on")
            clock.failed = True
        if clock.must_stop() and not stopping:
            stopping = True
            for line in open_lines:
                _send(line, None)
    return failure


def _living(workers: dict[Connection, BaseProcess]) -> list[BaseProcess]:
    return [worker for worker in workers.values() if worker.is_alive()]


def _send(line: Connection, content: object) -> None:
    """Send another process something, unless it has ended."""
    with suppress(OSError):
        line.send(content)


def _work(line: Connection, root: str, options: Options, until: float | None, start: Start) -> None:
    """Ask for one group after the other and train it, in a process of its own.

    Ctrl-C reaches all processes of a terminal. It is ignored here unless a group is trained, whose clock notes it: the
    process at the other end of the line tells when to stop.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    count_from(start)
    clock, progress = ToldClock(line, until), SentLines(line)
    while not clock.must_stop() and (members := _next_group(line)) is not None:
        try:
            train(members, Store(root), options, clock, progress)
        except Exception as error:
            _send(line, _portable(error))
            return
        except KeyboardInterrupt:  # a second signal: stop at once
            break
    if clock.signal is not None:
        sys.exit(128 + clock.signal)


def _portable(error: Exception) -> Exception:
    """Return an error that another process can read: itself, or one with its message."""
    try:
        if type(pickle.loads(pickle.dumps(error))) is type(error):
            return error
    except Exception:  # whatever its class, or what it holds, makes of pickling
        pass
    return InputError(str(error)) if isinstance(error, InputError) else RuntimeError(f"{type(error).__name__}: {error}")


def _next_group(line: Connection) -> Sequence[RunSpec] | None:
    """Ask for a group; None if there is no other, or nobody to ask."""
    try:
        line.send(None)
        members: Sequence[RunSpec] | None = line.recv()
    except (EOFError, OSError):
        return None
    return members


class ToldClock(Clock):
    """A clock that also obeys the process that hands out the work: a word from it, or its end, means stop.

    A group is sent only to a process that asks for one, so nothing else comes while one is trained.
    """

    def __init__(self, line: Connection, until: float | None) -> None:
        super().__init__()
        self._line = line
        if until is not None:
            self.deadline = time.monotonic() + until - time.time()

    def must_stop(self) -> bool:
        return super().must_stop() or self._line.poll()


class SentLines(Collected):
    """A progress display that sends what is reported to the process that hands out the work."""

    def __init__(self, line: Connection) -> None:
        super().__init__()
        self._line, self._lock = line, threading.Lock()

    def report(self, line: str) -> None:
        with self._lock:
            _send(self._line, line)
