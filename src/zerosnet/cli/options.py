"""What `train`, `sweep` and `reproduce` share: their options, and the way from a list of specs to the finished runs."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from zerosnet.errors import InputError

if TYPE_CHECKING:
    from zerosnet.training import RunSpec, StreamOptions

Data = Annotated[Path | None, typer.Option(help="The folder that holds the data set's files; digits need none.")]
Download = Annotated[bool, typer.Option("--download", help="Fetch the data set's files where they are missing.")]
StoreFolder = Annotated[str, typer.Option(help="The folder that holds the runs.")]
Device = Annotated[str, typer.Option(help="auto, cpu or cuda.")]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")]
Epochs = Annotated[int | None, typer.Option(help="Epochs, in place of the recipe's.")]
Batch = Annotated[int | None, typer.Option(help="Images in a step, over all processes, in place of the recipe's.")]
Precision = Annotated[
    str | None, typer.Option(help="bf16 (convolutions), mixed (state too; imagefolder), fp32 or fp64; part of the run.")
]
Replicas = Annotated[int | None, typer.Option(help="Networks trained as one; what fits into memory by default.")]
Kernels = Annotated[str | None, typer.Option(help="native (our CUDA kernels) or torch; the best there is by default.")]
Deterministic = Annotated[bool, typer.Option("--deterministic", help="The same bits every time.")]
MaxSeconds = Annotated[float | None, typer.Option(help="Stop cleanly after so long, to be continued later.")]
CheckpointEvery = Annotated[str, typer.Option(help="Epochs, such as 5, or seconds, such as 60s.")]
Log = Annotated[list[str] | None, typer.Option(help="tensorboard or wandb, besides metrics.jsonl; may be repeated.")]
TrainAccuracy = Annotated[
    bool, typer.Option("--train-accuracy", help="Score the training set in eval mode after every epoch too.")
]
Workers = Annotated[int | None, typer.Option(help="imagefolder: processes that decode; as many as cores by default.")]
Broken = Annotated[str, typer.Option(help="imagefolder: a file that cannot be decoded is fatal, or skip.")]
MicroBatch = Annotated[int | None, typer.Option(help="imagefolder: images that batch norm sees at once, a process.")]
Decoder = Annotated[str, typer.Option(help="imagefolder: workers or gpu, whoever is to decode training images.")]
Engine = Annotated[str, typer.Option(help="local (this machine) or ray (a cluster).")]
Address = Annotated[str, typer.Option(help="The Ray cluster: auto, HOST:PORT, or local to start one here.")]
SyncBn = Annotated[bool, typer.Option("--sync-bn", help="imagefolder: batch norm sees the images of all processes.")]

ENGINES = ("local", "ray")


@dataclass(frozen=True)
class Request:
    """The options of a training command as they were given."""

    data: Path | None
    download: bool
    store: str
    device: str
    replicas: int | None
    kernels: str | None
    deterministic: bool
    max_seconds: float | None
    checkpoint_every: str
    log: Sequence[str]
    json: bool
    stream: "StreamOptions | None" = None
    engine: str = "local"
    address: str = "auto"
    train_accuracy: bool = False


def stream(workers: int | None, broken: str, micro_batch: int | None, sync_bn: bool, decoder: str) -> "StreamOptions":
    """How images that are decoded while they are used reach the network."""
    from zerosnet.training import StreamOptions

    return StreamOptions(workers, broken, micro_batch, sync_bn, decoder)


def check_engine(engine: str, address: str) -> None:
    if engine not in ENGINES:
        raise InputError(f"engine is {engine!r}; expected one of {', '.join(ENGINES)}")
    if engine != "ray" and address != "auto":
        raise InputError(f"address is {address!r}; it is for --engine ray")


def check_alone(command: str) -> None:
    """Refuse a command that torchrun starts several times: each process would do, print and write everything."""
    from zerosnet.training import local_world

    if local_world().size > 1:
        raise InputError(f"torchrun is for train; {command} is one process, and takes up what train left in the store")


def train_and_report(specs: "Sequence[RunSpec]", request: Request) -> int:
    """Train the runs, show what became of them, and return the exit code: 130 or 143 after a signal."""
    from zerosnet.training import (
        Clock,
        Options,
        SaveInterval,
        Store,
        StreamOptions,
        check_kernels,
        check_loggers,
        distinct,
        find_device,
        local_world,
        progress,
        train,
    )

    check_kernels(request.kernels)
    check_engine(request.engine, request.address)
    check_loggers(request.log)
    store, clock = Store(request.store), Clock(request.max_seconds)
    options = Options(
        device=find_device(request.device if request.engine == "local" else "cpu"),
        data=request.data,
        download=request.download,
        replicas=request.replicas,
        kernels=request.kernels,
        deterministic=request.deterministic,
        checkpoint_every=SaveInterval.parse(request.checkpoint_every),
        log=tuple(request.log),
        stream=request.stream or StreamOptions(),
        train_accuracy=request.train_accuracy,
    )
    if request.engine == "ray":
        from zerosnet.training import train_on_ray

        train_on_ray(specs, store, options, clock, progress(), address=request.address, device=request.device)
    else:
        train(specs, store, options, clock, progress())
    if not local_world().writes:
        return 0 if clock.signal is None else 128 + clock.signal
    summaries = [_summary(store, spec) for spec in distinct(specs)]
    if request.json:
        import json

        print(json.dumps(summaries, indent=2))
    else:
        for summary in summaries:
            print(_line(summary))
    open_runs = sum(summary["status"] in ("stopped", "waiting") for summary in summaries)
    if open_runs and clock.must_stop():
        cause = "the time limit" if clock.signal is None else clock.signal.name
        print(f"zerosnet: stopped by {cause}; the same command goes on with {open_runs} run(s)", file=sys.stderr)
    return 0 if clock.signal is None else 128 + clock.signal


def _summary(store: Any, spec: "RunSpec") -> dict[str, Any]:
    if not (store.folder(spec) / "spec.json").exists():
        return {"id": spec.id, "model": spec.model, "seed": spec.seed, "status": "waiting"}
    summary: dict[str, Any] = store.find(spec.id).summary()
    return summary


def _line(summary: dict[str, Any]) -> str:
    parts = [summary["id"], summary["status"]]
    if summary["status"] == "finished":
        parts.append(f"test {summary['test_accuracy']:.2%}")
        if "test_top5_accuracy" in summary:
            parts.append(f"top-5 {summary['test_top5_accuracy']:.2%}")
        parts.append(f"best {summary['best_test_accuracy']:.2%} (epoch {summary['best_epoch']})")
        parts.append(f"train {summary['train_accuracy']:.2%}")
    elif summary["status"] == "diverged":
        parts.append(summary["reason"])
    elif "epochs" in summary:
        epochs, steps = summary["epochs"], summary["steps"]
        parts.append(f"after {epochs} epoch{'' if epochs == 1 else 's'}" + (f", at step {steps}" if steps else ""))
    return "  ".join(parts)
