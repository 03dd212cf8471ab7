"""`zerosnet evaluate`: the accuracy of a finished run, recomputed from its weights."""

from pathlib import Path
from typing import Annotated

import typer

from zerosnet.cli import training as options
from zerosnet.cli.main import app
from zerosnet.errors import InputError


@app.command(short_help="Recompute a finished run's accuracy on the test set.")
def evaluate(
    run: Annotated[str, typer.Argument(help="A run's id, a part of it that only one run has, or its folder.")],
    data: options.Data = None,
    download: options.Download = False,
    store: options.StoreFolder = "runs",
    device: options.Device = "auto",
    json: options.AsJson = False,
) -> None:
    """Recompute a run's accuracy on the test set from its weights.safetensors."""
    from zerosnet.data import load, pixel_statistics, source
    from zerosnet.models.weights import load_model
    from zerosnet.training import Options, Store
    from zerosnet.training.evaluate import evaluate as score
    from zerosnet.training.large_loop import evaluate_streamed
    from zerosnet.training.precision import find_device, precision, torch_settings

    place = find_device(device)
    folder = Path(run)
    is_folder = (folder / "spec.json").is_file()
    record = Store(folder.parent).find(folder.resolve().name) if is_folder else Store(store).find(run)
    if record.result is None or record.status != "finished":
        raise InputError(f"run {record.id} is {record.status}; expected a finished one")
    if source(record.spec.dataset).streamed:
        found, count = evaluate_streamed(record, Options(place, data=data))
    else:
        images = load(record.spec.dataset, data, download=download)
        count = len(images.test)
        model = load_model(record.folder / "weights.safetensors").to(place)
        if place.type == "cuda":
            model.conv_dtype = precision(record.spec.precision, place).conv_dtype
        with torch_settings(place, deterministic=False):
            (found,) = score(model, images.test, pixel_statistics(images, record.spec.recipe.scaling))
    outcome = {
        "id": record.id,
        "dataset": record.spec.dataset,
        "images": count,
        "test_accuracy": found.accuracy,
        **({} if found.top5_accuracy is None else {"test_top5_accuracy": found.top5_accuracy}),
        "test_loss": found.loss if found.loss - found.loss == 0 else None,
        "recorded_test_accuracy": record.result.test_accuracy,
    }
    if json:
        import json as encoder

        print(encoder.dumps(outcome, indent=2))
    else:
        print(f"{record.id}: test {found.accuracy:.2%} on {count} images (recorded: {record.result.test_accuracy:.2%})")
