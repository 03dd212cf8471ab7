"""The engines that train and measure runs: this machine, or a Ray cluster."""

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

import torch

from zerosnet.training.arithmetic import find_device
from zerosnet.training.engine import train
from zerosnet.training.options import EngineOptions, Options
from zerosnet.training.runs.spec import RunSpec
from zerosnet.training.runs.store import Store
from zerosnet.training.screen.displays import Progress
from zerosnet.training.screen.stopping import Clock
from zerosnet.training.screen.time_left import duration

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


class Local:
    """This machine. Jobs run one after the other; each uses all of it."""

    device = staticmethod(find_device)
    train = staticmethod(train)

    def places(self, device: torch.device) -> int:
        return 1

    def do(self, jobs: Sequence[Job], device: torch.device, clock: Clock, progress: Progress) -> None:
        began = time.monotonic()
        for done, job in enumerate(jobs):
            if clock.must_stop():
                return
            pace = f", left {duration((time.monotonic() - began) / done * (len(jobs) - done))}" if done else ""
            progress.say(f"measurement {done + 1} of {len(jobs)}{pace}")
            job(clock, progress.say)


def open_engine(options: EngineOptions) -> AbstractContextManager[Engine]:
    """Choose the engine, connected for the duration of a `with` block."""
    if options.engine == "local":
        return nullcontext(Local())
    from zerosnet.training.cluster import connected

    return connected(options.address)
