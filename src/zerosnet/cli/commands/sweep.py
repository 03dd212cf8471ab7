"""`zerosnet sweep`: a file of runs, or a grid of them."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from zerosnet.cli import options
from zerosnet.cli.main import app


@app.command()
def sweep(
    file: Annotated[Path, typer.Argument(help="JSON or TOML: a list of specs, or an object with specs or a grid.")],
    scheme: Annotated[str | None, typer.Option(help="The scheme of all runs, in place of the file's.")] = None,
    epochs: options.Epochs = None,
    precision: options.Precision = None,
    data: options.Data = None,
    download: options.Download = False,
    store: options.StoreFolder = "runs",
    device: options.Device = "auto",
    replicas: options.Replicas = None,
    kernels: options.Kernels = None,
    deterministic: options.Deterministic = False,
    max_seconds: options.MaxSeconds = None,
    checkpoint_every: options.CheckpointEvery = "60s",
    log: options.Log = None,
    train_accuracy: options.TrainAccuracy = False,
    workers: options.Workers = None,
    broken: options.Broken = "fatal",
    micro_batch: options.MicroBatch = None,
    sync_bn: options.SyncBn = False,
    decoder: options.Decoder = "workers",
    engine: options.Engine = "local",
    address: options.Address = "auto",
    json: options.AsJson = False,
) -> None:
    """Train all runs of a file, those that can as one. Finished runs are left as they are."""
    from zerosnet.numerics import Scheme
    from zerosnet.training import read_sweep

    specs = read_sweep(file)
    if scheme is not None:
        specs = [replace(spec, scheme=Scheme.parse(scheme)) for spec in specs]
    if epochs is not None:
        specs = [replace(spec, recipe=replace(spec.recipe, epochs=epochs)) for spec in specs]
    if precision is not None:
        specs = [replace(spec, precision=precision) for spec in specs]
    request = options.Request(
        data,
        download,
        store,
        device,
        replicas,
        kernels,
        deterministic,
        max_seconds,
        checkpoint_every,
        log or [],
        json,
        options.stream(workers, broken, micro_batch, sync_bn, decoder),
        engine,
        address,
        train_accuracy,
    )
    raise typer.Exit(options.train_and_report(specs, request))
