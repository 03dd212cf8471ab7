"""Worlds of processes, as torchrun would start them, without its seconds of start-up; and a folder to train on."""

import multiprocessing
import os
import traceback
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from tests.ports import free_port

from zerosnet.training import Options, RunSpec, Store, recipe, train
from zerosnet.training.options import SaveInterval, StreamOptions
from zerosnet.training.streamed.trainer import StreamedTrainer

_SERVER = multiprocessing.get_context("forkserver")
_SERVER.set_forkserver_preload(["zerosnet.training", "torchvision.io", "tests.training.processes"])


def spec(epochs: int = 2, batch: int = 16, model: str = "zerosnet20_opt", **changes: Any) -> RunSpec:
    made = recipe("imagenet", "imagefolder@16", model, batch=batch, epochs=epochs, **changes)
    return RunSpec(model, "imagefolder@16", made, 1, precision="fp64")


def options(folder: Path, *, every: str = "1000", **stream: Any) -> Options:
    stream = {"workers": 0} | stream
    return Options("cpu", data=folder, stream=StreamOptions(**stream), checkpoint_every=SaveInterval.parse(every))


def start(size: int, work: Callable[..., Any], *arguments: Any) -> tuple[list[Any], Any]:
    """Call a function in each of `size` processes that find themselves in torchrun's environment."""
    port = str(free_port())
    answers = _SERVER.Queue()
    each = [_SERVER.Process(target=_call, args=(rank, size, port, answers, work, arguments)) for rank in range(size)]
    for process in each:
        process.start()
    return each, answers


def world_of(size: int, work: Callable[..., Any], *arguments: Any) -> list[Any]:
    """What the function gives in each process, by rank; an exception comes back as its type's name and its text."""
    each, answers = start(size, work, *arguments)
    found = dict(answers.get(timeout=600) for _ in each)
    for process in each:
        process.join(timeout=60)
    return [found[rank] for rank in range(size)]


def _call(rank: int, size: int, port: str, answers: Any, work: Callable[..., Any], arguments: Any) -> None:
    os.environ |= {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(size), "LOCAL_WORLD_SIZE": str(size)}
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    torch.set_num_threads(1)
    try:
        answers.put((rank, work(*arguments)))
    except BaseException as error:
        if os.environ.get("ZEROSNET_TRACEBACK"):
            traceback.print_exc()
        answers.put((rank, f"{type(error).__name__}: {error}"))


def losses_of(store: Path, run: RunSpec, settings: Options, stop_after: int | None = None) -> list[float]:
    """Train, and print the loss of every step; ask to stop after `stop_after` steps."""
    from zerosnet.training.machine import Clock

    losses: list[float] = []
    clock, step = Clock(), StreamedTrainer.step

    def noting(training: StreamedTrainer) -> None:
        step(training)
        losses.append(float(training.loss))
        clock.failed = len(losses) == stop_after

    StreamedTrainer.step = noting  # type: ignore[method-assign]
    try:
        train([run], Store(store), settings, clock)
    finally:
        StreamedTrainer.step = step  # type: ignore[method-assign]
    return losses


def with_batch(run: RunSpec, batch: int) -> RunSpec:
    return replace(run, recipe=replace(run.recipe, batch=batch))
