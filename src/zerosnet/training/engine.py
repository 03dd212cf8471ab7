"""The engines that train and measure runs: this machine, or a Ray cluster.

`Local.train` plans which runs share a step, claims them, and takes every group from where it stands to its end.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Protocol

import torch

from zerosnet.data import source
from zerosnet.errors import InputError
from zerosnet.training.finished.networks import in_order
from zerosnet.training.grouping import claimed, has_ended, meeting_points
from zerosnet.training.loop import GO_ON, STOP, train_group
from zerosnet.training.machine import (
    Clock,
    World,
    all_devices,
    find_device,
    local_world,
    mark,
    torch_settings,
    torch_threads,
    under_torchrun,
)
from zerosnet.training.options import EngineOptions, Options
from zerosnet.training.plan import Plan, plan_arrays, plan_streamed
from zerosnet.training.runs.spec import RunSpec, distinct
from zerosnet.training.runs.store import Store
from zerosnet.training.screen.displays import Lines, Progress, report_plain_torch, say_recipes
from zerosnet.training.threads import in_threads, share_of_cores


def plan_runs(specs: Sequence[RunSpec], store: Store, options: Options, *, all_gpus: bool = False) -> Plan:
    """Plan the runs that have not ended, as `train` would in one process or on all GPUs, and train nothing."""
    quiet = Lines(quiet=True)
    waiting = [spec for spec in distinct(specs) if not has_ended(store, spec, quiet)]
    device = find_device(options.device)
    if any(source(spec.dataset).streamed for spec in waiting):
        plan = plan_streamed(waiting, options, device, World(), quiet)
    else:
        plan = plan_arrays(waiting, store, options, device)
    if names := _several_devices(specs, options) if all_gpus else []:
        from zerosnet.training.cluster import share_groups

        groups = share_groups(waiting, store, replace(options, device=names[0]), len(names), quiet)
        plan = replace(plan, groups=groups, at_once=min(len(names), len(groups)))
    return plan


def _several_devices(specs: Sequence[RunSpec], options: Options) -> list[str]:
    """List the GPUs that share these runs; none if one device, or torchrun, trains them."""
    names = all_devices(options.device)
    return names if len(names) > 1 and len(specs) > 1 and not under_torchrun() else []


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


@dataclass(frozen=True)
class Local:
    """This machine. Jobs run one after the other; a training uses all GPUs, or the one that its options name."""

    all_gpus: bool = True

    device = staticmethod(find_device)

    def train(self, specs: Sequence[RunSpec], store: Store, options: Options, clock: Clock, progress: Progress) -> None:
        """Train all runs that have not ended, each once; the store holds the outcome.

        What another process is working on is left to it. Once the clock asked to stop, everything begun has a
        checkpoint. Nothing is written before all runs were found to be possible. A run that has ended needs neither its
        data nor a device that has its precision.
        """
        if names := _several_devices(specs, options) if self.all_gpus else []:
            from zerosnet.training.devices import train_on_devices

            for part in in_order(distinct(specs)):
                if not clock.must_stop():
                    train_on_devices(names, part, store, options, clock, progress)
            return
        mark("imports")
        specs = distinct(specs)
        kinds = {source(spec.dataset).streamed for spec in specs}
        if len(kinds) > 1:
            raise InputError("some runs are on imagefolder and some are not; expected one kind at a time")
        streamed = kinds == {True}
        world = local_world() if streamed else World()
        device = world.own_device(find_device(options.device))
        progress = progress if world.writes else Lines(quiet=True)

        def must_stop() -> bool:
            return world.highest(STOP if clock.must_stop() else GO_ON) == STOP

        def train_members(members: Sequence[RunSpec]) -> None:
            if must_stop():
                return
            with clock.stopped_by_errors(), claimed(store, members, world, progress) as runs:
                held = {run.spec: run for run in runs}  # none in a process that does not write
                for position, together in meeting_points(runs, plan.steps, world, progress):
                    if must_stop():
                        return
                    trainer = plan.trainer(together)
                    mark("network and kernels")
                    if device.type == "cuda" or options.kernels == "native":
                        report_plain_torch(trainer.why_not_native, progress.report)
                    mine = [held[spec] for spec in together if spec in held]
                    train_group(trainer, mine, position, options, clock, progress)

        with clock, world.joined(device):
            asked = specs if world.writes else []
            ended = world.together(lambda: [spec for spec in asked if has_ended(store, spec, progress)])
            waiting = world.from_writer([spec for spec in asked if spec not in ended])
            if streamed:
                plan = world.together(lambda: plan_streamed(waiting, options, device, world, progress))
            else:
                plan = plan_arrays(waiting, store, options, device)
            mark("data")
            say_recipes(waiting, progress)
            progress.expect(plan.work)
            threads: AbstractContextManager[None] = nullcontext()
            if not streamed:  # how many threads an operation uses can change its last bits: one if bits matter
                threads = torch_threads(1 if options.deterministic else share_of_cores(plan.at_once))
            with progress, torch_settings(device, deterministic=options.deterministic), threads:
                for groups in plan.stages():
                    if plan.at_once > 1:
                        in_threads(train_members, groups, plan.at_once)
                        continue
                    for members in groups:
                        train_members(members)

    def places(self, device: torch.device) -> int:
        return 1

    def do(self, jobs: Sequence[Job], device: torch.device, clock: Clock, progress: Progress) -> None:
        with progress:
            for done, job in enumerate(jobs):
                if clock.must_stop():
                    return
                progress.measure(done, len(jobs))
                job(clock, progress.report)
            progress.measure(len(jobs), len(jobs))


def open_engine(options: EngineOptions) -> AbstractContextManager[Engine]:
    """Choose the engine, connected for the duration of a `with` block."""
    if options.engine == "local":
        return nullcontext(Local())
    from zerosnet.training.cluster import connected

    return connected(options.address)


def train(
    specs: Sequence[RunSpec],
    store: Store,
    options: Options,
    clock: Clock | None = None,
    progress: Progress | None = None,
) -> None:
    """Train all runs that have not ended, on one device of this machine (see `Local.train`)."""
    Local(all_gpus=False).train(specs, store, options, clock or Clock(), progress or Lines(quiet=True))
