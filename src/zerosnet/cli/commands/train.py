"""`zerosnet train`: one network, or one for every seed and scheme, trained as one."""

from typing import Annotated

import typer

from zerosnet.cli import options
from zerosnet.cli.main import app


@app.command(short_help="Train a network, one for every seed and scheme, side by side.")
def train(
    model: Annotated[str, typer.Argument(help="A model's name, such as zerosnet20_opt.")],
    dataset: Annotated[str, typer.Option(help="digits, mnist, fashion-mnist, cifar10, cifar100, [image]folder[:NAME]")],
    recipe: Annotated[str, typer.Option(help="paper, official, fast, quick, imagenet, mnist-fgsm, ...")] = "paper",
    seed: Annotated[list[int] | None, typer.Option(help="May be given several times; 1 by default.")] = None,
    scheme: Annotated[
        list[str] | None, typer.Option(help='"zerosnet(1/2)", "1/3,5/9,1/9;16/9"; may be repeated.')
    ] = None,
    epochs: options.Epochs = None,
    batch: options.Batch = None,
    precision: options.Precision = None,
    validation: Annotated[float | None, typer.Option(help="The fraction to cut off the training set.")] = None,
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
    json: options.AsJson = False,
) -> None:
    """Train a network, for every seed and scheme given one, those that can as one. A finished run is not run again."""
    from zerosnet.training import RunSpec
    from zerosnet.training import recipe as find_recipe

    changes = {name: value for name, value in (("epochs", epochs), ("batch", batch)) if value is not None}
    each = [
        {"model": model, "dataset": dataset, "seed": s, "scheme": one, "precision": precision, "validation": validation}
        for one in scheme or [None]  # type: ignore[list-item]
        for s in seed or [1]
    ]
    resolved = find_recipe(recipe, dataset, model, **changes)
    specs = [RunSpec.from_json({**fields, "recipe": resolved.to_json()}) for fields in each]
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
        train_accuracy=train_accuracy,
    )
    raise typer.Exit(options.train_and_report(specs, request))
